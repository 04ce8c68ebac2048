/* SPDX-License-Identifier: MIT */
/* growth.c -- the table of growth.h: the first row that matches gives the word.
 *
 * 	1   nothing live                          OK, or GROWING if it rose until the end
 * 	3   fewer than 10 intervals               GROWING if the floor rises, else NO VERDICT
 * 	4a  old blocks keep coming evenly         LEAK likely
 * 	4b  the same, but it frees hardly any     GROWING: a cache that fills looks the same
 * 	5   floor rises, as many blocks           GROWING: the blocks get larger
 * 	6   floor rises, or three steps or more   GROWING
 * 	7   else                                  STEADY
 *
 * Row 2 is the leak check's: memory that is lost is a leak, whatever it does over
 * time. */
#include "tool/analyze/growth/growth.h"

#include <math.h>
#include <stddef.h>

#include "tool/analyze/growth/fit.h"
#include "tool/analyze/growth/growth_cohort.h"
#include "tool/analyze/growth/growth_floor.h"

enum {
	GROWTH_KEPT = 3,   /* blocks for each that is freed: a leak keeps no more */
	GROWTH_CLEAR = 40, /* blocks: with so many chance hardly leaves a hole */
	GROWTH_KEPT_PART =
		20, /* at most one byte in so many is left: it was freed at the end */
	GROWTH_END_PART = 10, /* of the time: freed in it is freed at the end */
};

const char *
growth_word_name(enum growth_word word)
{
	static const char *const names[] = {
		[GROWTH_UNKNOWN] = "NO VERDICT", [GROWTH_OK] = "OK",
		[GROWTH_STEADY] = "STEADY",	 [GROWTH_GROWING] = "GROWING",
		[GROWTH_LEAK] = "LEAK likely",
	};

	return names[word];
}

const char *
growth_why_name(enum growth_why why)
{
	static const char *const names[GROWTH_WHYS] = {
		[GROWTH_WHY_SHORT] = "short",
		[GROWTH_WHY_FEW] = "few",
		[GROWTH_WHY_UNEVEN] = "uneven",
		[GROWTH_WHY_SLOWING] = "slowing",
		[GROWTH_WHY_FREED] = "freed",
		[GROWTH_WHY_OLDER] = "older",
		[GROWTH_WHY_RSS] = "rss",
		[GROWTH_WHY_STEPS] = "steps",
		[GROWTH_WHY_NEVER_FREED] = "never-freed",
		[GROWTH_WHY_LARGER] = "larger",
		[GROWTH_WHY_FREED_AT_EXIT] = "freed-at-exit",
	};

	return names[why];
}

void
growth_begin(struct growth *g, double sample_var)
{
	*g = (struct growth){.sample_var = sample_var, .listed = 1};
}

void
growth_add(struct growth *g, const struct growth_point *x)
{
	if (g->points.len > 0 && vec_last(&g->points)->ms >= x->ms)
		return;
	vec_push(&g->points, *x);
}

void
growth_add_birth(struct growth *g, uint64_t ms, double bytes)
{
	vec_push(&g->births, (struct growth_birth){.ms = ms, .bytes = bytes});
}

void
growth_done(struct growth *g)
{
	vec_done(&g->points);
	vec_done(&g->births);
}

double
growth_limit(uint64_t rate_bytes, uint64_t ms)
{
	return ms > 0 ? GROWTH_LIMIT_SAMPLES * (double)rate_bytes * 1000 / (double)ms : 0;
}

/* ---- figures ---- */

/* a - b, whatever figures a damaged file has. */
static int64_t
less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Variance of what one step adds. */
static double
step_variance(const struct growth_point *p, size_t steps)
{
	double mean = ((double)p[steps].bytes - (double)p[0].bytes) / (double)steps;
	double sum = 0;

	for (size_t i = 0; i < steps; i++) {
		double off = (double)p[i + 1].bytes - (double)p[i].bytes - mean;

		sum += off * off;
	}
	return steps > 1 ? sum / (double)(steps - 1) : 0;
}

/* A line through the points. A sum keeps every chance deviation, so the distance of the
 * points from the line says too little about the error of the slope: how much the steps
 * differ does, if it never shrinks, and the samples do. */
