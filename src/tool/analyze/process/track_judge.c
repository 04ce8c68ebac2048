/* SPDX-License-Identifier: MIT */
/* track_judge.c -- which regions grow: lines through their sizes, the verdict, the order;
 * see track.h. Finding them again in each snapshot is track.c's. */
#include <stdlib.h>

#include "tool/analyze/process/track.h"
#include "tool/util/x.h"

enum {
	HALF_LEAST = 8, /* snapshots of which the second half is enough for a line */
	FEW_BYTES =
		32 << 10, /* two steps that are no more than this together are chance */
};

/* ---- lines ---- */

/* The lines from one snapshot on. */
static struct fit
fit_row(const struct track *t, size_t row, size_t from)
{
	struct fit f = {0};

	for (size_t i = from; i < t->seconds.len; i++)
		fit_add(&f, t->seconds.data[i],
			(double)track_row_kib(&t->rows.data[row], i) * 1024);
	return f;
}

/* KiB at a snapshot in shared memory that only fills up. */
static uint64_t
filling_kib(const struct track *t, size_t snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->rows.len; i++) {
		if (t->rows.data[i].fills)
			sum += track_row_kib(&t->rows.data[i], snapshot);
	}
	return sum;
}

static struct fit
fit_kind(const struct track *t, enum region_kind kind, size_t from)
{
	struct fit f = {0};

	for (size_t i = from; i < t->seconds.len; i++) {
		uint64_t kib = t->kinds[kind].data[i];

		if (kind == REGION_SHARED)
			kib -= filling_kib(t, i);
		fit_add(&f, t->seconds.data[i], (double)kib * 1024);
	}
	return f;
}

struct fit
track_fit_process(const struct track *t, size_t from)
{
	struct fit f = {0};

	for (size_t i = from; i < t->seconds.len; i++)
		fit_add(&f, t->seconds.data[i],
			((double)t->total.data[i] -
			 (double)t->kinds[REGION_SEEP].data[i] -
			 (double)filling_kib(t, i)) *
				1024);
	return f;
}

static struct fit
fit_total(const struct track *t, size_t from)
{
	struct fit f = {0};

	for (size_t i = from; i < t->seconds.len; i++)
		fit_add(&f, t->seconds.data[i], (double)t->total.data[i] * 1024);
	return f;
}

struct fit
track_fit_row(const struct track *t, size_t row)
{
	return fit_row(t, row, 0);
}

struct fit
track_fit_kind(const struct track *t, enum region_kind kind)
{
	return fit_kind(t, kind, 0);
}

struct fit
track_fit_total(const struct track *t)
{
	return fit_total(t, 0);
}

/* ---- what it means ---- */

static bool
is_few(const struct fit *f)
{
	return f->grown == 2 && f->last_v - f->first_v < FEW_BYTES;
}

/* More than noise, and more often up than down. One step alone is no trend, and neither
 * are two of a few pages. */
static bool
is_growing(const struct fit *f)
{
	return fit_grows(f, TRACK_STEP_BYTES) && f->grown > 1 && !is_few(f) &&
	       f->grown > 2 * f->shrunk && f->last_v > f->first_v;
}

/* Growth that was much faster at first, a program that starts up say, is not what will go
 * on: then the second half is what counts, from the snapshot that is returned. */
static size_t
judged_from(const struct track *t, enum region_kind kind, struct fit *whole)
{
	size_t half = t->seconds.len / 2;
	struct fit recent;

	if (t->seconds.len < HALF_LEAST)
		return 0;
	recent = fit_kind(t, kind, half);
	if (fit_slope(&recent, NULL) >= fit_slope(whole, NULL) / 2)
		return 0;
	*whole = recent;
	return half;
}

/* The one region with nearly all of the kind's growth, or SIZE_MAX. */
static size_t
leading_row(const struct track *t, enum region_kind kind, size_t from, double slope)
{
	size_t best = SIZE_MAX;
	double most = 0.8 * slope;

	for (size_t i = 0; i < t->rows.len; i++) {
		struct fit f;

		if (t->rows.data[i].last.kind != kind || t->rows.data[i].kib.len == 0 ||
		    t->rows.data[i].fills)
			continue;
		f = fit_row(t, i, from);
		if (fit_slope(&f, NULL) >= most) {
			most = fit_slope(&f, NULL);
			best = i;
		}
	}
	return best;
}

/* What of one kind there is to say: better than what is in `v`, it replaces that. */
static void
judge_kind(const struct track *t, enum region_kind kind, struct track_verdict *v)
{
	struct fit f = fit_kind(t, kind, 0);
	size_t from;

	if (!is_growing(&f)) {
		if (is_few(&f) && fit_slope(&f, NULL) > v->few)
			v->few = fit_slope(&f, NULL);
		return;
	}
	from = judged_from(t, kind, &f);
	if (!is_growing(&f)) {
		v->stopped = true;
		return;
	}
	if (v->word == TRACK_GROWING && fit_slope(&f, NULL) <= fit_slope(&v->fit, NULL))
		return;
	v->word = TRACK_GROWING;
	v->kind = kind;
	v->from = from;
	v->fit = f;
	v->limit = fit_limit(&f, TRACK_STEP_BYTES);
}

