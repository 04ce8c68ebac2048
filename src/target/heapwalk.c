/* SPDX-License-Identifier: MIT */
/* heapwalk.c -- from block to block through malloc's heaps; see heapwalk.h.
 *
 * A block's first word but one is its size; the next block's lowest bit there says whether it
 * is used. A heap is read in windows of 1 MiB. Where sizes make no sense, because the process
 * moved on or its data was overwritten, the next place is looked for from where a chain of
 * blocks fits, and what lies between is unknown. */
#include "target/heapwalk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "target/heapwalk_impl.h"
#include "util/x.h"

enum {
	CHAIN = 8,     /* blocks that must fit each other before they are believed */
	CHAIN_FEW = 3, /* near the end there are no more */
	TCACHE_COUNT_MOST = 127,
	CHUNK_LEAST_MAPPED = 64 << 10, /* in the middle of a mapping, smaller is chance */
	/* Pages without a block, after which a mapping is not looked through any further; and in a walk for
	 * ranges only, also in all mappings together */
	MAPPED_PAGES_MISSED = 1 << 18,
	RANGES_PAGES_MISSED = 512,
	RANGES_PAGES_MISSED_IN_ALL = 2048,
};

/* ---- window ---- */

uint64_t
hw_word(struct hw_window *w, uint64_t addr)
{
	uint64_t word;

	if (addr + HW_WORD > w->limit)
		return 0;
	if (addr < w->start || addr + HW_WORD > w->end) {
		uint64_t bytes = w->limit - addr;

		if (w->fixed)
			return 0;
		if (bytes > HW_WINDOW_BYTES)
			bytes = HW_WINDOW_BYTES;
		procmem_copy(w->m, addr, w->data, (size_t)bytes);
		w->start = addr;
		w->end = addr + bytes;
	}
	memcpy(&word, w->data + (addr - w->start), sizeof word);
	return word;
}

/* Size of the block at `at`, or 0 when there is none that fits before `end`. */
static uint64_t
chunk_size(struct hw_window *w, uint64_t at, uint64_t end)
{
	uint64_t size = hw_word(w, at + HW_WORD) & HW_SIZE_MASK;

	if (size < HW_CHUNK_LEAST || !IS_ALIGNED(size, 16) || size > end - at)
		return 0;
	return size;
}

bool
hw_chain(struct hw_window *w, uint64_t at, uint64_t end, unsigned least)
{
	uint64_t before = 0;

	for (unsigned n = 0; n < least; n++) {
		uint64_t size;

		if (at >= end || at + 2 * HW_WORD > w->end)
			return n >= CHAIN_FEW;
		size = chunk_size(w, at, end);
		if (size == 0)
			return false;
		/* A free block's size stands at its end too. */
		if (n > 0 && (hw_word(w, at + HW_WORD) & HW_PREV_INUSE) == 0 &&
		    hw_word(w, at) != before)
			return false;
		before = size;
		at += size;
	}
	return true;
}

/* ---- residency ---- */

struct hw_walk {
	const struct procmem *m;
	const struct memmap *map;
	struct hw_window w;
	struct heapmap *heap;
	uint8_t *present; /* of the range that is walked, page by page */
	uint64_t present_start;
	uint64_t left_bytes; /* that may still be gone through */
	bool ranges_only;
	unsigned missed; /* pages of mappings that have no block */
	const struct heapwalk_opts *o;
};

static void
tell(const struct hw_walk *k, uint64_t at, uint64_t size)
{
	if (k->o->used != NULL)
		k->o->used(k->o->ctx, at + 2 * HW_WORD, size);
}

/* Resident bytes of [start, end), which lies in the range that is walked. */
static uint64_t
resident(const struct hw_walk *k, uint64_t start, uint64_t end)
{
	uint64_t page = k->m->page_bytes, sum = 0;
	uint64_t first = (start - k->present_start) / page;

	while (start < end) {
		uint64_t next = ALIGN_DOWN(start, page) + page;

		if (next > end)
			next = end;
		if (k->present[first++] != 0)
			sum += next - start;
		start = next;
	}
	return sum;
}

static uint64_t
take_present(struct hw_walk *k, uint64_t start, uint64_t end)
{
	size_t pages = (size_t)((end - start) / k->m->page_bytes) + 1;

	free(k->present);
	k->present = xmalloc(pages);
	k->present_start = ALIGN_DOWN(start, k->m->page_bytes);
	procmem_present(k->m, k->present_start, pages, k->present);
	return resident(k, start, end);
}

