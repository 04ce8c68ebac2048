/* SPDX-License-Identifier: MIT */
/* outgrowth.c -- see outgrowth.h. */
#include "tool/analyze/process/outgrowth.h"

#include <stdlib.h>

#include "shared/compiler.h"

#define EXPLAINED                                                                        \
	0.5	 /* of the growth explained by malloc's live blocks: it is malloc's */
#define FLAT 0.2 /* of the growth, or less: live memory is flat beside it */

bool
outgrowth_is_mallocs(enum region_kind kind)
{
	return kind == REGION_HEAP || kind == REGION_ARENA || kind == REGION_CHUNK ||
	       region_is_guessed(kind);
}

enum {
	MALLOCS = REGION_KINDS, /* all of malloc's */
	KEPT,			/* and what of it is not live */
};

/* Bytes of kind `kind`, MALLOCS or KEPT at a snapshot. Live blocks need not have been
 * touched, so they may be more than what is resident. */
static double
bytes_at(const struct track *t, const struct outgrowth_series *s, unsigned kind, size_t i)
{
	double sum = 0;

	if (kind >= MALLOCS) {
		for (unsigned k = 0; k < REGION_KINDS; k++)
			sum += outgrowth_is_mallocs(k)
				       ? (double)t->kinds[k].data[i] * 1024
				       : 0;
		sum -= kind == KEPT ? s->live.data[i] : 0;
		return sum > 0 ? sum : 0;
	}
	sum = (double)t->kinds[kind].data[i] * 1024;
	for (size_t r = 0; kind == REGION_SHARED && r < t->rows.len; r++) {
		const struct track_row *row = &t->rows.data[r];

		if (row->fills && i < row->kib.len)
			sum -= (double)row->kib.data[i] * 1024;
	}
	/* The recorder's private memory is a mapping like others. */
	if (kind == REGION_MAPPING)
		sum -= s->own.data[i];
	return sum > 0 ? sum : 0;
}

static bool
is_growing(const struct fit *f)
{
	return fit_grows(f, TRACK_STEP_BYTES) && f->grown > 2 * f->shrunk &&
	       f->last_v > f->first_v;
}

/* Grows over all of the time and in its second half no slower than half as fast: neither
 * a start nor one step. By however little. */
static bool
is_steady(const struct track *t, const struct outgrowth_series *s, unsigned kind,
	  struct fit *ret)
{
	size_t n = t->seconds.len - s->ended, late = n - n / 3;
	struct fit f = {0}, half = {0}, end = {0};

	for (size_t i = 0; i < n; i++) {
		double v = bytes_at(t, s, kind, i);

		fit_add(&f, t->seconds.data[i], v);
		if (i >= n / 2)
			fit_add(&half, t->seconds.data[i], v);
		if (i + 1 >= late)
			fit_add(&end, t->seconds.data[i], v);
	}
	*ret = f;
	return fit_intervals(&f) >= OUTGROWTH_INTERVALS && is_growing(&f) &&
	       f.grown >= fit_intervals(&f) / 2 &&
	       fit_slope(&half, NULL) >= fit_slope(&f, NULL) / 2 && is_growing(&half) &&
	       end.last_v > end.first_v;
}

static bool
grows(const struct track *t, const struct outgrowth_series *s, unsigned kind,
      struct fit *ret)
{
	return is_steady(t, s, kind, ret) &&
	       ret->last_v - ret->first_v >= OUTGROWTH_BYTES;
}

/* A runtime's heap became larger, and malloc's live blocks by less than half of that. */
static bool
is_unseen(enum region_kind kind, const struct fit *f, const struct fit *live)
{
	double more = f->last_v - f->first_v;

	return region_runtime(kind) != RUNTIMES && more >= OUTGROWTH_UNSEEN_BYTES &&
	       live->last_v - live->first_v <= more * EXPLAINED;
}

/* Bytes of all private memory that the program asked for, without stacks. */
static double
asked_for(const struct track *t, const struct outgrowth_series *s, size_t i)
{
	double sum = 0;

	for (unsigned k = 0; k < REGION_KINDS; k++) {
		if (outgrowth_is_mallocs(k) || region_runtime(k) != RUNTIMES ||
		    k == REGION_MAPPING)
			sum += bytes_at(t, s, k, i);
	}
	return sum;
}

/* Mappings that malloc has no part in are more than half of the memory at the end, of a
 * process that was recorded from its start on, or of what came after the first snapshot.
 * An allocator that we do not recognise has its memory in mappings, too, so they are not
 * more than what it cannot have. */
static bool
is_beside(const struct track *t, const struct outgrowth_series *s, struct fit *ret)
{
	size_t last = t->seconds.len - 1;
	double end = bytes_at(t, s, REGION_MAPPING, last), all = asked_for(t, s, last);
	double hidden = all - s->covered, first = bytes_at(t, s, REGION_MAPPING, 0);
	double grown = all - asked_for(t, s, 0), more = end - first;

	if (s->from_start && end > all * EXPLAINED) {
		more = end;
		grown = all;
	}
	more = more < hidden ? more : hidden;
	ret->first_v = end - more;
	ret->last_v = end;
	return more >= OUTGROWTH_UNSEEN_BYTES && more > grown * EXPLAINED;
}

