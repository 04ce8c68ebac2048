/* SPDX-License-Identifier: MIT */
/* track.c -- regions over time; see track.h.
 *
 * Rows that are there never overlap, nor do regions of a snapshot, so both sorted by
 * address are gone through side by side. */
#include "tool/analyze/process/track.h"

#include <stdlib.h>
#include <string.h>

#include "tool/util/x.h"

/* ---- finding them again ---- */

/* Found by name; all others by address. */
static bool
is_named(enum region_kind kind)
{
	return kind == REGION_FILE || kind == REGION_SHARED || kind == REGION_SEEP ||
	       kind == REGION_KERNEL || kind == REGION_HEAP || kind == REGION_STACK;
}

struct claims VEC_BODY(size_t);

static int
compare_rows(const void *a, const void *b, void *ctx)
{
	const struct track *t = ctx;
	uint64_t x = t->rows.data[*(const size_t *)a].last.start;
	uint64_t y = t->rows.data[*(const size_t *)b].last.start;

	return (x > y) - (x < y);
}

/* Rows that are found by address, in order of it. */
static void
list_by_address(struct track *t, struct claims *ret_rows)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		if (!t->rows.data[i].gone && !is_named(t->rows.data[i].last.kind))
			vec_push(ret_rows, i);
	}
	if (ret_rows->len > 1)
		qsort_r(ret_rows->data, ret_rows->len, sizeof *ret_rows->data,
			compare_rows, t);
}

static size_t
add_row(struct track *t, size_t snapshots)
{
	struct track_row *row = vec_add(&t->rows);

	for (size_t i = 0; i < snapshots; i++)
		vec_push(&row->kib, 0);
	return t->rows.len - 1;
}

/* Evidence may come late: then all that the row ever had was of that kind. */
static void
change_kind(struct track *t, const struct track_row *row, enum region_kind to)
{
	for (size_t i = 0; i < row->kib.len && i < t->seconds.len; i++) {
		t->kinds[row->last.kind].data[i] -= row->kib.data[i];
		t->kinds[to].data[i] += row->kib.data[i];
	}
}

/* The region is this row's, or one more part of it. */
static void
claim(struct track *t, size_t at, const struct region *r, size_t snapshots)
{
	struct track_row *row = &t->rows.data[at];

	if (row->claimed) {
		struct region *last = &row->last;

		*vec_last(&row->kib) += track_kib(r);
		for (unsigned f = 0; f < MEMMAP_FIGURES; f++)
			last->kib[f] += r->kib[f];
		last->start = r->start < last->start ? r->start : last->start;
		last->end = r->end > last->end ? r->end : last->end;
		last->areas += r->areas;
		return;
	}
	if (row->kib.len > 0 && row->last.kind != r->kind)
		change_kind(t, row, r->kind);
	row->claimed = true;
	row->gone = false;
	row->last = *r;
	row->last.name = strtab_str(&t->strings, strtab_add(&t->strings, r->name));
	while (row->kib.len < snapshots)
		vec_push(&row->kib, 0);
	vec_push(&row->kib, track_kib(r));
}

/* What was `from`'s was always `to`'s. */
static void
absorb(struct track *t, size_t to, size_t from)
{
	struct track_row *a = &t->rows.data[to], *b = &t->rows.data[from];

	if (a->last.kind != b->last.kind)
		change_kind(t, b, a->last.kind);
	for (size_t i = 0; i < b->kib.len && i < a->kib.len; i++)
		a->kib.data[i] += b->kib.data[i];
	b->kib.len = 0;
	b->gone = true;
}

static uint64_t
overlap(const struct region *a, const struct region *b)
{
	uint64_t from = a->start > b->start ? a->start : b->start;
	uint64_t to = a->end < b->end ? a->end : b->end;

	return to > from ? to - from : 0;
}

static size_t
find_named(const struct track *t, const struct region *r)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct track_row *row = &t->rows.data[i];

		if (row->last.kind == r->kind && strcmp(row->last.name, r->name) == 0 &&
		    row->kib.len > 0)
			return i;
	}
	return SIZE_MAX;
}

/* Row of a region that is found by address: where it overlaps most. */
static size_t
find_overlapping(const struct track *t, const struct claims *by_address, size_t from,
		 const struct region *r)
{
	size_t best = SIZE_MAX;
	uint64_t most = 0;

	for (size_t k = from; k < by_address->len; k++) {
		const struct region *old = &t->rows.data[by_address->data[k]].last;
		uint64_t n;

		if (old->start >= r->end)
			break;
		n = overlap(old, r);
		if (n > most) {
			most = n;
			best = by_address->data[k];
		}
	}
	return best;
}

/* A snapshot's regions as they will be claimed: all are looked up before any row
 * moves. */
struct match {
	size_t row;  /* SIZE_MAX = new */
	size_t from; /* first in by_address that may overlap */
};

static void
find_all(const struct track *t, const struct regions *rs, const struct claims *by_address,
	 struct match *matches)
{
	size_t k = 0;

