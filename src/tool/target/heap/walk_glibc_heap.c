/* SPDX-License-Identifier: MIT */
/* walk_glibc_heap.c -- from block to block through every heap of glibc's malloc, 2.26 to
 * 2.43 on 64-bit machines.
 *
 * A block's first word but one is its size; the lowest bit of the next block's size says
 * whether a block is used. Where sizes make no sense, because the process moved on or its
 * data was overwritten, the next place is looked for from where blocks fit each other,
 * and what lies between is a gap. */
#include <stdio.h>

#include "shared/compiler.h"
#include "shared/mem.h"
#include "tool/target/heap/walk_glibc_impl.h"

enum {
	CHAIN = 8, /* blocks that must fit each other before they are believed */
	/* size of what malloc puts where one of its heaps ends and goes on elsewhere */
	FENCE = 16,
};

/* ---- memory ---- */

bool
hb_is_there(struct hb_walk *k, uint64_t addr, uint64_t *ret_bytes)
{
	uint64_t n = 0;
	const unsigned char *p;

	if (addr >= k->seen_start && addr + HW_WORD <= k->seen_end) {
		*ret_bytes = k->seen_end - addr;
		return true;
	}
	p = k->look(k->ctx, addr, HW_WORD, &n);
	*ret_bytes = n > 0 ? n : HW_WORD;
	k->seen_start = k->seen_end = 0; /* it may be gone */
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

	return hb_is_there(k, addr, &n) ? mem_get_u64(k->seen + (addr - k->seen_start))
					: 0;
}

/* ---- blocks ---- */

/* Size of the block at `at`, header included; 0 when none that fits before `end` is
 * there. */
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

uint64_t
hb_resync(struct hb_walk *k, uint64_t at, uint64_t end, uint64_t top)
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

/* The unused block at an arena's end, and what somebody else may have put behind it. */
static void
walk_top(struct hb_walk *k, const struct hb_piece *p)
{
	uint64_t size = hb_word(k, p->top + HW_WORD) & HW_SIZE_MASK;

	if (size > p->end - p->top)
		size = p->end - p->top;
	k->visitor->top(k, p, size);
	if (p->top + size < p->end)
		k->visitor->gap(k, p, p->top + size, p->end);
}

void
hb_walk_piece(struct hb_walk *k, const struct hb_piece *p)
{
	uint64_t at = p->first;

	while (at + 2 * HW_WORD <= p->end && at != p->top) {
		uint64_t size = size_at(k, at, p->end), next;
		bool used;

		if ((hb_word(k, at + HW_WORD) & HW_SIZE_MASK) == FENCE) {
			at += FENCE;
			/* The end of a heap that is full: nothing comes behind it. */
			if (p->arena != 0 &&
			    (hb_word(k, at + HW_WORD) & HW_SIZE_MASK) == 0)
				return;
			continue;
		}
		if (size == 0) {
			next = hb_resync(k, at + 16, p->end, p->top);
			/* Its first word belongs to the block before. */
			k->visitor->gap(k, p, at + HW_WORD, next);
			at = next;
			continue;
		}
		next = at + size;
		used = next + 2 * HW_WORD > p->end ||
		       (hb_word(k, next + HW_WORD) & HW_PREV_INUSE) != 0;
		if (used && hw_cache_of(size) != NULL)
			vec_push(&k->caches, at + 16);
		if (used && at == p->first)
			vec_push(&k->firsts, at + 16);
		k->visitor->block(k, p, at, size, used);
		at = next;
	}
	if (at == p->top)
		walk_top(k, p);
}

/* ---- where the heaps are ---- */

/* malloc's first block: where it says, else from where blocks fit. The kernel's idea of
 * the heap begins with a page, malloc's where the program's own data ends. */
static void
add_main(struct hb_walk *k)
{
	struct hb_piece p = {.start = k->state.heap_start,
			     .first = k->state.heap_start,
			     .end = k->state.heap_end,
			     .top = k->state.arenas.data[0].top};
	uint64_t first;

	/* What is before is the program's own. */
	if (hb_parameters(k, &first))
		p.start = p.first = ALIGN_UP(first, UINT64_C(16));
	vec_push(&k->pieces, p);
}

struct arena_walk {
	struct hb_walk *k;
	unsigned number;
};

static void
on_heap(void *ctx, const struct hw_heap *h)
{
	const struct arena_walk *w = ctx;

	vec_push(&w->k->pieces,
		 (struct hb_piece){.start = h->start,
				   .first = h->first < h->end ? h->first : h->end,
				   .end = h->end,
				   .top = w->k->state.arenas.data[w->number].top,
				   .arena = w->number});
}

bool
hb_begin(struct hb_walk *k, char *why, size_t size)
{
	struct heapmap found = {0};

	k->mapped_expected = -1;
	if (!hw_find_state(k->m, k->map, &k->state, &found)) {
		snprintf(why, size, "%s", found.why);
		return false;
	}
	add_main(k);
	for (unsigned i = 1; i < k->state.arenas.len; i++) {
		struct arena_walk w = {.k = k, .number = i};

		hw_each_heap(k->m, k->map, &k->state, &k->state.arenas.data[i], on_heap,
			     &w);
	}
	vec_sort(&k->pieces, vec_compare_by(struct hb_piece, start));
	return true;
}

void
hb_done(struct hb_walk *k)
{
	vec_done(&k->pieces);
	vec_done(&k->mapped);
	vec_done(&k->caches);
	vec_done(&k->firsts);
	vec_done(&k->cached);
	vec_done(&k->state.arenas);
}
