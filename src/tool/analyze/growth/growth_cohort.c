/* SPDX-License-Identifier: MIT */
/* growth_cohort.c -- see growth_cohort.h.
 *
 * Ages are tried from 0 upwards in steps of 2, up to half of the time. The first at which
 * at most one block in 20 is freed decides, and no later one: a larger age hides that
 * growth has stopped.
 *
 * Chance is measured, not assumed: the births are counted in 40 bins, and the counts of
 * neighbouring bins differ by more than chance if blocks come in bursts. All limits are
 * for as many independent events as that leaves. Differences of neighbours are used so
 * that a trend does not count as noise. */
#include "tool/analyze/growth/growth_cohort.h"

#include <math.h>
#include <stddef.h>

enum {
	BINS = 40,
	TENTHS = 10,
	EVENTS_LEAST = 8, /* independent ones; fewer are steps */
	STEPS_LEAST = 3,
	STEP_BLOCKS = 3, /* of one, on average: fewer are single blocks and not bursts */
};

static const double GAP = 5.3;	     /* expected events in a gap: once in 200 by chance */
static const double LOPSIDED = 0.45; /* mean position of births in a cache 45 % full */

struct part {
	const struct growth_birth *b;
	size_t n;
	double from, to;
};

static double
position(const struct part *p, size_t i)
{
	double at = ((double)p->b[i].ms - p->from) / (p->to - p->from);

	return at < 0 ? 0 : at > 1 ? 1 : at;
}

/* Returns the mean position. */
static double
count_bins(const struct part *p, double count[BINS])
{
	double sum = 0;

	for (unsigned i = 0; i < BINS; i++)
		count[i] = 0;
	for (size_t i = 0; i < p->n; i++) {
		double at = position(p, i);

		count[at < 1 ? (unsigned)(at * BINS) : BINS - 1]++;
		sum += at;
	}
	return sum / (double)p->n;
}

/* How much more than by chance the counts of neighbouring bins differ; at least 1. */
static double
dispersion(const double count[BINS], size_t n)
{
	double sum = 0, phi;

	for (unsigned i = 1; i < BINS; i++)
		sum += (count[i] - count[i - 1]) * (count[i] - count[i - 1]);
	phi = sum / (BINS - 1) / 2 / ((double)n / BINS);
	return phi > 1 ? phi : 1;
}

/* Are there tenths without a birth that `k` random births would not leave? */
static bool
has_holes(const double count[BINS], double k)
{
	double expect = TENTHS * (1 - pow(0.9, k)), var, least;
	unsigned full = 0;

	for (unsigned i = 0; i < TENTHS; i++) {
		double sum = 0;

		for (unsigned j = 0; j < BINS / TENTHS; j++)
			sum += count[i * (BINS / TENTHS) + j];
		full += sum > 0;
	}
	var = TENTHS * (pow(0.9, k) - pow(0.81, k)) +
	      TENTHS * (TENTHS - 1) * (pow(0.8, k) - pow(0.81, k));
	least = floor(expect - 2 * sqrt(var > 0 ? var : 0));
	return full < (least < TENTHS - 1 ? least : TENTHS - 1);
}

static enum growth_cohort_how
judge_part(const struct part *p, double *ret_phi)
{
	double count[BINS], mean, k, last, limit;

	*ret_phi = 1;
	if (p->n < EVENTS_LEAST || p->to <= p->from)
		return GROWTH_COHORT_FEW;
	mean = count_bins(p, count);
	*ret_phi = dispersion(count, p->n);
	k = (double)p->n / *ret_phi;
	if (k < EVENTS_LEAST)
		return GROWTH_COHORT_STEPS;
	if (has_holes(count, k))
		return GROWTH_COHORT_UNEVEN;
	last = position(p, p->n - 1);
	if (last < 0.95 && (1 - last) * k > GAP)
		return GROWTH_COHORT_STOPPED;
	limit = 0.5 - 2.5 * sqrt(1 / (12 * k));
	if (mean < (limit < LOPSIDED ? limit : LOPSIDED))
		return GROWTH_COHORT_SLOWING;
	return GROWTH_COHORT_EVEN;
}

