/* SPDX-License-Identifier: MIT */
/* cell_series.c -- moments, and the series of the cells. See cell_series.h; how a series
 * is laid out is told in shared/recording.h.
 *
 * Nothing here is journaled. A row counts only as far as the stamp of its cell, which is
 * journaled: undone, the cell is as it was, and the row says what is live still. A row is
 * one store, a new piece is filled before the one store that hangs it in front.
 *
 * The table of moments is thinned by clearing every second one: killed in between there
 * are a few more. Rows stay until a series has more pieces than moments can need; then it
 * is made anew without those that no moment asks for, from the newest row back. So are
 * the series of two cells added up when a thread ends. Without room a figure is unknown
 * from there to the next that finds some, which is counted. */
#include "guest/record/cell_series.h"

#include "guest/record/file/space.h"

#include <stddef.h>

enum { PIECES_MAX = REC_MOMENTS_MAX / REC_SERIES_ROWS + 2 };

/* ---- moments ---- */

static struct rec_moment *
table(const struct recorder *r)
{
	return (struct rec_moment *)(void *)(r->base + REC_MOMENTS_OFF);
}

/* Every second one goes, by their order; the first stays, and of an odd number the last
 * one, too. Returns when that was. */
static uint64_t
thin_out(struct recorder *r)
{
	struct rec_moment *m = table(r);
	bool goes = false;
	uint64_t last = 0;

	for (unsigned i = 0; i < ARRAY_LEN(r->moments); i++) {
		uint64_t gone = 0;

		for (uint64_t left = r->moments[i]; left != 0; left &= left - 1) {
			gone |= goes ? left & -left : 0;
			goes = !goes;
		}
		__atomic_fetch_and(&r->moments[i], ~gone, __ATOMIC_RELAXED);
	}
	for (unsigned i = 0; i < REC_MOMENTS_MAX; i++) {
		unsigned number = rec_series_moment(m[i].when);

		if (m[i].when > last)
			last = m[i].when;
		if ((r->moments[number / 64] >> number % 64 & 1) == 0)
			__atomic_store_n(&m[i].when, 0, __ATOMIC_RELAXED);
	}
	return last & ((UINT64_C(1) << REC_SERIES_BITS) - 1);
}

void
moments_take(struct recorder *r, struct thread *t)
{
	struct rec_head *h = r->head;
	uint64_t number =
		rec_stamp_moment(__atomic_load_n(&h->stamp, __ATOMIC_RELAXED)) + 1u;
	struct rec_moment *m = table(r);
	unsigned at = REC_MOMENTS_MAX;

	/* The same number is there already, or one that was to go is still there: whoever
	 * took it, or thinned out, was left by longjmp. */
	for (unsigned i = REC_MOMENTS_MAX; i-- > 0;) {
		unsigned n = rec_series_moment(m[i].when);

		if (m[i].when != 0 && n != number && n <= REC_MOMENT_LAST &&
		    (r->moments[n / 64] >> n % 64 & 1) == 0)
			__atomic_store_n(&m[i].when, 0, __ATOMIC_RELAXED);
		if (m[i].when == 0 && (at == REC_MOMENTS_MAX || m[at].when == 0))
			at = i;
		else if (m[i].when != 0 && rec_series_moment(m[i].when) == number)
			at = i;
	}
	if (at == REC_MOMENTS_MAX) {
		h->moment_every_ms *= 2;
		r->next_moment_ms = thin_out(r) + h->moment_every_ms;
		return;
	}
	if (number > REC_MOMENT_LAST) { /* after 63 doublings */
		r->next_moment_ms = UINT64_MAX;
		return;
	}
	m[at].live_bytes = t->alone ? t->live_bytes
				    : __atomic_load_n(&h->live_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&m[at].when, t->now_ms | number << REC_SERIES_BITS,
			 __ATOMIC_RELEASE);
	__atomic_fetch_or(&r->moments[number / 64], UINT64_C(1) << number % 64,
			  __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->stamp, UINT64_C(1) << REC_STAMP_MOMENT_SHIFT,
			   __ATOMIC_RELAXED);
	r->next_moment_ms = t->now_ms + h->moment_every_ms;
}

