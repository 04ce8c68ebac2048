/* SPDX-License-Identifier: MIT */
/* liveblocks.c -- see liveblocks.h.
 *
 * Every ref is checked by livefile_at. Leaves and buckets cannot lead in circles for
 * long: a page's chain is cut at as many buckets as a page can have blocks. */
#include "tool/target/heap/liveblocks.h"

#include <string.h>

#include "shared/compiler.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/vec.h"

enum {
	CHAIN_MAX = 4096 / 16 * 2,
	UNDO_BITS = 4096,
};

struct walk {
	const struct livefile *f;
	struct liveblocks *b;
	VEC(struct rec_undo) undo;
	uint64_t maybe[UNDO_BITS /
		       64]; /* bit: a word with such an offset may be in `undo` */
};

/* ---- calls under way ---- */

static void
add_journal(void *ctx, const struct livefile *f, void *object)
{
	struct walk *w = ctx;
	const struct rec_thread *t = object;
	uint32_t n = t->journal_count;

	(void)f;
	for (uint32_t i = 0; i < n && i < REC_JOURNAL_MAX; i++) {
		uint64_t bit = t->journal[i].off / 8 % UNDO_BITS;

		vec_push(&w->undo, t->journal[i]);
		w->maybe[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

/* The word at `at` as it was before the call that is changing it: the oldest note
 * counts. */
static uint64_t
word(const struct walk *w, const uint64_t *at)
{
	uint64_t off = (uint64_t)((const char *)at - (const char *)w->f->head);
	uint64_t bit = off / 8 % UNDO_BITS;

	if ((w->maybe[bit / 64] >> bit % 64 & 1) == 0)
		return *at;
	for (size_t i = 0; i < w->undo.len; i++) {
		if (w->undo.data[i].off == off)
			return w->undo.data[i].old;
	}
	return *at;
}

/* ---- the tree ---- */

static void
walk_page(struct walk *w, uint32_t ref, uint64_t page)
{
	for (unsigned n = 0; ref != 0 && n < CHAIN_MAX; n++) {
		const struct rec_bucket *b = livefile_at(w->f, ref, sizeof *b);
		uint64_t cap = b != NULL ? b->used >> REC_BUCKET_CAP_SHIFT : 0;
		size_t offs_bytes = ALIGN_UP((size_t)cap, (size_t)16);
		const struct rec_block *rows;
		const uint8_t *offs;

		if (cap == 0 || cap > REC_BUCKET_CAP_MAX ||
		    livefile_at(w->f, ref, sizeof *b + offs_bytes + cap * sizeof *rows) ==
			    NULL) {
			w->b->bad++;
			return;
		}
		offs = (const uint8_t *)(b + 1);
		rows = (const void *)(offs + offs_bytes);
		for (unsigned i = 0; i < cap; i++) {
			uint64_t lo = word(w, &rows[i].b), hi;

			if (lo == 0)
				continue;
			hi = word(w, &rows[i].a);
			w->b->ms = (uint32_t)(lo >> 32);
			w->b->block(w->b->ctx,
				    page | (uint64_t)offs[i] << 4 |
					    (hi >> REC_BLOCK_LOW_SHIFT & 15),
				    hi & REC_BLOCK_SIZE_MASK, (uint32_t)lo,
				    (enum rec_kind)(hi >> REC_BLOCK_KIND_SHIFT & 15));
		}
		ref = b->next;
	}
}

static void
walk_leaf(struct walk *w, uint32_t ref, uint64_t base)
{
	const uint32_t *leaf = livefile_at(w->f, ref, REC_LEAF_SLOTS * 4);

	w->b->bad += leaf == NULL;
	for (uint64_t i = 0; leaf != NULL && i < REC_LEAF_SLOTS; i++) {
		if (leaf[i] == 0)
			continue;
		w->b->page(w->b->ctx, base | i << REC_LEAF_SHIFT);
		walk_page(w, leaf[i], base | i << REC_LEAF_SHIFT);
	}
}

void
liveblocks_each(const struct livefile *f, struct liveblocks *b)
{
	const uint32_t *root = (const void *)((const char *)f->head + REC_ROOT_OFF);
	struct walk w = {.f = f, .b = b};

	livefile_each(f, REC_CHUNK_THREAD, sizeof(struct rec_thread),
		      sizeof(struct rec_thread), add_journal, &w);
	for (uint64_t i = 0; i < REC_ROOT_SLOTS; i++) {
		const uint32_t *mid;

		if (root[i] == 0)
			continue;
		mid = livefile_at(f, root[i], REC_MID_SLOTS * 4);
		b->bad += mid == NULL;
		for (uint64_t k = 0; mid != NULL && k < REC_MID_SLOTS; k++) {
			if (mid[k] != 0)
				walk_leaf(&w, mid[k],
					  i << REC_ROOT_SHIFT | k << REC_MID_SHIFT);
		}
	}
	vec_done(&w.undo);
}

/* ---- one block ---- */

static uint32_t
slot(const struct livefile *f, uint32_t ref, uint32_t slots, uint64_t at)
{
	const uint32_t *table = ref != 0 ? livefile_at(f, ref, (size_t)slots * 4) : NULL;

	return table != NULL ? table[at % slots] : 0;
}

uint32_t
liveblocks_birth(const struct livefile *f, uint64_t addr, uint32_t site)
{
	const uint32_t *root = (const void *)((const char *)f->head + REC_ROOT_OFF);
	uint32_t ref = addr >> REC_ADDRESS_BITS == 0 ? root[addr >> REC_ROOT_SHIFT] : 0;

	ref = slot(f, ref, REC_MID_SLOTS, addr >> REC_MID_SHIFT);
	ref = slot(f, ref, REC_LEAF_SLOTS, addr >> REC_LEAF_SHIFT);
	for (unsigned n = 0; ref != 0 && n < CHAIN_MAX; n++) {
		const struct rec_bucket *b = livefile_at(f, ref, sizeof *b);
		uint64_t cap = b != NULL ? b->used >> REC_BUCKET_CAP_SHIFT : 0;
		size_t offs_bytes = ALIGN_UP((size_t)cap, (size_t)16);
		const struct rec_block *rows;
		const uint8_t *offs;

		if (cap == 0 || cap > REC_BUCKET_CAP_MAX ||
		    livefile_at(f, ref, sizeof *b + offs_bytes + cap * sizeof *rows) ==
			    NULL)
			return 0;
		offs = (const uint8_t *)(b + 1);
		rows = (const void *)(offs + offs_bytes);
		for (unsigned i = 0; i < cap; i++) {
			if ((uint32_t)rows[i].b == site && site != 0 &&
			    offs[i] == (addr >> 4 & 255) &&
			    (rows[i].a >> REC_BLOCK_LOW_SHIFT & 15) == (addr & 15))
				return (uint32_t)(rows[i].b >> 32);
		}
		ref = b->next;
	}
	return 0;
}

uint64_t
liveblocks_caller(const struct livefile *f, uint32_t site)
{
	const struct rec_site *s = livefile_at(f, site, sizeof *s);
	const struct rec_node *n = s != NULL ? livefile_at(f, s->node, sizeof *n) : NULL;

	return n != NULL && n->module >> 24 == REC_NODE_PC ? n->pc : 0;
}
