/* SPDX-License-Identifier: MIT */
/* growth_floor.c -- see growth_floor.h.
 *
 * Floors are compared by quarters of the time. The first one is left out, because
 * programs grow when they start. */
#include "tool/analyze/growth/growth_floor.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { FLOORS_LEAST = 6 };

struct floors {
	double bytes[GROWTH_FLOORS_MAX];
	int64_t blocks[GROWTH_FLOORS_MAX];
	unsigned n, quarter;
	double step[GROWTH_FLOORS_MAX]; /* n - 1 of them */
	double noise;			/* standard deviation of a floor */
};

static int64_t
blocks_of(const struct growth_point *x)
{
	return (int64_t)((uint64_t)x->allocs - (uint64_t)x->frees);
}

static int
compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

static double
median(double *v, unsigned n)
{
	if (n == 0)
		return 0;
	qsort(v, n, sizeof *v, compare);
	return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* From the median of the steps' distances from their median, so that single jumps do not
 * count. */
static void
find_noise(struct floors *f)
{
	double sorted[GROWTH_FLOORS_MAX] = {0}, middle;

	for (unsigned i = 0; i + 1 < f->n; i++)
		sorted[i] = f->step[i];
	middle = median(sorted, f->n - 1);
	for (unsigned i = 0; i + 1 < f->n; i++)
		sorted[i] = fabs(f->step[i] - middle);
	f->noise = 1.4826 * median(sorted, f->n - 1) / M_SQRT2;
}

static void
find_floors(struct floors *f, const struct growth *g, size_t n)
{
	const struct growth_point *p = g->points.data;
	size_t at = 0;

	f->n = n < GROWTH_FLOORS_MAX
		       ? n < GROWTH_INTERVALS ? (unsigned)n : GROWTH_INTERVALS
		       : GROWTH_FLOORS_MAX;
	f->quarter = f->n / 4 > 2 ? f->n / 4 : 2;
	for (unsigned i = 0; i < f->n; i++) {
		size_t end = n * (i + 1) / f->n;

		f->bytes[i] = (double)p[at].bytes;
		f->blocks[i] = blocks_of(&p[at]);
		for (; at < end; at++) {
			if ((double)p[at].bytes < f->bytes[i])
				f->bytes[i] = (double)p[at].bytes;
			if (blocks_of(&p[at]) < f->blocks[i])
				f->blocks[i] = blocks_of(&p[at]);
		}
		if (i > 0)
			f->step[i - 1] = f->bytes[i] - f->bytes[i - 1];
	}
	find_noise(f);
}

/* Mean of a quarter, counted from the last; and its lowest. */
static double
quarter(const struct floors *f, unsigned from_last, double *ret_low)
{
	unsigned end = f->n - from_last * f->quarter;
	double sum = 0;

	*ret_low = f->bytes[end - 1];
	for (unsigned i = end - f->quarter; i < end; i++) {
		sum += f->bytes[i];
		*ret_low = f->bytes[i] < *ret_low ? f->bytes[i] : *ret_low;
	}
	return sum / f->quarter;
}

static int64_t
fewest(const struct floors *f, unsigned from_last)
{
	unsigned end = f->n - from_last * f->quarter;
	int64_t low = f->blocks[end - 1];

	for (unsigned i = end - f->quarter; i < end; i++)
		low = f->blocks[i] < low ? f->blocks[i] : low;
	return low;
}

/* How far off the difference of two quarters may be because of the samples that are live
 * in one and not in the other. */
static double
sample_error(const struct growth *g, size_t n, double last)
{
	const struct growth_point *end = &g->points.data[n - 1], *half;
	double moved, unit = sqrt(g->sample_var);

	if (unit <= 0)
		return 0;
	half = &g->points.data[n / 2];
	moved = (double)end->allocs - (double)half->allocs + (double)end->frees -
		(double)half->frees;
	if (moved > 2 * last / unit)
		moved = 2 * last / unit;
	return unit * sqrt(moved > 0 ? moved : 0);
}

/* Steps that count as a rise: not those of a block that happened to be live. */
static double
rise_limit(const struct floors *f)
{
	double up[GROWTH_FLOORS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i + 1 < f->n; i++) {
		if (f->step[i] > 0)
			up[n++] = f->step[i];
	}
	return 0.1 * median(up, n);
}

/* So many intervals at the end without a rise: is that longer than chance explains? */
static bool
has_stopped(const struct floors *f)
{
	double least = rise_limit(f), share;
	unsigned steps = f->n - 1, idle = 0, up = 0;

	while (idle < steps && f->step[steps - 1 - idle] <= least)
		idle++;
	for (unsigned i = 0; i + idle < steps; i++)
		up += f->step[i] > least;
	if (idle < 2)
		return false;
	share = idle < steps ? (double)up / (steps - idle) : 0;
	/* That it never paused before does not mean that it cannot. */
	return pow(1 - share > 0.05 ? 1 - share : 0.05, idle) < 0.005;
}

/* At least three rises in the last two thirds, none of them most of the whole. */
static bool
rises_often(const struct floors *f, double second, double last)
{
	double least = 0.1 * (last - second) / f->n, most = 0;
	unsigned rises = 0, from = f->n - 1 - (2 * f->n + 2) / 3;

	least = f->noise > least ? f->noise : least;
	for (unsigned i = from; i + 1 < f->n; i++) {
		rises += f->step[i] > least;
		most = f->step[i] > most ? f->step[i] : most;
	}
	return rises >= 3 && most < 0.7 * (f->bytes[f->n - 1] - f->bytes[f->n / 3]);
}

struct growth_floor
growth_floor_judge(const struct growth *g, size_t n)
{
	struct growth_floor ret = {0};
	double third, high = 0, low[3], noise, error;
	struct floors f = {0};

	if (n < FLOORS_LEAST)
		return ret;
	find_floors(&f, g, n);
	ret.intervals = f.n;
	ret.last = quarter(&f, 0, &low[0]);
	third = quarter(&f, 1, &low[1]);
	ret.second = quarter(&f, 2, &low[2]);
	ret.last_blocks = fewest(&f, 0);
	ret.second_blocks = fewest(&f, 2);
	for (unsigned i = 0; i < f.n; i++) {
		high = f.bytes[i] > high ? f.bytes[i] : high;
		ret.grew += i > 0 && f.step[i - 1] > 0;
		ret.fell |= i > 0 && f.step[i - 1] < 0;
	}
	ret.grew += f.bytes[0] > 0;
	noise = f.noise * sqrt(2.0 / f.quarter);
	error = sample_error(g, n, f.bytes[f.n - 1]);
	error = sqrt(noise * noise + error * error);
	ret.rises = f.bytes[f.n - 1] > 0 && ret.last - third > 2.5 * error &&
		    ret.last - third > 0.25 * (third - ret.second) &&
		    ret.last > 1.03 * ret.second &&
		    rises_often(&f, ret.second, ret.last) && low[0] > low[2] &&
		    f.bytes[f.n - 1] >= 0.95 * high && !has_stopped(&f);
	return ret;
}