static int
compare(const void *a, const void *b)
{
	double x = fit_slope(&((const struct outgrowth *)a)->fit, NULL);
	double y = fit_slope(&((const struct outgrowth *)b)->fit, NULL);

	return (x < y) - (x > y);
}

static double
live_slope_of(const struct track *t, const struct outgrowth_series *s, struct fit *ret)
{
	*ret = (struct fit){0};
	for (size_t i = 0; i < s->live.len - s->ended; i++)
		fit_add(ret, t->seconds.data[i], s->live.data[i]);
	return fit_slope(ret, NULL);
}

/* A track that was thinned out has other snapshots than the series. */
static bool
fits(const struct track *t, const struct outgrowth_series *s)
{
	return t->seconds.len > s->ended && t->seconds.len == s->live.len &&
	       t->seconds.len == s->own.len;
}

/* malloc's memory grows, and so does the part of it that is not live: a block that is
 * being filled makes it grow as well. */
static bool
is_kept(const struct track *t, const struct outgrowth_series *s, double live_slope,
	struct fit *ret)
{
	struct fit kept;

	return grows(t, s, MALLOCS, ret) && live_slope < fit_slope(ret, NULL) * FLAT &&
	       grows(t, s, KEPT, &kept) &&
	       fit_slope(&kept, NULL) > fit_slope(ret, NULL) * (1 - FLAT);
}

bool
outgrowth_is_guessed(const struct track *t)
{
	for (unsigned k = 0; k < REGION_KINDS && t->seconds.len > 0; k++) {
		if (region_is_guessed(k) && t->kinds[k].data[t->seconds.len - 1] > 0)
			return true;
	}
	return false;
}

bool
outgrowth_must_ask(const struct track *t, const struct outgrowth_series *s)
{
	struct fit live, f;

	return fits(t, s) && (outgrowth_is_guessed(t) || !s->from_start) &&
	       is_kept(t, s, live_slope_of(t, s, &live), &f);
}

/* Growth of malloc's regions that the live blocks which were recorded do not explain.
 * False: blocks from before the recording do, which are filled now. */
static bool
kept_or_beside(const struct track *t, const struct outgrowth_series *s,
	       const struct fit *f, struct outgrowth *ret)
{
	bool guessed = outgrowth_is_guessed(t);
	struct outgrowth g = {.kind = REGION_KINDS,
			      .name = OUTGROWTH_KEPT,
			      .remedy = "live memory is flat, so it is "
					"fragmentation: " OUTGROWTH_KEPT_REMEDY,
			      .fit = *f,
			      .grows = true};

	*ret = g;
	if ((!guessed && s->from_start) ||
	    s->kept >= (f->last_v - f->first_v) * EXPLAINED)
		return true;
	ret->name = s->kept < 0 ? OUTGROWTH_UNKNOWN : region_kind_plural(REGION_MAPPING);
	ret->remedy = NULL;
	return guessed || s->kept < 0;
}

double
outgrowth_seconds(const struct track *t, const struct outgrowth_series *s)
{
	size_t n = t->seconds.len;

	return fits(t, s) && n - s->ended > OUTGROWTH_INTERVALS
		       ? t->seconds.data[n - s->ended - 1] - t->seconds.data[0]
		       : 0;
}

bool
outgrowth_little(const struct track *t, const struct outgrowth_series *s,
		 struct outgrowth *ret)
{
	/* What grows a page at a time in healthy programs is not among them: files that
	 * are read, heaps of runtimes. */
	static const enum region_kind kinds[] = {REGION_MAPPING, REGION_THREAD_STACK};
	struct fit live, f;
	double live_slope = fits(t, s) ? live_slope_of(t, s, &live) : 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && fits(t, s); i++) {
		if (!is_steady(t, s, kinds[i], &f) ||
		    f.last_v - f.first_v < OUTGROWTH_LITTLE_BYTES ||
		    f.last_v - f.first_v >= OUTGROWTH_BYTES ||
		    live_slope > fit_slope(&f, NULL) * EXPLAINED)
			continue;
		*ret = (struct outgrowth){.kind = kinds[i],
					  .name = region_kind_plural(kinds[i]),
					  .fit = f,
					  .grows = true};
		return true;
	}
	return false;
}

unsigned
outgrowth_find(const struct track *t, const struct outgrowth_series *s,
	       struct outgrowth ret[OUTGROWTH_MAX])
{
	struct fit live, f;
	double live_slope;
	unsigned n = 0;

	if (!fits(t, s))
		return 0;
	live_slope = live_slope_of(t, s, &live);
	for (unsigned k = 0; k < REGION_KINDS && n < OUTGROWTH_MAX - 1; k++) {
		bool all;

		if (outgrowth_is_mallocs(k) || !region_can_leak(k))
			continue;
		all = grows(t, s, k, &f) && live_slope <= fit_slope(&f, NULL) * EXPLAINED;
		if (all || is_unseen(k, &f, &live) ||
		    (k == REGION_MAPPING && is_beside(t, s, &f)))
			ret[n++] = (struct outgrowth){.kind = k,
						      .name = region_kind_plural(k),
						      .fit = f,
						      .grows = all};
	}
	if (is_kept(t, s, live_slope, &f) && kept_or_beside(t, s, &f, &ret[n]))
		n++;
	if (n > 1)
		qsort(ret, n, sizeof *ret, compare);
	return n;
}