static void
find_slope(struct growth_verdict *v, const struct growth *g, size_t from, size_t n)
{
	const struct growth_point *p = &g->points.data[from], *end = &p[n - 1];
	double seconds = (double)(end->ms - p[0].ms) / 1000, other;
	int64_t differ, live;
	bool shrank = false;
	struct fit f = {0};

	for (size_t i = 0; i < n; i++) {
		fit_add(&f, (double)p[i].ms / 1000, (double)p[i].bytes);
		shrank |= i > 0 && p[i].bytes < p[i - 1].bytes;
	}
	v->slope = fit_slope(&f, &v->error);
	differ = less(less(end->allocs, p[0].allocs), less(p[0].frees, end->frees));
	live = less(less(end->allocs, end->frees), less(p[0].frees, p[0].allocs));
	if (live < differ) /* blocks that came and went again are in neither end */
		differ = live;
	other = sqrt(g->sample_var * (double)(differ > 0 ? differ : 0)) / seconds;
	if (other > v->error)
		v->error = other;
	other = sqrt(step_variance(p, n - 1) * (double)(n - 1)) / seconds;
	if (!shrank && other > v->error)
		v->error = other;
}

/* What does not depend on the word. */
static void
find_figures(struct growth_verdict *v, const struct growth *g)
{
	const struct growth_point *end = vec_last(&g->points), *p = g->points.data;
	size_t from = 0, n = g->points.len;
	uint64_t most = g->freed[0] - g->freed[0] / 10;

	v->bytes = end->bytes;
	v->allocs = end->allocs;
	v->frees = end->frees;
	/* From the moment on when there was something. */
	while (from + 1 < n && p[from + 1].allocs <= 0)
		from++;
	v->from_ms = p[from].ms;
	v->ms = end->ms - p[from].ms;
	v->samples =
		less(less(end->allocs, p[from].allocs), less(end->frees, p[from].frees));
	for (unsigned i = 1; i < GROWTH_AGES && g->freed[0] - g->freed[i] < most; i++)
		v->most_ms = UINT64_C(1) << i;
	if (n - from >= 2)
		find_slope(v, g, from, n - from);
}

/* ---- rows ---- */

static uint64_t
more_time(const struct growth_verdict *v, const struct growth *g, uint64_t blocks)
{
	double ms = (double)vec_last(&g->points)->ms, more = ms;

	if (v->why == GROWTH_WHY_SHORT && g->points.len > 0)
		return (uint64_t)(ms / (double)g->points.len *
				  (GROWTH_INTERVALS - (double)g->points.len));
	if (v->why == GROWTH_WHY_FEW || v->why == GROWTH_WHY_UNEVEN)
		more = blocks > 0 ? ms * GROWTH_CLEAR / (double)blocks - ms : ms;
	return (uint64_t)(more > ms / 2 ? more : ms / 2);
}

/* Row 1: it is gone. Did it rise all the time until then? Then it may be a leak to
 * whoever runs it for longer. */
static void
judge_gone(struct growth_verdict *v, const struct growth *g)
{
	const struct growth_point *p = g->points.data;
	uint64_t end_ms = vec_last(&g->points)->ms;
	size_t n = g->points.len;
	struct growth_floor f;
	int64_t high = 0;

	for (size_t i = 0; i < n; i++)
		high = p[i].bytes > high ? p[i].bytes : high;
	while (n > 0 && p[n - 1].bytes < high / GROWTH_KEPT_PART)
		n--;
	v->word = GROWTH_OK;
	/* One interval more, because it may have happened right after the snapshot. */
	if (n < GROWTH_INTERVALS ||
	    end_ms - p[n - 1].ms > end_ms / GROWTH_END_PART + end_ms / g->points.len)
		return;
	f = growth_floor_judge(g, n);
	/* What never falls is not noise, however uneven its steps are. */
	if ((f.fell && !f.rises) || f.last < 1.5 * f.second ||
	    f.grew * 10 < f.intervals * 8)
		return;
	v->word = GROWTH_GROWING;
	v->why = GROWTH_WHY_FREED_AT_EXIT;
	v->grew = f.grew;
	v->intervals = f.intervals;
	v->low_bytes = p[0].bytes;
	v->high_bytes = high;
	v->ms = p[n - 1].ms - v->from_ms;
	find_slope(v, g, 0, n);
}

