/* SPDX-License-Identifier: MIT */
/* walk_glibc.c -- every block of glibc's malloc; see walk_glibc_heap.c for the way
 * through its heaps.
 *
 * Blocks that look used and are kept for reuse all the same are found afterwards, in the
 * caches of threads and the fast bins of arenas, and taken out. */
#include <stdio.h>

#include "tool/target/heap/walk_glibc_impl.h"

static struct heapblocks_arena *
arena_of(struct hb_walk *k, const struct hb_piece *p)
{
	struct heapblocks *h = k->to;

	return &h->arenas.data[p->arena];
}

static void
on_block(struct hb_walk *k, const struct hb_piece *p, uint64_t at, uint64_t size,
	 bool used)
{
	struct heapblocks_arena *a = arena_of(k, p);
	struct heapblocks *h = k->to;

	if (!used) {
		a->free_bytes += size;
		a->free_blocks++;
		if (size > a->largest_free)
			a->largest_free = size;
		return;
	}
	a->used_bytes += size;
	a->used_blocks++;
	/* Its last word lies in the next block's header, which a used block may write
	 * to. */
	vec_push(&h->blocks, (struct heapblock){.addr = at + 16,
						.bytes = size - HW_WORD,
						.arena = p->arena});
}

static void
on_top(struct hb_walk *k, const struct hb_piece *p, uint64_t size)
{
	arena_of(k, p)->top_bytes += size;
}

static void
on_gap(struct hb_walk *k, const struct hb_piece *p, uint64_t start, uint64_t end)
{
	struct heapblocks *h = k->to;

	if (start >= end)
		return;
	arena_of(k, p)->gap_bytes += end - start;
	vec_push(&h->gaps, (struct heapblocks_range){start, end});
}

/* ---- what is used ---- */

/* Takes out what is freed and kept, and the caches themselves, which are malloc's own. */
static void
take_out(struct hb_walk *k)
{
	struct heapblocks *h = k->to;
	size_t kept = 0, c = 0, own = 0;

	vec_sort(&k->cached, vec_compare_u64);
	vec_sort(&k->caches, vec_compare_u64);
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
add_mapped(struct hb_walk *k)
{
	struct heapblocks *h = k->to;
	uint64_t found_bytes = 0;

	hb_find_mapped(k, NULL);
	h->mapped_expected = k->mapped_expected;
	for (size_t i = 0; i < k->mapped.len; i++) {
		const struct hb_mapped *b = &k->mapped.data[i];

		vec_push(&h->blocks, (struct heapblock){.addr = b->addr,
							.bytes = b->bytes,
							.arena = HEAPBLOCKS_MAPPED});
		h->mapped_blocks++;
		h->mapped_bytes += b->bytes;
		found_bytes += b->end - b->start;
	}
	if (k->mapped_expected <= (int64_t)k->mapped.len)
		return;
	h->missed_blocks = (uint64_t)k->mapped_expected - k->mapped.len;
	h->missed_bytes = k->mapped_expected_bytes > found_bytes
				  ? k->mapped_expected_bytes - found_bytes
				  : 0;
}

static void
walk(struct hb_walk *k)
{
	struct heapblocks *h = k->to;
	uint64_t system = k->state.bins_off + HW_SYSTEM_ABOVE;

	for (unsigned i = 0; i < k->state.arenas.len; i++) {
		struct heapblocks_arena *a = vec_add(&h->arenas);

		a->system_bytes = hw_peek(k->m, k->state.arenas.data[i].state + system);
	}
	for (size_t i = 0; i < k->pieces.len; i++) {
		const struct hb_piece *p = &k->pieces.data[i];

		arena_of(k, p)->heaps++;
		vec_push(&h->heaps, (struct heapblocks_range){p->start, p->end});
		hb_walk_piece(k, p);
	}
	add_mapped(k);
	hb_find_cached(k);
	vec_sort(&h->blocks, vec_compare_by(struct heapblock, addr));
	take_out(k);
}

void
walk_glibc(const struct walker_memory *m, struct heapblocks *to)
{
	static const struct hb_visitor visitor = {on_block, on_top, on_gap};
	struct hb_walk k = {.m = m->mem,
			    .map = m->map,
			    .look = m->look,
			    .ctx = m->ctx,
			    .visitor = &visitor,
			    .to = to};
	uint64_t state;

	if (!hb_begin(&k, to->why, sizeof to->why))
		return;
	vec_push(&to->owners, (struct heapblocks_owner){.name = "glibc's malloc"});
	walk(&k);
	/* The main arena's lists are outside of its heap. */
	state = k.state.arenas.data[0].state;
	vec_push(&to->heaps, (struct heapblocks_range){state, state + k.state.bins_off +
								      HW_STATE_ABOVE});
	hb_done(&k);
}
