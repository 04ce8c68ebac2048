/* SPDX-License-Identifier: MIT */
/* growth.c -- the rules of growth.h.
 *
 * The time is cut into intervals, as many as there are looks, or ten when there are more than
 * fourteen: a slow leak brings a block only now and then, and in an interval too short for one it
 * cannot grow. The same series is then cut into thirds. A cache that fills grows less in the
 * last than in the first; a job that comes and goes has highs and lows that do not rise.
 *
 * When all of it is no leak, what comes after its first third is judged alone: programs that start
 * grow for a while in any case, and many leak only once they are at work. */
#include "analyze/growth.h"

#include <math.h>
#include <stddef.h>

#include "analyze/fit.h"

enum {
	GROWTH_SEPARATE = 14, /* more looks than this are put together */
	GROWTH_LATER = 15,    /* intervals that the later part is cut from */
	GROWTH_POINTS = 3,    /* fewer say nothing */
	GROWTH_FEW = 4,	      /* blocks: fewer are no growth */
	GROWTH_CLEAR = 40, /* with so many even chance leaves hardly an interval empty */
};

const char *
growth_word_name(enum growth_word word)
{
	static const char *const names[] = {
		[GROWTH_UNKNOWN] = "",	      [GROWTH_OK] = "OK",
		[GROWTH_STEADY] = "STEADY",   [GROWTH_HELD] = "HELD",
		[GROWTH_GROWING] = "GROWING", [GROWTH_LEAK] = "LEAK likely",
	};

	return names[word];
}

void
growth_begin(struct growth *g, double sample_var)
{
	*g = (struct growth){.sample_var = sample_var};
}

void
growth_add(struct growth *g, const struct growth_point *x)
{
	if (g->points.len > 0 && vec_last(&g->points)->ms >= x->ms)
		return;
	vec_push(&g->points, *x);
}

void
growth_done(struct growth *g)
{
	vec_done(&g->points);
}

double
growth_limit(uint64_t rate_bytes, uint64_t ms)
{
	return ms > 0 ? GROWTH_LIMIT_SAMPLES * (double)rate_bytes * 1000 / (double)ms : 0;
}

/* ---- a stretch of a series ---- */

struct stretch {
	const struct growth_point *p;
	size_t steps; /* from look to look */
	double sample_var;
	unsigned intervals; /* that they are put together into */
	unsigned grew, shrank;
	double slope, error;
	double first, last; /* growth in the first and in the last third */
	double third_noise; /* how far off either may be */
	bool rises;   /* lows and highs of the last third above those of the middle */
	bool stopped; /* did not grow any more for longer than chance explains */
	int64_t came, samples; /* allocated in it; and less what was freed */
};

/* a - b, whatever figures a damaged file has. */
static int64_t
less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static double
step_of(const struct stretch *s, size_t i)
{
	return (double)s->p[i + 1].bytes - (double)s->p[i].bytes;
}

static void
count_intervals(struct stretch *s)
{
	size_t before = 0;

	s->intervals = s->steps > GROWTH_SEPARATE ? GROWTH_INTERVALS : (unsigned)s->steps;
	for (unsigned i = 1; i <= s->intervals; i++) {
		size_t at = s->steps * i / s->intervals;

		s->grew += s->p[at].bytes > s->p[before].bytes;
		s->shrank += s->p[at].bytes < s->p[before].bytes;
		before = at;
	}
}

/* Variance of what one step adds, but for what changes from one third to the next. */
static double
step_variance(const struct stretch *s)
{
	size_t third = s->steps / 3, from = 0, counted = 0;
	double sum = 0;

	for (unsigned k = 0; k < 3; k++) {
		size_t to = k == 2 ? s->steps : from + third;
		double mean = 0;

		for (size_t i = from; i < to; i++)
			mean += step_of(s, i) / (double)(to - from);
		for (size_t i = from; i < to; i++)
			sum += (step_of(s, i) - mean) * (step_of(s, i) - mean);
		counted += to - from > 0 ? to - from - 1 : 0;
		from = to;
	}
	return counted > 0 ? sum / (double)counted : 0;
}

static void
range_of(const struct stretch *s, size_t from, size_t to, int64_t *low, int64_t *high)
{
	*low = *high = s->p[from].bytes;
	for (size_t i = from + 1; i <= to; i++) {
		if (s->p[i].bytes < *low)
			*low = s->p[i].bytes;
		if (s->p[i].bytes > *high)
			*high = s->p[i].bytes;
	}
}

static void
compare_thirds(struct stretch *s)
{
	size_t third = s->steps / 3, late = s->steps - third;
	int64_t low[2], high[2];

	s->first = (double)s->p[third].bytes - (double)s->p[0].bytes;
	s->last = (double)s->p[s->steps].bytes - (double)s->p[late].bytes;
	s->third_noise = sqrt(step_variance(s) * (double)third);
	range_of(s, third, late, &low[0], &high[0]);
	range_of(s, late, s->steps, &low[1], &high[1]);
	s->rises = low[1] > low[0] && high[1] > high[0];
}

/* How likely are so many steps at the end without growth, if it goes on as before? */
static void
find_stop(struct stretch *s)
{
	size_t idle = 0, grew = 0;
	double not ;

	while (idle < s->steps && step_of(s, s->steps - 1 - idle) <= 0)
		idle++;
	for (size_t i = 0; i + idle < s->steps; i++)
		grew += step_of(s, i) > 0;
	if (idle < 2 || idle * 10 < s->steps || idle == s->steps)
		return;
	not = 1 - (double)grew / (double)(s->steps - idle);
	/* That it never failed to grow before does not mean that it cannot. */
	s->stopped = pow(not < 0.05 ? 0.05 : not, (double)idle) < 0.005;
}

