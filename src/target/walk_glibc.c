/* SPDX-License-Identifier: MIT */
/* walk_glibc.c -- from block to block through every heap of glibc's malloc, 2.26 to 2.43 on 64-bit machines.
 *
 * Heaps are gone through in the order of their addresses. The lowest bit of the next block's size says
 * whether a block is used; the blocks that this calls used and that are kept for reuse all the same are
 * found afterwards, in the caches of threads and the fast bins of arenas, and taken out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "target/walk_glibc_impl.h"
#include "util/x.h"

enum {
	CHAIN = 8, /* blocks that must fit each other before they are believed */
	FENCE = 16, /* size of what malloc puts where one of its heaps ends and goes on elsewhere */
	PAGE = 4096,
};

/* ---- memory ---- */

static bool
see(struct hb_walk *k, uint64_t addr, uint64_t *ret_bytes)
{
	uint64_t n = 0;
	const unsigned char *p;

	if (addr >= k->seen_start && addr + HW_WORD <= k->seen_end) {
		*ret_bytes = k->seen_end - addr;
		return true;
	}
	p = k->look(k->ctx, addr, HW_WORD, &n);
	*ret_bytes = n > 0 ? n : HW_WORD;
	if (p == NULL || n < HW_WORD)
		return false;
	k->seen = p;
	k->seen_start = addr;
	k->seen_end = addr + n;
	return true;
}

uint64_t
hb_word(struct hb_walk *k, uint64_t addr)
{
	uint64_t n;

	return see(k, addr, &n) ? mem_get_u64(k->seen + (addr - k->seen_start)) : 0;
}

bool
hb_is_there(struct hb_walk *k, uint64_t addr, uint64_t *ret_bytes)
{
	return see(k, addr, ret_bytes);
}

bool
hb_is_block(struct hb_walk *k, uint64_t addr, uint64_t size)
{
	return IS_ALIGNED(addr, 16) && addr > 16 && hw_is_heap_address(k->map, addr) &&
	       (hb_word(k, addr - HW_WORD) & HW_SIZE_MASK) == size;
}

/* Size of the block at `at`, header included; 0 when none that fits before `end` is there. */
static uint64_t
size_at(struct hb_walk *k, uint64_t at, uint64_t end)
{
	uint64_t size = hb_word(k, at + HW_WORD) & HW_SIZE_MASK;

	if (size < HW_CHUNK_LEAST || !IS_ALIGNED(size, 16) || size > end - at)
		return 0;
	return size;
}

/* Whether blocks that fit each other begin at `at`, up to `end` or `top`. */
static bool
is_chain(struct hb_walk *k, uint64_t at, uint64_t end, uint64_t top)
{
	uint64_t before = 0;

	for (unsigned n = 0; n < CHAIN; n++) {
		uint64_t size;

		if (at == top || at >= end)
			return n > 0;
		size = size_at(k, at, end);
		if (size == 0)
			return false;
		/* A free block's size stands at its end too. */
		if (n > 0 && (hb_word(k, at + HW_WORD) & HW_PREV_INUSE) == 0 &&
		    hb_word(k, at) != before)
			return false;
		before = size;
		at += size;
	}
	return true;
}

/* The next place at or behind `at` from where blocks fit; `end` when there is none. */
static uint64_t
resync(struct hb_walk *k, uint64_t at, uint64_t end, uint64_t top)
{
	at = ALIGN_UP(at, UINT64_C(16));
	while (at + HW_CHUNK_LEAST <= end) {
		uint64_t n;

		if (!hb_is_there(k, at, &n)) {
			at = ALIGN_UP(at + n, UINT64_C(16));
			continue;
		}
		if (at == top || is_chain(k, at, end, top))
			return at;
		at += 16;
	}
	return end;
}

/* ---- one heap ---- */

static void
add_gap(struct hb_walk *k, struct heapblocks_arena *a, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	a->gap_bytes += end - start;
	vec_push(&k->to->gaps, (struct heapblocks_range){start, end});
}

static void
add_block(struct hb_walk *k, const struct hb_piece *p, uint64_t at, uint64_t size,
	  bool used)
{
	struct heapblocks_arena *a = &k->to->arenas.data[p->arena];

	if (!used) {
		a->free_bytes += size;
		a->free_blocks++;
		if (size > a->largest_free)
			a->largest_free = size;
		return;
	}
	a->used_bytes += size;
	a->used_blocks++;
	/* Its last word lies in the next block's header, which a used block may write to. */
	vec_push(&k->to->blocks, (struct heapblock){.addr = at + 16,
						    .bytes = size - HW_WORD,
						    .arena = p->arena});
	if (hw_cache_of(size) != NULL)
		vec_push(&k->caches, at + 16);
	if (at == p->first)
		vec_push(&k->firsts, at + 16);
}

/* The unused block at an arena's end, and what somebody else may have put behind it. */
static void
add_top(struct hb_walk *k, const struct hb_piece *p)
{
	struct heapblocks_arena *a = &k->to->arenas.data[p->arena];
	uint64_t size = hb_word(k, p->top + HW_WORD) & HW_SIZE_MASK;

	if (size > p->end - p->top)
		size = p->end - p->top;
	a->top_bytes += size;
	add_gap(k, a, p->top + size, p->end);
}

