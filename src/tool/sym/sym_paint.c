/* SPDX-License-Identifier: MIT */
/* sym_paint.c -- many ranges, some inside others, made into one sorted row of spans.
 *
 * A sweep over the ranges' beginnings and ends with a heap of those that are open: the
 * shortest is on top. Ends are not removed from the middle of the heap; a range that is
 * over is thrown away when it comes to the top. n log n, whatever a broken file says. */
#include <stdlib.h>

#include "tool/sym/sym_priv.h"

static int
sym_range_compare(const void *pa, const void *pb)
{
	const struct sym_range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Whether a wins over b where both cover an address. */
static bool
sym_range_wins(const struct sym_range *a, const struct sym_range *b)
{
	uint64_t na = a->hi - a->lo, nb = b->hi - b->lo;

	return na != nb ? na < nb : a->id > b->id;
}

static void
sym_heap_push(struct sym_ranges *h, struct sym_range r)
{
	size_t i = h->len, up;

	vec_push(h, r);
	while (i > 0) {
		up = (i - 1) / 2;
		if (!sym_range_wins(&r, &h->data[up]))
			break;
		h->data[i] = h->data[up];
		i = up;
	}
	h->data[i] = r;
}

static void
sym_heap_pop(struct sym_ranges *h)
{
	struct sym_range r = h->data[--h->len];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->len) {
		if (child + 1 < h->len &&
		    sym_range_wins(&h->data[child + 1], &h->data[child]))
			child++;
		if (!sym_range_wins(&h->data[child], &r))
			break;
		h->data[i] = h->data[child];
		i = child;
	}
	if (h->len > 0)
		h->data[i] = r;
}

/* From `at` on `id` holds; joins with what came before. */
static void
sym_span_add(struct sym_spans *spans, uint32_t at, uint32_t id)
{
	struct sym_span *last = spans->len > 0 ? vec_last(spans) : NULL;

	if (last != NULL && last->lo == at) {
		last->id = id;
		if (spans->len > 1 && last[-1].id == id)
			spans->len--;
		return;
	}
	if (last != NULL ? last->id != id : id != SYM_NONE)
		vec_push(spans, (struct sym_span){at, id});
}

/* Lets everything end that ends at or before `to`, telling what comes out from under
 * it. */
static void
sym_sweep(struct sym_ranges *open, uint64_t to, struct sym_spans *ret)
{
	uint64_t at;

	while (open->len > 0 && open->data[0].hi <= to) {
		at = open->data[0].hi;
		/* those that ended unseen, under a shorter one, first */
		while (open->len > 0 && open->data[0].hi <= at)
			sym_heap_pop(open);
		sym_span_add(ret, (uint32_t)at,
			     open->len > 0 ? open->data[0].id : SYM_NONE);
	}
}

void
sym_paint(struct sym_ranges *r, struct sym_spans *ret)
{
	struct sym_ranges open = {0};

	vec_sort(r, sym_range_compare);
	for (size_t i = 0; i < r->len; i++) {
		if (r->data[i].lo >= r->data[i].hi)
			continue;
		sym_sweep(&open, r->data[i].lo, ret);
		sym_heap_push(&open, r->data[i]);
		sym_span_add(ret, (uint32_t)r->data[i].lo, open.data[0].id);
	}
	sym_sweep(&open, UINT64_MAX, ret);
	vec_done(&open);
}

uint32_t
sym_span_find(const struct sym_span *spans, size_t n, uint64_t at)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (spans[mid].lo <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? spans[lo - 1].id : SYM_NONE;
}
