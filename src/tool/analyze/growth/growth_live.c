/* SPDX-License-Identifier: MIT */
/* growth_live.c -- see growth_live.h.
 *
 * The timeline has a point where something was allocated, so what an interval begins with
 * is what the one before ended with. Few points and few samples often hide a rise from
 * the rules for snapshots; so memory is flat only if the last quarter is not clearly
 * above the second one either. */
#include "tool/analyze/growth/growth_live.h"

#include <math.h>
#include <stdbool.h>

#include "tool/analyze/growth/growth.h"
#include "tool/analyze/growth/growth_floor.h"

enum { QUARTER = GROWTH_LIVE_INTERVALS / 4 };

static const double ERRORS = 2;	  /* standard errors that chance explains, */
static const double LEAST = 1.03; /* and a change that is worth a word */

/* Live memory at the end. */
static int64_t
find_floors(const struct prof *p, uint32_t process, uint64_t end_ms,
	    struct growth_point floors[GROWTH_LIVE_INTERVALS])
{
	int64_t live = 0;
	unsigned at = 0;

	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];
		uint64_t in = (uint64_t)x->ms * GROWTH_LIVE_INTERVALS / (end_ms + 1);

		if (x->process != process || in >= GROWTH_LIVE_INTERVALS || in < at)
			continue;
		while (at < in)
			floors[++at].bytes = live;
		live = x->live_bytes;
		if (live < floors[at].bytes)
			floors[at].bytes = live;
	}
	while (at + 1 < GROWTH_LIVE_INTERVALS)
		floors[++at].bytes = live;
	return live;
}

/* Mean of a quarter of the time, and its variance. */
static double
quarter(const struct growth_point *x, double *ret_var)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < QUARTER; i++)
		sum += (double)x[i].bytes / QUARTER;
	for (unsigned i = 0; i < QUARTER; i++)
		squares += ((double)x[i].bytes - sum) * ((double)x[i].bytes - sum);
	*ret_var = squares / (QUARTER - 1) / QUARTER;
	return sum;
}

/* Variance that a rise since the middle of the time has because of the samples that came
 * and went. */
static double
sample_variance(const struct prof *p, uint32_t process, uint64_t end_ms, double rose)
{
	double live = 0, samples = 0, var = 0, came = 0, went;

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];

		if (s->process != process)
			continue;
		live += (double)s->live_bytes;
		samples += (double)s->live_samples;
		var += s->var_live_bytes;
	}
	if (samples <= 0 || live <= 0)
		return 0;
	for (uint32_t i = 0; i < p->nblocks; i++)
		came += p->sites[p->blocks[i].site].process == process &&
			p->blocks[i].ms > end_ms / 2;
	went = came - rose * samples / live;
	return var / samples * (came + (went > 0 ? went : 0));
}

static bool
rose(const struct prof *p, uint32_t process, uint64_t end_ms,
     const struct growth_point floors[GROWTH_LIVE_INTERVALS])
{
	double was_var, var;
	double was = quarter(&floors[QUARTER], &was_var);
	double now = quarter(&floors[GROWTH_LIVE_INTERVALS - QUARTER], &var);

	if (now <= LEAST * was)
		return false;
	var += was_var + sample_variance(p, process, end_ms, now - was);
	return now - was > ERRORS * sqrt(var);
}

enum growth_live
growth_live_judge(const struct prof *p, uint32_t process, uint64_t end_ms)
{
	struct growth_point floors[GROWTH_LIVE_INTERVALS] = {0};
	struct growth g;
	int64_t live;
	bool rises;

	if (end_ms < GROWTH_LIVE_MS)
		return GROWTH_LIVE_UNKNOWN;
	live = find_floors(p, process, end_ms, floors);
	growth_begin(&g, 0);
	for (unsigned i = 0; i < GROWTH_LIVE_INTERVALS; i++) {
		floors[i].ms = i;
		growth_add(&g, &floors[i]);
	}
	rises = growth_floor_judge(&g, g.points.len).rises;
	growth_done(&g);
	if (live <= 0)
		return GROWTH_LIVE_UNKNOWN;
	return rises || rose(p, process, end_ms, floors) ? GROWTH_LIVE_ROSE
							 : GROWTH_LIVE_FLAT;
}