static bool
grew_always(const struct fit *f)
{
	return f->grown > 0 && f->grown == fit_intervals(f);
}

/* Most of its growth came in the first half, but not all: too little to call it growing,
 * too much to say that it has stopped. */
static bool
grew_later(const struct track *t, enum region_kind kind, const struct fit *whole)
{
	struct fit recent = fit_kind(t, kind, t->seconds.len / 2);

	return is_growing(whole) && recent.grown > 1 &&
	       recent.grown > 2 * recent.shrunk && recent.last_v > recent.first_v &&
	       fit_slope(&recent, NULL) >= fit_slope(whole, NULL) / 10;
}

/* Nothing is surely growing: is there a region, or a kind, that still grew every time, or
 * one that went on growing after its first half? */
static void
judge_unclear(const struct track *t, struct track_verdict *v)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct track_row *r = &t->rows.data[i];
		struct fit f = fit_row(t, i, 0);

		if (r->kib.len == 0 || r->gone || r->fills ||
		    !region_can_leak(r->last.kind) || !grew_always(&f) ||
		    (v->word == TRACK_UNCLEAR &&
		     fit_slope(&f, NULL) <= fit_slope(&v->fit, NULL)))
			continue;
		v->word = TRACK_UNCLEAR;
		v->kind = r->last.kind;
		v->row = i;
		v->fit = f;
	}
	for (unsigned kind = 0; v->word == TRACK_STEADY && kind < REGION_KINDS; kind++) {
		struct fit f = fit_kind(t, kind, 0);

		if (!region_can_leak(kind) ||
		    (!grew_always(&f) && !grew_later(t, kind, &f)))
			continue;
		v->word = TRACK_UNCLEAR;
		v->kind = kind;
		v->fit = f;
	}
	if (v->word != TRACK_UNCLEAR)
		return;
	v->stopped = false;
	v->from = 0;
	v->limit = fit_limit(&v->fit, TRACK_STEP_BYTES);
}

void
track_judge(const struct track *t, struct track_verdict *ret_verdict)
{
	struct track_verdict v = {.word = TRACK_TOO_SHORT, .row = SIZE_MAX};

	if (t->seconds.len >= 3)
		v.word = TRACK_STEADY;
	for (unsigned kind = 0; v.word != TRACK_TOO_SHORT && kind < REGION_KINDS;
	     kind++) {
		if (region_can_leak(kind))
			judge_kind(t, kind, &v);
	}
	if (v.word != TRACK_GROWING) {
		/* What grew at first must not spoil what can be said of the rest. */
		v.from = v.stopped ? t->seconds.len / 2 : 0;
		v.fit = fit_total(t, v.from);
		v.limit = fit_limit(&v.fit, TRACK_STEP_BYTES);
		if (v.limit < v.few)
			v.limit = v.few;
		if (v.word == TRACK_STEADY)
			judge_unclear(t, &v);
	} else {
		v.stopped = false;
		v.row = leading_row(t, v.kind, v.from, fit_slope(&v.fit, NULL));
		if (v.row != SIZE_MAX)
			v.fit = fit_row(t, v.row, v.from);
		for (size_t i = 0; i < t->rows.len; i++)
			v.regions += t->rows.data[i].last.kind == v.kind &&
				     !t->rows.data[i].gone;
	}
	*ret_verdict = v;
}

struct verdict_answer
track_answer(const struct track_verdict *v)
{
	struct verdict_facts f = {.recorded = true,
				  .growth_judged = v->word == TRACK_GROWING ||
						   v->word == TRACK_STEADY,
				  .grows_outside = v->word == TRACK_GROWING};

	return verdict_decide(&f);
}

/* ---- order ---- */

struct order_ctx {
	const double *growth;
	const struct track *t;
};

static uint64_t
last_kib(const struct track *t, size_t row)
{
	return track_kib(&t->rows.data[row].last);
}

static int
compare_growth(const void *a, const void *b, void *ctx)
{
	const struct order_ctx *c = ctx;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (c->growth[x] != c->growth[y])
		return c->growth[x] < c->growth[y] ? 1 : -1;
	return (last_kib(c->t, x) < last_kib(c->t, y)) -
	       (last_kib(c->t, x) > last_kib(c->t, y));
}

size_t *
track_order(const struct track *t)
{
	size_t *order = xcalloc(t->rows.len, sizeof *order);
	double *growth = xcalloc(t->rows.len, sizeof *growth);
	struct order_ctx c = {.growth = growth, .t = t};

	for (size_t i = 0; i < t->rows.len; i++) {
		struct fit f = track_fit_row(t, i);

		order[i] = i;
		growth[i] = fit_slope(&f, NULL);
	}
	if (t->rows.len > 1)
		qsort_r(order, t->rows.len, sizeof *order, compare_growth, &c);
	free(growth);
	return order;
}