/* Births after `ms`. */
static struct part
after(const struct part *p, double ms)
{
	struct part late = *p;

	while (late.n > 0 && (double)late.b[0].ms <= ms) {
		late.b++;
		late.n--;
	}
	late.from = ms;
	return late;
}

/* After a start phase: the later two thirds are even, and the last is not less than the
 * one before. */
static bool
is_even_later(const struct part *p, double *ret_phi, size_t *ret_coming)
{
	double third = (p->to - p->from) / 3, middle, last, phi;
	struct part late = after(p, p->from + third);

	last = (double)after(p, p->from + 2 * third).n;
	middle = (double)late.n - last;
	if (judge_part(&late, &phi) != GROWTH_COHORT_EVEN ||
	    last - 0.85 * middle <= sqrt(phi * (last + 0.72 * middle)))
		return false;
	*ret_phi = phi;
	*ret_coming = late.n;
	return true;
}

/* Bursts, if there were several and the last is in the last third. */
static void
find_steps(struct growth_cohort *c, const struct part *p)
{
	double count[BINS], most = 0, bin = (p->to - p->from) / BINS;
	unsigned first = BINS, last = 0, steps = 0;

	count_bins(p, count);
	for (unsigned i = 0; i < BINS; i++)
		most = count[i] > most ? count[i] : most;
	for (unsigned i = 0; i < BINS; i++) {
		if (count[i] <= most / 10 || (i > 0 && count[i - 1] > most / 10))
			continue;
		steps++;
		first = first < BINS ? first : i;
		last = i;
	}
	if (steps < STEPS_LEAST || last < BINS * 2 / 3 || last - first < BINS / 2)
		return;
	if (p->n < (size_t)steps * STEP_BLOCKS)
		c->how = GROWTH_COHORT_FEW;
	c->steps = steps;
	c->step_ms = (uint64_t)(bin * (last - first) / (steps - 1));
	c->last_ms = p->b[p->n - 1].ms;
}

/* Bytes a second that stay, with the error of as many independent events. */
static void
find_slope(struct growth_cohort *c, const struct part *p, double phi)
{
	double seconds = (p->to - p->from) / 1000, sum = 0, squares = 0;

	for (size_t i = 0; i < p->n; i++) {
		sum += p->b[i].bytes;
		squares += p->b[i].bytes * p->b[i].bytes;
	}
	c->slope = sum / seconds;
	c->error = sqrt(phi * squares) / seconds;
}

static void
judge_age(struct growth_cohort *c, const struct part *p, double listed)
{
	size_t coming = p->n;
	double phi;

	if (c->live < (c->age_ms == 0 ? GROWTH_NEVER_FREED : GROWTH_SAMPLES)) {
		c->how = GROWTH_COHORT_FEW;
		return;
	}
	c->how = judge_part(p, &phi);
	if (c->how == GROWTH_COHORT_STEPS)
		find_steps(c, p);
	if (c->how != GROWTH_COHORT_EVEN && is_even_later(p, &phi, &coming))
		c->how = GROWTH_COHORT_EVEN;
	c->coming = (uint64_t)((double)coming / listed + 0.5);
	if (p->to > p->from)
		find_slope(c, p, phi);
}

struct growth_cohort
growth_cohort_judge(const struct growth *g)
{
	uint64_t end_ms = g->points.len > 0 ? vec_last(&g->points)->ms : 0;
	struct growth_cohort c = {0};
	struct part p = {
		.b = g->births.data, .n = g->births.len, .from = (double)g->first_ms};

	if (g->births.len == 0 || g->listed <= 0 || end_ms <= g->first_ms)
		return c;
	for (unsigned i = 0; i < GROWTH_AGES; i++) {
		c.age_ms = i > 0 ? UINT64_C(1) << (i - 1) : 0;
		if (c.age_ms > (end_ms - g->first_ms) / 2)
			break;
		p.to = (double)(end_ms - c.age_ms);
		while (p.n > 0 && (double)p.b[p.n - 1].ms > p.to)
			p.n--;
		c.live = (uint64_t)((double)p.n / g->listed + 0.5);
		c.freed = g->freed[i];
		if ((double)c.freed * GROWTH_FREED_PART >
		    (double)c.freed + (double)c.live)
			continue;
		judge_age(&c, &p, g->listed);
		return c;
	}
	return (struct growth_cohort){.how = GROWTH_COHORT_FREED};
}