static enum growth_why
why_not(const struct growth_cohort *c)
{
	switch (c->how) {
	case GROWTH_COHORT_FEW:
		return GROWTH_WHY_FEW;
	case GROWTH_COHORT_STEPS:
		return c->steps > 0 ? GROWTH_WHY_STEPS : GROWTH_WHY_UNEVEN;
	case GROWTH_COHORT_UNEVEN:
		return GROWTH_WHY_UNEVEN;
	case GROWTH_COHORT_STOPPED:
	case GROWTH_COHORT_SLOWING:
		return GROWTH_WHY_SLOWING;
	case GROWTH_COHORT_EVEN:
		return GROWTH_WHY_NEVER_FREED;
	case GROWTH_COHORT_NONE:
	case GROWTH_COHORT_FREED:
		break;
	}
	return GROWTH_WHY_FREED;
}

/* Was it there long enough? A site that appears late has had no time to be even or
 * not. */
static bool
is_old_enough(const struct growth *g)
{
	uint64_t end_ms = vec_last(&g->points)->ms;
	double span = (double)end_ms - (double)g->first_ms;

	return span * 2 >= (double)end_ms ||
	       span * (double)g->points.len >= (double)end_ms * GROWTH_INTERVALS;
}

/* Rows 4a and 4b. A site that keeps more than three blocks for each that it frees may be
 * a cache whose entries are replaced now and then, as long as nobody has waited for the
 * first of the others to go. */
static void
judge_even(struct growth_verdict *v, const struct growth *g,
	   const struct growth_cohort *c, bool points)
{
	bool leaks = c->age_ms > 0 && g->freed[0] * GROWTH_KEPT >= c->coming;

	v->word = leaks ? GROWTH_LEAK : GROWTH_GROWING;
	v->why = leaks ? GROWTH_WHY_NONE : GROWTH_WHY_NEVER_FREED;
	if (c->age_ms > 0 || !points) {
		v->slope = c->slope;
		v->error = c->error;
		v->samples = (int64_t)c->live;
	}
}

/* Rows 4 to 7. */
static void
judge_enough(struct growth_verdict *v, const struct growth *g,
	     const struct growth_floor *f)
{
	struct growth_cohort c = {0};
	double blocks = (double)f->last_blocks;

	if (is_old_enough(g))
		c = growth_cohort_judge(g);
	v->mature_ms = c.age_ms;
	v->mature_live = c.live;
	v->mature_freed = c.freed;
	v->word = f->intervals > 0 ? GROWTH_STEADY : GROWTH_UNKNOWN;
	if (c.how == GROWTH_COHORT_EVEN) {
		judge_even(v, g, &c, f->intervals > 0);
	} else if (f->rises && blocks > 0 && blocks <= 1.03 * (double)f->second_blocks) {
		v->word = GROWTH_GROWING;
		v->why = GROWTH_WHY_LARGER;
		v->blocks = f->last_blocks;
	} else if (f->rises || c.steps > 0) {
		v->word = GROWTH_GROWING;
		v->why = why_not(&c);
	}
	if (v->why == GROWTH_WHY_STEPS) {
		v->steps = c.steps;
		v->step_ms = c.step_ms;
		v->last_step_ms = vec_last(&g->points)->ms - c.last_ms;
	}
	if (v->word == GROWTH_GROWING)
		v->more_ms = more_time(v, g, c.live);
}

struct growth_verdict
growth_judge(const struct growth *g)
{
	struct growth_verdict v = {0};
	struct growth_floor f = {0};
	size_t n = g->points.len;

	if (n == 0)
		return v;
	find_figures(&v, g);
	if (v.bytes <= 0 || (g->ended && g->left_bytes < v.bytes / GROWTH_KEPT_PART)) {
		judge_gone(&v, g);
		return v;
	}
	/* Without snapshots only the births are known, and the caller knows the time to
	 * be enough. */
	if (n >= 3)
		f = growth_floor_judge(g, n);
	v.grew = f.grew;
	v.intervals = f.intervals > 0 ? f.intervals : (unsigned)(n < 3 ? 0 : n);
	if (n >= 3 && n < GROWTH_INTERVALS) {
		v.word = f.rises ? GROWTH_GROWING : GROWTH_UNKNOWN;
		v.why = GROWTH_WHY_SHORT;
		v.more_ms = more_time(&v, g, 0);
		return v;
	}
	judge_enough(&v, g, &f);
	return v;
}