/* ---- what threads keep ---- */

/* The block behind the one at `at` in a list; links are masked with their address since 2.32. */
static uint64_t
next_of(const struct hw_walk *k, uint64_t at)
{
	uint64_t link = hw_peek(k->m, at), masked = link ^ at >> 12;

	return masked == 0 || hw_is_heap_address(k->map, masked) ? masked : link;
}

/* Bytes of a list of freed blocks, each of which begins behind its header. */
static uint64_t
list_bytes(const struct hw_walk *k, uint64_t at)
{
	uint64_t sum = 0;

	for (unsigned n = 0; at != 0 && n < HW_LIST_MOST && IS_ALIGNED(at, 16) &&
			     hw_is_heap_address(k->map, at);
	     n++) {
		sum += hw_peek(k->m, at - HW_WORD) & HW_SIZE_MASK;
		at = next_of(k, at);
	}
	return sum;
}

/* If the block's bytes are a thread's cache, adds what is in it. */
static void
look_for_cache(struct hw_walk *k, uint64_t at, const struct hw_cache *c)
{
	uint64_t heads = at + 16 + (uint64_t)c->bins * c->count_bytes, sum = 0;

	for (unsigned i = 0; i < c->bins; i++) {
		unsigned per_word = 8 / c->count_bytes, bits = 8 * c->count_bytes;
		uint64_t word = hw_word(&k->w, at + 16 + (uint64_t)(i / per_word) * 8);
		uint64_t count =
			word >> (i % per_word) * bits & ((UINT64_C(1) << bits) - 1);
		uint64_t head = hw_word(&k->w, heads + (uint64_t)i * 8);

		if (count > TCACHE_COUNT_MOST ||
		    (!c->room && (count == 0) != (head == 0)) ||
		    (head != 0 &&
		     (!IS_ALIGNED(head, 16) || !hw_is_heap_address(k->map, head))))
			return;
		sum += c->room ? list_bytes(k, head)
			       : count * (HW_CHUNK_LEAST + 16 * (uint64_t)i);
	}
	k->heap->cached_bytes += sum;
}

/* Small freed blocks that an arena keeps apart. Links lead from header to header. */
static void
add_fastbins(struct hw_walk *k, const struct hw_state *s, const struct hw_arena *a)
{
	uint64_t lists = hw_fastbins(s, a);

	for (unsigned i = 0; lists != 0 && i < HW_FASTBINS; i++) {
		uint64_t at = hw_peek(k->m, lists + (uint64_t)i * HW_WORD);

		for (unsigned n = 0; at != 0 && n < HW_LIST_MOST; n++) {
			if (!IS_ALIGNED(at, 16) || !hw_is_heap_address(k->map, at))
				break;
			k->heap->cached_bytes += HW_CHUNK_LEAST + 16 * (uint64_t)i;
			at = next_of(k, at + 16);
		}
	}
}

/* ---- blocks ---- */

/* The next place at or behind `at` where blocks fit each other; `end` when there is none. */
static uint64_t
resync(struct hw_walk *k, uint64_t at, uint64_t end)
{
	uint64_t page = k->m->page_bytes;

	for (at = ALIGN_UP(at, UINT64_C(16)); at + HW_CHUNK_LEAST <= end; at += 16) {
		if (k->present[(at - k->present_start) / page] == 0) {
			at = ALIGN_DOWN(at, page) + page - 16;
			continue;
		}
		/* Loaded anew before its end comes near, else no chain would fit in it. */
		if (at + 4096 > k->w.end && k->w.end < k->w.limit)
			k->w.end = k->w.start;
		hw_word(&k->w, at);
		if (hw_chain(&k->w, at, end, CHAIN))
			return at;
	}
	return end;
}

/* The unused block at an arena's end, and what somebody else may have put behind it. */
static void
take_top(struct hw_walk *k, uint64_t top, uint64_t end, struct heapmap_range *r)
{
	uint64_t size = hw_word(&k->w, top + HW_WORD) & HW_SIZE_MASK;

	if (size > end - top)
		size = 0;
	r->free_bytes += resident(k, top, top + size);
	r->unknown_bytes += resident(k, top + size, end);
}

/* Goes through [start, end), where `top` is the unused block at the end, if it is in there. */
static void
walk_blocks(struct hw_walk *k, uint64_t start, uint64_t end, uint64_t top,
	    struct heapmap_range *r)
{
	uint64_t at = start, at_before, before = 0, before_bytes = 0;

