/* SPDX-License-Identifier: MIT */
/* census_blocks.c -- the table of live blocks from end to end, while it changes.
 *
 * A block appears and disappears with one store of its word `b`, and buckets never move:
 * what is read here was there at some moment of the walk. No page is locked. */
#include "guest/record/census/census_blocks.h"

#include "guest/record/census/census.h"
#include "guest/record/events.h"
#include "guest/record/livetable.h"

static uint64_t
load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void
page_each(const struct recorder *r, uint32_t ref, uintptr_t page, census_block_fn *fn,
	  void *arg)
{
	while (ref != 0) {
		struct rec_bucket *b = rec_at(r, ref);
		const struct rec_block *blocks = live_blocks(b);
		unsigned cap = live_cap(b);

		for (unsigned i = 0; i < cap; i++) {
			uint64_t w = load(&blocks[i].b), a;

			if (w == 0)
				continue;
			a = load(&blocks[i].a);
			if (load(&blocks[i].b) == w)
				fn(arg,
				   page | (uintptr_t)live_offs(b)[i] << 4 |
					   (a >> REC_BLOCK_LOW_SHIFT & 15),
				   a, w);
		}
		ref = __atomic_load_n(&b->next, __ATOMIC_ACQUIRE);
	}
}

void
census_each_block(const struct recorder *r, census_block_fn *fn, void *arg)
{
	const uint32_t *root = (const void *)(r->base + REC_ROOT_OFF);

	for (uintptr_t i = 0; i < REC_ROOT_SLOTS; i++) {
		uint32_t ref = __atomic_load_n(&root[i], __ATOMIC_ACQUIRE);
		const uint32_t *mid = rec_at(r, ref);

		for (uintptr_t k = 0; ref != 0 && k < REC_MID_SLOTS; k++) {
			uint32_t lref = __atomic_load_n(&mid[k], __ATOMIC_ACQUIRE);
			const uint32_t *leaf = rec_at(r, lref);

			for (uintptr_t n = 0; lref != 0 && n < REC_LEAF_SLOTS; n++)
				page_each(r, __atomic_load_n(&leaf[n], __ATOMIC_ACQUIRE),
					  i << REC_ROOT_SHIFT | k << REC_MID_SHIFT |
						  n << REC_LEAF_SHIFT,
					  fn, arg);
		}
	}
}

struct forgetting {
	struct recorder *r;
	struct thread *t;
};

static void
block_forget(void *arg, uintptr_t addr, uint64_t a, uint64_t b)
{
	struct forgetting *f = arg;

	(void)a, (void)b;
	record_free(f->r, f->t, addr);
}

void
census_forget_live(struct recorder *r, struct thread *t)
{
	struct forgetting f = {r, t};

	census_each_block(r, block_forget, &f);
}