/* Is one of the moments (after, upto] still in the table? */
static bool
asked_for(const struct recorder *r, unsigned after, unsigned upto)
{
	for (unsigned i = (after + 1) / 64; i <= upto / 64; i++) {
		uint64_t bits = __atomic_load_n(&r->moments[i], __ATOMIC_RELAXED);

		if (i == (after + 1) / 64)
			bits &= ~UINT64_C(0) << (after + 1) % 64;
		if (i == upto / 64)
			bits &= ~UINT64_C(0) >> (63 - upto % 64);
		if (bits != 0)
			return true;
	}
	return false;
}

/* ---- rows ---- */

static uint64_t
row_of(unsigned moment, int64_t bytes)
{
	return (uint64_t)moment << REC_SERIES_BITS |
	       ((uint64_t)bytes & ((UINT64_C(1) << REC_SERIES_BITS) - 1));
}

static bool
is_row(uint64_t row)
{
	return row << (64 - REC_SERIES_LINK_SHIFT) != 0;
}

/* In place of what is there but for its bits of the link. */
static void
row_set(uint64_t *at, uint64_t row)
{
	uint64_t link = *at >> REC_SERIES_LINK_SHIFT << REC_SERIES_LINK_SHIFT;

	__atomic_store_n(at, link | row, __ATOMIC_RELEASE);
}

static void
link_set(struct rec_series *s, uint32_t ref)
{
	for (unsigned i = 0; i < REC_SERIES_ROWS; i++)
		s->rows[i] |= (uint64_t)(ref >> 4 * i & 15) << REC_SERIES_LINK_SHIFT;
}

/* Goes through a series from its newest row on. */
struct back {
	const struct recorder *r;
	const struct rec_series *s;
	unsigned i;   /* rows of it that are still to come */
	uint64_t row; /* 0 = none left */
};

static void
back_on(struct back *b)
{
	b->row = 0;
	while (b->s != NULL && b->row == 0) {
		while (b->i > 0 && b->row == 0) {
			uint64_t row = b->s->rows[--b->i];

			if (is_row(row))
				b->row = row;
		}
		if (b->row == 0) {
			uint32_t ref = rec_series_before(b->s);

			b->s = ref != 0 ? rec_at(b->r, ref) : NULL;
			b->i = REC_SERIES_ROWS;
		}
	}
}

static struct back
back_from(const struct recorder *r, uint32_t ref)
{
	struct back b = {.r = r,
			 .s = ref > REC_SERIES_LOST ? rec_at(r, ref) : NULL,
			 .i = REC_SERIES_ROWS};

	back_on(&b);
	return b;
}

/* Makes a series from its newest row on. */
struct maker {
	struct recorder *r;
	uint32_t me, newest;
	struct rec_series *s;
	unsigned i; /* rows of it that are free */
	int64_t last;
	bool failed;
};

static void
make_row(struct maker *m, unsigned moment, int64_t bytes)
{
	if (m->failed || (m->s != NULL && bytes == m->last))
		return;
	m->last = bytes;
	if (m->i == 0) {
		struct rec_series *s = space_series(m->r, m->me);

		if (s == NULL) {
			m->failed = true;
			return;
		}
		if (m->s != NULL)
			link_set(m->s, rec_ref(m->r, s));
		else
			m->newest = rec_ref(m->r, s);
		m->s = s;
		m->i = REC_SERIES_ROWS;
	}
	m->s->rows[--m->i] |= row_of(moment, bytes);
}

/* A new series: the sum of two, of which one may be 0, without rows that no moment asks
 * for. Both begin with a row of the same moment. 0: no room. */
static uint32_t
sum_of(struct recorder *r, uint32_t ref_a, uint32_t ref_b, uint32_t me)
{
	struct back a = back_from(r, ref_a), b = back_from(r, ref_b);
	struct maker m = {.r = r, .me = me};
	int64_t in_a = 0, in_b = 0;

	while (a.row != 0 || b.row != 0) {
		unsigned of_a = rec_series_moment(a.row), of_b = rec_series_moment(b.row);
		unsigned moment = of_a > of_b ? of_a : of_b, before;

		if (of_a == moment) {
			in_a = rec_series_bytes(a.row);
			back_on(&a);
		}
		if (of_b == moment) {
			in_b = rec_series_bytes(b.row);
			back_on(&b);
		}
		of_a = rec_series_moment(a.row);
		of_b = rec_series_moment(b.row);
		before = of_a > of_b ? of_a : of_b;
		if (m.s == NULL || asked_for(r, before, moment))
			make_row(&m, moment,
				 in_a == REC_SERIES_UNKNOWN || in_b == REC_SERIES_UNKNOWN
					 ? REC_SERIES_UNKNOWN
					 : in_a + in_b);
	}
	if (!m.failed)
		return m.newest;
	space_series_free(r, m.newest, me);
	return 0;
}