static void
walk_piece(struct hb_walk *k, const struct hb_piece *p)
{
	struct heapblocks_arena *a = &k->to->arenas.data[p->arena];
	uint64_t at = p->first;

	while (at + 2 * HW_WORD <= p->end && at != p->top) {
		uint64_t size = size_at(k, at, p->end), next;

		if ((hb_word(k, at + HW_WORD) & HW_SIZE_MASK) == FENCE) {
			at += FENCE;
			/* The end of a heap that is full: nothing comes behind it. */
			if (p->arena != 0 &&
			    (hb_word(k, at + HW_WORD) & HW_SIZE_MASK) == 0)
				return;
			continue;
		}
		if (size == 0) {
			next = resync(k, at + 16, p->end, p->top);
			/* Its first word belongs to the block before. */
			add_gap(k, a, at + HW_WORD, next);
			at = next;
			continue;
		}
		next = at + size;
		add_block(k, p, at, size,
			  next + 2 * HW_WORD > p->end ||
				  (hb_word(k, next + HW_WORD) & HW_PREV_INUSE) != 0);
		at = next;
	}
	if (at == p->top)
		add_top(k, p);
}

/* ---- where the heaps are ---- */

/* malloc's first block: where it says, else from where blocks fit. The kernel's idea of the heap
 * begins with a page, malloc's where the program's own data ends. */
static void
add_main(struct hb_walk *k)
{
	struct hb_piece p = {.start = k->state.heap_start,
			     .first = k->state.heap_start,
			     .end = k->state.heap_end,
			     .top = k->state.arenas.data[0].top};
	uint64_t first;

	/* What is before is the program's own. */
	if (hb_parameters(k, &first, &k->to->mapped_expected))
		p.start = p.first = ALIGN_UP(first, UINT64_C(16));
	vec_push(&k->pieces, p);
	k->to->arenas.data[0].heaps = 1;
}

struct arena_walk {
	struct hb_walk *k;
	unsigned number;
};

static void
on_heap(void *ctx, const struct hw_heap *h)
{
	const struct arena_walk *w = ctx;

	if (h->first < h->end)
		vec_push(&w->k->pieces,
			 (struct hb_piece){.start = h->start,
					   .first = h->first,
					   .end = h->end,
					   .top = w->k->state.arenas.data[w->number].top,
					   .arena = w->number});
	w->k->to->arenas.data[w->number].heaps++;
}

static void
add_arena(struct hb_walk *k, unsigned number)
{
	struct arena_walk w = {.k = k, .number = number};

	hw_each_heap(k->m, k->map, &k->state, &k->state.arenas.data[number], on_heap, &w);
}

static int
compare_pieces(const void *a, const void *b)
{
	const struct hb_piece *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* ---- what is used ---- */

static int
compare_blocks(const void *a, const void *b)
{
	const struct heapblock *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int
compare_words(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Takes out what is freed and kept, and the caches themselves, which are malloc's own. */
static void
take_out(struct hb_walk *k)
{
	struct heapblocks *h = k->to;
	size_t kept = 0, c = 0, own = 0;

	vec_sort(&k->cached, compare_words);
	vec_sort(&k->caches, compare_words);
	for (size_t i = 0; i < h->blocks.len; i++) {
		struct heapblock b = h->blocks.data[i];

		while (c < k->cached.len && k->cached.data[c] < b.addr)
			c++;
		while (own < k->caches.len && k->caches.data[own] < b.addr)
			own++;
		if (own < k->caches.len && k->caches.data[own] == b.addr)
			continue;
		if (c < k->cached.len && k->cached.data[c] == b.addr) {
			if (b.arena != HEAPBLOCKS_MAPPED) {
				struct heapblocks_arena *a = &h->arenas.data[b.arena];

				a->cached_bytes += b.bytes + HW_WORD;
				a->cached_blocks++;
				a->used_bytes -= b.bytes + HW_WORD;
				a->used_blocks--;
			}
			continue;
		}
		h->blocks.data[kept++] = b;
	}
	h->blocks.len = kept;
	h->caches = (unsigned)k->caches.len;
}

static void
walk(struct hb_walk *k)
{
	struct heapblocks *h = k->to;
	uint64_t system = k->state.bins_off + HW_NEXT_ABOVE + 3 * HW_WORD;

	for (unsigned i = 0; i < k->state.arenas.len; i++) {
		struct heapblocks_arena *a = vec_add(&h->arenas);

		a->system_bytes = hw_peek(k->m, k->state.arenas.data[i].state + system);
	}
	add_main(k);
	for (unsigned i = 1; i < k->state.arenas.len; i++)
		add_arena(k, i);
	vec_sort(&k->pieces, compare_pieces);
	for (size_t i = 0; i < k->pieces.len; i++) {
		const struct hb_piece *p = &k->pieces.data[i];

		vec_push(&h->heaps, (struct heapblocks_range){p->start, p->end});
		walk_piece(k, p);
	}
	hb_find_mapped(k);
	hb_find_cached(k);
	vec_sort(&h->blocks, compare_blocks);
	take_out(k);
}

void
walk_glibc(const struct walker_memory *m, struct heapblocks *to)
{
	struct hb_walk k = {
		.m = m->mem, .map = m->map, .look = m->look, .ctx = m->ctx, .to = to};
	struct heapmap why = {0};
	uint64_t state;

	if (!hw_find_state(m->mem, m->map, &k.state, &why)) {
		snprintf(to->why, sizeof to->why, "%s", why.why);
		return;
	}
	vec_push(&to->owners, (struct heapblocks_owner){.name = "glibc's malloc"});
	walk(&k);
	/* The main arena's lists are outside of its heap. */
	state = k.state.arenas.data[0].state;
	vec_push(&to->heaps, (struct heapblocks_range){state, state + k.state.bins_off +
								      HW_STATE_ABOVE});
	vec_done(&k.pieces);
	vec_done(&k.caches);
	vec_done(&k.cached);
	vec_done(&k.firsts);
	vec_done(&k.state.arenas);
}