	k->w.limit = end;
	k->w.start = k->w.end = 0;
	while (at < end) {
		const struct hw_cache *cache;
		uint64_t size, bytes;
		bool prev_used;

		at_before = at; /* where the block before this one ends */
		if (at == top) {
			take_top(k, at, end, r);
			at = end;
		}
		size = at < end ? chunk_size(&k->w, at, end) : 0;
		prev_used =
			at >= end || (hw_word(&k->w, at + HW_WORD) & HW_PREV_INUSE) != 0;
		if (before != 0 && (size != 0 || at == end)) {
			*(prev_used ? &r->used_bytes : &r->free_bytes) += before_bytes;
			r->blocks += prev_used;
			if (prev_used)
				tell(k, before, at_before - before);
		} else if (before != 0) {
			r->unknown_bytes += before_bytes;
		}
		before = 0;
		if (at >= end)
			break;
		if (size == 0) {
			uint64_t next = resync(k, at + 16, end);

			r->unknown_bytes += resident(k, at, next);
			at = next;
			continue;
		}
		cache = hw_cache_of(size);
		if (cache != NULL)
			look_for_cache(k, at, cache);
		bytes = resident(k, at, at + size);
		before = at;
		before_bytes = bytes;
		at += size;
	}
}

/* One heap: its bytes up to `first` are malloc's own. */
static void
add_heap(struct hw_walk *k, struct heapmap_range r, uint64_t first, uint64_t top)
{
	uint64_t bytes = k->ranges_only ? 0 : take_present(k, r.start, r.end);

	if (k->ranges_only || bytes > k->left_bytes || first >= r.end) {
		r.unknown_bytes = bytes;
	} else {
		k->left_bytes -= bytes;
		r.used_bytes = resident(k, r.start, first);
		walk_blocks(k, first, r.end, top, &r);
	}
	vec_push(&k->heap->ranges, r);
}

static void
add_main(struct hw_walk *k, const struct hw_state *s)
{
	struct heapmap_range r = {
		.kind = HEAPMAP_MAIN, .start = s->heap_start, .end = s->heap_end};

	add_heap(k, r, s->heap_start, s->arenas.data[0].top);
}

struct arena_walk {
	struct hw_walk *k;
	unsigned number;
	uint64_t top;
};

static void
on_heap(void *ctx, const struct hw_heap *h)
{
	const struct arena_walk *w = ctx;
	struct heapmap_range r = {.kind = HEAPMAP_ARENA,
				  .arena = w->number,
				  .start = h->start,
				  .end = h->end};

	add_heap(w->k, r, h->first, w->top);
}

static void
add_arena(struct hw_walk *k, const struct hw_state *s, unsigned number)
{
	struct arena_walk w = {
		.k = k, .number = number, .top = s->arenas.data[number].top};

	hw_each_heap(k->m, k->map, s, &s->arenas.data[number], on_heap, &w);
}

/* ---- blocks with mappings of their own ---- */

static bool
is_in_range(const struct heapmap *h, uint64_t addr)
{
	for (size_t i = 0; i < h->ranges.len; i++) {
		if (addr >= h->ranges.data[i].start && addr < h->ranges.data[i].end)
			return true;
	}
	return false;
}

/* Size of the mapped block that begins at the page `at`, or 0. */
static uint64_t
mapped_size(struct hw_walk *k, uint64_t at, uint64_t end, bool first)
{
	uint64_t head[2], size;
	uint8_t present = 1;

	if (k->ranges_only)
		procmem_present(k->m, at, 1, &present);
	else
		present = k->present[(at - k->present_start) / k->m->page_bytes];
	if (present == 0 || procmem_read(k->m, at, head, sizeof head) < 0)
		return 0;
	size = head[1] & HW_SIZE_MASK;
	if ((head[1] & 7) != HW_MMAPPED || head[0] != 0 ||
	    !IS_ALIGNED(size, k->m->page_bytes) || size == 0 || size > end - at ||
	    (!first && size < CHUNK_LEAST_MAPPED))
		return 0;
	return size;
}