/* ---- the series of a cell ---- */

static unsigned
pieces(const struct recorder *r, uint32_t ref)
{
	unsigned n = 0;

	for (; ref > REC_SERIES_LOST; n++)
		ref = rec_series_before((const struct rec_series *)rec_at(r, ref));
	return n;
}

/* A new piece in front, with one row or two. */
static bool
add_piece(struct recorder *r, struct rec_cell *c, uint64_t first, uint64_t second,
	  uint32_t me)
{
	struct rec_series *s = space_series(r, me);
	uint32_t old = c->series, fewer;

	if (s == NULL)
		return false;
	s->rows[0] = first != 0 ? first : second;
	s->rows[1] = first != 0 ? second : 0;
	link_set(s, old > REC_SERIES_LOST ? old : 0);
	__atomic_store_n(&c->series, rec_ref(r, s), __ATOMIC_RELEASE);
	if (pieces(r, c->series) <= PIECES_MAX)
		return true;
	old = c->series;
	fewer = sum_of(r, old, 0, me);
	if (fewer != 0) {
		__atomic_store_n(&c->series, fewer, __ATOMIC_RELEASE);
		space_series_free(r, old, me);
	}
	return true;
}

/* The first row: before it nothing was live, or that is not known. */
static bool
begin(struct recorder *r, struct rec_cell *c, uint64_t row, uint32_t me)
{
	unsigned since = rec_stamp_moment(c->stamp);
	uint64_t first = 0;

	if (c->series == REC_SERIES_LOST)
		first = row_of(since, REC_SERIES_UNKNOWN);
	else
		first = row_of(since, 0);
	if (since == 0)
		first = 0;
	if (add_piece(r, c, first, row, me))
		return true;
	c->series = REC_SERIES_LOST;
	return false;
}

COLD void
series_note(struct recorder *r, struct rec_cell *c, uint64_t stamp, uint32_t me)
{
	int64_t live = (int64_t)(c->alloc_bytes - c->free_bytes);
	uint64_t row = row_of(rec_stamp_moment(stamp), live), *last;
	struct rec_series *s;
	unsigned i = REC_SERIES_ROWS;

	if (c->series <= REC_SERIES_LOST) {
		if ((live != 0 || c->series != 0) && !begin(r, c, row, me))
			rec_lost(r, REC_LOST_MOMENT);
		return;
	}
	s = rec_at(r, c->series);
	while (i > 1 && !is_row(s->rows[i - 1]))
		i--;
	last = &s->rows[i - 1];
	if (rec_series_bytes(*last) == live) {
		row_set(last, row);
	} else if (i < REC_SERIES_ROWS) {
		row_set(last + 1, row);
	} else if (!add_piece(r, c, row, 0, me)) {
		row_set(last, row_of(rec_stamp_moment(stamp), REC_SERIES_UNKNOWN));
		rec_lost(r, REC_LOST_MOMENT);
	}
}

static void
bring_to(struct recorder *r, struct rec_cell *c, uint64_t stamp, uint32_t me)
{
	if (((c->stamp ^ stamp) & REC_STAMP_MOMENT) != 0)
		series_note(r, c, stamp, me);
}

uint32_t
series_fold(struct recorder *r, struct rec_cell *old, struct rec_cell *c, uint64_t now,
	    uint32_t me)
{
	uint32_t both = 0;

	bring_to(r, c, now, me);
	if (old == NULL)
		return c->series;
	bring_to(r, old, now, me);
	if (old->series == 0)
		return c->series;
	if (c->series == 0)
		return old->series;
	if (old->series != REC_SERIES_LOST && c->series != REC_SERIES_LOST)
		both = sum_of(r, old->series, c->series, me);
	if (both != 0)
		return both;
	rec_lost(r, REC_LOST_MOMENT);
	return REC_SERIES_LOST;
}