/* What is added up keeps every chance deviation, so the distance of the points from the line says
 * too little about the slope's error: how much the steps differ does, and what the samples do. */
static void
find_slope(struct stretch *s)
{
	const struct growth_point *end = &s->p[s->steps];
	double seconds = (double)(end->ms - s->p[0].ms) / 1000, other;
	int64_t differ, live;
	struct fit f = {0};

	for (size_t i = 0; i <= s->steps; i++)
		fit_add(&f, (double)s->p[i].ms / 1000, (double)s->p[i].bytes);
	s->slope = fit_slope(&f, &s->error);
	s->came = less(end->allocs, s->p[0].allocs);
	s->samples = less(s->came, less(end->frees, s->p[0].frees));
	/* What came and went again has no part in the difference. */
	differ = less(s->came, less(s->p[0].frees, end->frees));
	live = less(less(end->allocs, end->frees), less(s->p[0].frees, s->p[0].allocs));
	if (live < differ)
		differ = live;
	other = sqrt(s->sample_var * (double)(differ > 0 ? differ : 0)) / seconds;
	if (other > s->error)
		s->error = other;
	other = sqrt(step_variance(s) * (double)s->steps) / seconds;
	if (s->shrank == 0 && other > s->error)
		s->error = other;
}

/* ---- what it means ---- */

static bool
is_slowing(const struct stretch *s, bool later)
{
	if (s->stopped)
		return true;
	if (later) /* a fill that ends is not to get a second chance */
		return s->last * 4 < s->first * 3;
	return s->last * 2 < s->first &&
	       s->first - s->last > 2.5 * M_SQRT2 * s->third_noise;
}

static bool
is_growing(const struct stretch *s)
{
	if (s->stopped || s->came < GROWTH_FEW || s->slope <= 2 * s->error ||
	    s->last <= 0 || !s->rises)
		return false;
	return s->shrank == 0 ||
	       (s->grew * 10 >= s->intervals * 6 && s->last > 2 * s->third_noise);
}

/* What is missing for a leak. */
static enum growth_why
why_not(const struct stretch *s, bool later)
{
	const struct growth_point *end = &s->p[s->steps];

	if (s->intervals < GROWTH_INTERVALS)
		return GROWTH_WHY_SHORT;
	if ((double)end->frees * GROWTH_FREED_PART >= (double)end->allocs)
		return GROWTH_WHY_FREED;
	if (is_slowing(s, later))
		return GROWTH_WHY_SLOWING;
	if (s->samples < GROWTH_SAMPLES)
		return GROWTH_WHY_FEW;
	return s->grew * 10 < s->intervals * 9 ? GROWTH_WHY_UNEVEN : GROWTH_WHY_NONE;
}

static uint64_t
more_time(const struct stretch *s, enum growth_why why)
{
	double ms = (double)(s->p[s->steps].ms - s->p[0].ms), more = ms;

	if (why == GROWTH_WHY_SHORT)
		more = ms / s->intervals * (GROWTH_INTERVALS - s->intervals);
	else if (why == GROWTH_WHY_FEW || why == GROWTH_WHY_UNEVEN)
		more = s->samples > 0 ? ms * GROWTH_CLEAR / (double)s->samples - ms : ms;
	return (uint64_t)(more > ms / 2 || why == GROWTH_WHY_SHORT ? more : ms / 2);
}

/* `ret_lopsided`: most of its growth was in its first third. */
static struct growth_verdict
judge(const struct growth *g, size_t from, bool later, bool *ret_lopsided)
{
	struct stretch s = {.p = &g->points.data[from],
			    .steps = g->points.len - 1 - from,
			    .sample_var = g->sample_var};
	const struct growth_point *end = vec_last(&g->points);
	struct growth_verdict v = {.word = GROWTH_STEADY};
	enum growth_why why;

	count_intervals(&s);
	compare_thirds(&s);
	find_stop(&s);
	find_slope(&s);
	why = why_not(&s, later);
	if (why == GROWTH_WHY_NONE) {
		v.word = GROWTH_LEAK;
	} else if (is_growing(&s)) {
		v.word = GROWTH_GROWING;
		v.why = why;
		v.more_ms = more_time(&s, why);
	}
	v.slope = s.slope;
	v.error = s.error;
	v.grew = s.grew;
	v.intervals = s.intervals;
	v.from_ms = s.p[0].ms;
	v.ms = end->ms - s.p[0].ms;
	v.samples = s.samples;
	v.bytes = end->bytes;
	v.allocs = end->allocs;
	v.frees = end->frees;
	*ret_lopsided = s.last * 2 < s.first;
	return v;
}

struct growth_verdict
growth_judge(const struct growth *g)
{
	struct growth_verdict v = {0}, later;
	size_t from = 0, steps;
	bool lopsided, unused;

	if (g->points.len == 0)
		return v;
	/* From the moment on when there was something. */
	while (from + 1 < g->points.len && g->points.data[from + 1].allocs <= 0)
		from++;
	steps = g->points.len - 1 - from;
	v.bytes = vec_last(&g->points)->bytes;
	v.allocs = vec_last(&g->points)->allocs;
	v.frees = vec_last(&g->points)->frees;
	if (v.bytes <= 0)
		v.word = GROWTH_OK;
	if (v.bytes <= 0 || steps + 1 < GROWTH_POINTS)
		return v;
	v = judge(g, from, false, &lopsided);
	if ((v.word == GROWTH_LEAK && !lopsided) || steps < GROWTH_LATER)
		return v;
	later = judge(g, from + steps / 3, true, &unused);
	/* The slope of a leak is not that of the start phase. */
	return later.word > v.word || later.word == GROWTH_LEAK ? later : v;
}
