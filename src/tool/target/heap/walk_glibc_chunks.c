/* SPDX-License-Identifier: MIT */
/* walk_glibc_chunks.c -- see heapchunks.h; walk_glibc_heap.c is the way through the
 * heaps. */
#include "tool/target/heap/heapchunks.h"
#include "tool/target/heap/walk_glibc_impl.h"

static void
on_block(struct hb_walk *k, const struct hb_piece *p, uint64_t at, uint64_t size,
	 bool used)
{
	struct heapchunks *to = k->to;

	(void)p;
	/* Its last word lies in the next block's header, which a used block may write
	 * to. */
	to->chunk(to->ctx, at + 2 * HW_WORD, size - HW_WORD, used);
}

static void
on_top(struct hb_walk *k, const struct hb_piece *p, uint64_t size)
{
	struct heapchunks *to = k->to;

	/* Blocks that were freed at the end of the heap are part of it. */
	if (size > 2 * HW_WORD)
		to->chunk(to->ctx, p->top + 2 * HW_WORD, size - 2 * HW_WORD, false);
}

static void
on_gap(struct hb_walk *k, const struct hb_piece *p, uint64_t start, uint64_t end)
{
	struct heapchunks *to = k->to;

	/* What others have put behind the end of the heap is theirs. */
	to->gaps = to->gaps || (start < end && start < p->top);
}

bool
heapchunks_each(const struct walker_memory *m, struct heapchunks *to)
{
	static const struct hb_visitor visitor = {on_block, on_top, on_gap};
	struct hb_walk k = {.m = m->mem,
			    .map = m->map,
			    .look = m->look,
			    .ctx = m->ctx,
			    .visitor = &visitor,
			    .recorded = true,
			    .to = to};
	char why[160];

	if (!hb_begin(&k, why, sizeof why)) {
		hb_done(&k);
		return false;
	}
	for (size_t i = 0; i < k.pieces.len; i++)
		hb_walk_piece(&k, &k.pieces.data[i]);
	hb_find_mapped(&k, NULL);
	for (size_t i = 0; i < k.mapped.len; i++)
		to->mapped(to->ctx, k.mapped.data[i].addr, k.mapped.data[i].bytes);
	hb_find_cached(&k);
	for (size_t i = 0; i < k.cached.len; i++)
		to->kept(to->ctx, k.cached.data[i], true);
	for (size_t i = 0; i < k.caches.len; i++)
		to->kept(to->ctx, k.caches.data[i], false);
	hb_done(&k);
	return true;
}