	for (size_t i = 0; i < rs->list.len; i++) {
		const struct region *r = &rs->list.data[i];

		if (is_named(r->kind)) {
			matches[i].row = find_named(t, r);
			continue;
		}
		while (k < by_address->len &&
		       t->rows.data[by_address->data[k]].last.end <= r->start)
			k++;
		matches[i].from = k;
		matches[i].row = find_overlapping(t, by_address, k, r);
	}
}

/* Rows that lie in what another one has become are part of it. `old` are the rows' places
 * of before. */
static void
absorb_all(struct track *t, const struct regions *rs, const struct claims *by_address,
	   const struct region *old, const struct match *matches)
{
	for (size_t i = 0; i < rs->list.len; i++) {
		const struct region *r = &rs->list.data[i];

		if (is_named(r->kind) || matches[i].row == SIZE_MAX)
			continue;
		for (size_t k = matches[i].from; k < by_address->len; k++) {
			size_t row = by_address->data[k];

			if (old[k].start >= r->end)
				break;
			if (!t->rows.data[row].claimed && overlap(&old[k], r) > 0 &&
			    t->rows.data[row].kib.len > 0)
				absorb(t, matches[i].row, row);
		}
	}
}

/* What of the shared memory can only fill up, by the sizes that it has had. */
static void
find_filling(struct track *t, bool first)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		struct track_row *row = &t->rows.data[i];
		uint64_t size = row->last.kib[MEMMAP_SIZE];

		if (!row->claimed || row->last.kind != REGION_SHARED)
			continue;
		if (first) {
			row->fills = true;
			row->size_kib = size;
		} else if (size > row->size_kib) {
			row->fills = false;
		}
	}
}

/* Every second snapshot goes, for all, and rows that are gone. */
static void
thin_out(struct track *t)
{
	size_t n = t->seconds.len / 2, kept = 0;

	for (size_t i = 0; i < n; i++) {
		t->seconds.data[i] = t->seconds.data[2 * i];
		t->total.data[i] = t->total.data[2 * i];
		for (unsigned k = 0; k < REGION_KINDS; k++)
			t->kinds[k].data[i] = t->kinds[k].data[2 * i];
	}
	t->seconds.len = t->total.len = n;
	for (unsigned k = 0; k < REGION_KINDS; k++)
		t->kinds[k].len = n;
	for (size_t r = 0; r < t->rows.len; r++) {
		struct track_row *row = &t->rows.data[r];

		for (size_t i = 0; i < n && 2 * i < row->kib.len; i++)
			row->kib.data[i] = row->kib.data[2 * i];
		row->kib.len = (row->kib.len + 1) / 2 < n ? (row->kib.len + 1) / 2 : n;
		if (row->gone)
			vec_done(&row->kib);
		else
			t->rows.data[kept++] = *row;
	}
	t->rows.len = kept;
}

void
track_add(struct track *t, double seconds, const struct regions *rs)
{
	struct match *matches = xcalloc(rs->list.len, sizeof *matches);
	struct claims by_address = {0};
	struct region *old;
	size_t snapshots;
	uint64_t sum = 0, of_kind[REGION_KINDS] = {0};

	if (t->seconds.len >= TRACK_SNAPSHOTS_MAX)
		thin_out(t);
	snapshots = t->seconds.len;
	list_by_address(t, &by_address);
	find_all(t, rs, &by_address, matches);
	old = xcalloc(by_address.len, sizeof *old);
	for (size_t k = 0; k < by_address.len; k++)
		old[k] = t->rows.data[by_address.data[k]].last;
	for (size_t i = 0; i < t->rows.len; i++)
		t->rows.data[i].claimed = false;
	for (size_t i = 0; i < rs->list.len; i++) {
		if (matches[i].row == SIZE_MAX)
			matches[i].row = add_row(t, snapshots);
		claim(t, matches[i].row, &rs->list.data[i], snapshots);
		sum += track_kib(&rs->list.data[i]);
		of_kind[t->rows.data[matches[i].row].last.kind] +=
			track_kib(&rs->list.data[i]);
	}
	find_filling(t, snapshots == 0);
	absorb_all(t, rs, &by_address, old, matches);
	for (size_t i = 0; i < t->rows.len; i++)
		t->rows.data[i].gone = !t->rows.data[i].claimed;
	vec_push(&t->seconds, seconds);
	vec_push(&t->total, sum);
	for (unsigned k = 0; k < REGION_KINDS; k++)
		vec_push(&t->kinds[k], of_kind[k]);
	vec_done(&by_address);
	free(matches);
	free(old);
}

void
track_done(struct track *t)
{
	for (size_t i = 0; i < t->rows.len; i++)
		vec_done(&t->rows.data[i].kib);
	vec_done(&t->rows);
	vec_done(&t->seconds);
	vec_done(&t->total);
	for (unsigned k = 0; k < REGION_KINDS; k++)
		vec_done(&t->kinds[k]);
	strtab_done(&t->strings);
	*t = (struct track){0};
}