static void
add_mapped(struct hw_walk *k, const struct memmap_area *a)
{
	unsigned missed = 0, most = MAPPED_PAGES_MISSED;

	if (k->ranges_only) {
		most = RANGES_PAGES_MISSED_IN_ALL - k->missed;
		most = most < RANGES_PAGES_MISSED ? most : RANGES_PAGES_MISSED;
		most = most > 0 ? most : 1;
	}

	if (!k->ranges_only)
		take_present(k, a->start, a->end);
	for (uint64_t at = a->start; at < a->end && missed < most;) {
		uint64_t size = mapped_size(k, at, a->end, at == a->start);
		struct heapmap_range *r;

		if (size == 0) {
			at += k->m->page_bytes;
			missed++;
			continue;
		}
		/* Neighbours become one row: there may be thousands of them. */
		r = k->heap->ranges.len > 0 ? vec_last(&k->heap->ranges) : NULL;
		if (r == NULL || r->kind != HEAPMAP_CHUNK || r->end != at) {
			r = vec_add(&k->heap->ranges);
			r->kind = HEAPMAP_CHUNK;
			r->start = r->end = at;
		}
		r->end += size;
		r->used_bytes += k->ranges_only ? 0 : resident(k, at, at + size);
		r->blocks++;
		tell(k, at, size);
		at += size;
	}
	if (k->missed < RANGES_PAGES_MISSED_IN_ALL)
		k->missed += missed < RANGES_PAGES_MISSED ? missed : RANGES_PAGES_MISSED;
	if (k->missed > RANGES_PAGES_MISSED_IN_ALL)
		k->missed = RANGES_PAGES_MISSED_IN_ALL;
}

static void
add_all_mapped(struct hw_walk *k)
{
	for (size_t i = 0; i < k->map->areas.len; i++) {
		const struct memmap_area *a = &k->map->areas.data[i];

		if (a->perms[0] != 'r' || a->perms[1] != 'w' || a->perms[3] == 's' ||
		    a->inode != 0 || strcmp(a->name, "[heap]") == 0 ||
		    (a->name[0] != '\0' && strncmp(a->name, "[anon:", 6) != 0) ||
		    a->kib[MEMMAP_RSS] == 0 || is_in_range(k->heap, a->start))
			continue;
		add_mapped(k, a);
	}
}

/* ---- all of it ---- */

static int
compare_ranges(const void *a, const void *b)
{
	const struct heapmap_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void
heapwalk(const struct procmem *m, const struct memmap *map, const struct heapwalk_opts *o,
	 struct heapmap *ret_heap)
{
	struct hw_walk k = {.m = m,
			    .map = map,
			    .heap = ret_heap,
			    .ranges_only = o->ranges_only,
			    .o = o,
			    .left_bytes = o->max_bytes > 0 ? o->max_bytes : UINT64_MAX};
	struct hw_state s = {0};

	*ret_heap = (struct heapmap){0};
	if (!hw_find_state(m, map, &s, ret_heap))
		return;
	k.w.m = m;
	k.w.data = xmalloc(HW_WINDOW_BYTES);
	ret_heap->known = true;
	ret_heap->arenas = (unsigned)s.arenas.len;
	add_main(&k, &s);
	for (unsigned i = 1; i < s.arenas.len; i++)
		add_arena(&k, &s, i);
	for (unsigned i = 0; !o->ranges_only && i < s.arenas.len; i++)
		add_fastbins(&k, &s, &s.arenas.data[i]);
	add_all_mapped(&k);
	vec_sort(&ret_heap->ranges, compare_ranges);
	free(k.w.data);
	free(k.present);
	vec_done(&s.arenas);
}

size_t
heapwalk_blocks(const void *data, size_t bytes, uint64_t addr, heapwalk_visitor *each,
		void *ctx)
{
	struct hw_window w = {.start = addr,
			      .end = addr + bytes,
			      .limit = addr + bytes,
			      .data = (unsigned char *)(uintptr_t)data,
			      .fixed = true};
	uint64_t end = addr + bytes, at = ALIGN_UP(addr, UINT64_C(16));
	size_t blocks = 0;

	while (at + HW_CHUNK_LEAST <= end) {
		uint64_t size;

		if (!hw_chain(&w, at, end, CHAIN)) {
			at += 16;
			continue;
		}
		while ((size = chunk_size(&w, at, end)) != 0 && at + size + 16 <= end) {
			bool used =
				(hw_word(&w, at + size + HW_WORD) & HW_PREV_INUSE) != 0;

			each(ctx, (size_t)(at - addr) + 16, (size_t)size - 8, used);
			blocks++;
			at += size;
		}
		at += 16;
	}
	return blocks;
}
