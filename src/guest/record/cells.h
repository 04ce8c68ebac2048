/* SPDX-License-Identifier: MIT */
/* cells.h -- what a thread did at a site: one writer each, folded when the thread ends.
 * The first thread's is part of the site, and found without a search. */
#ifndef SEEP_CELLS_H
#define SEEP_CELLS_H

#include "guest/record/file/recorder.h"

/* Where the thread's hash of cells begins to look for one. */
static ALWAYS_INLINE uint32_t
cells_slot(uint32_t mask, uint32_t site_ref)
{
	return (uint32_t)(site_ref * UINT64_C(0x9E3779B97F4A7C15) >> 40) & mask;
}

struct rec_cell *cells_get_far(struct recorder *r, struct thread *t, uint32_t site_ref);

/* The thread's cell at a site, made when new; NULL when there is no room. */
static ALWAYS_INLINE struct rec_cell *
cells_get(struct recorder *r, struct thread *t, uint32_t site_ref)
{
	struct rec_cell *own = rec_at(r, site_ref);

	if (LIKELY(__atomic_load_n(&own->thread, __ATOMIC_RELAXED) == t->row_ref))
		return own;
	if (LIKELY(t->cell_slots != NULL)) {
		uint64_t found = t->cell_slots[cells_slot(t->cell_mask, site_ref)];

		if (LIKELY(found >> 32 == site_ref))
			return rec_at(r, (uint32_t)found);
	}
	return cells_get_far(r, t, site_ref);
}

/* A word of a cell's histogram, or of the lists before it has one, and what an event adds
 * to it. */
struct cell_word {
	uint64_t *word;
	uint64_t add;
};

/* The cell is going to count one more event: when its lists are full it gets a
 * histogram. */
void cells_make_hist(struct recorder *r, struct rec_cell *c, uint32_t me);
struct cell_word cells_few_size(struct recorder *r, struct rec_cell *c, unsigned bucket,
				uint32_t me);
struct cell_word cells_few_life(struct recorder *r, struct rec_cell *c, unsigned bucket,
				uint32_t me);

/* For an allocation of this size. */
static ALWAYS_INLINE struct cell_word
cells_size(struct recorder *r, struct rec_cell *c, unsigned bucket, uint32_t me)
{
	struct rec_hist *hist = rec_at(r, c->hist);

	if (UNLIKELY(c->hist == 0))
		return cells_few_size(r, c, bucket, me);
	return (struct cell_word){&hist->sizes[bucket], 1};
}

/* For a free at this age. */
static ALWAYS_INLINE struct cell_word
cells_life(struct recorder *r, struct rec_cell *c, unsigned bucket, uint32_t me)
{
	struct rec_hist *hist = rec_at(r, c->hist);

	if (UNLIKELY(c->hist == 0))
		return cells_few_life(r, c, bucket, me);
	return (struct cell_word){&hist->lifetimes[bucket], 1};
}

/* Add every cell of an ending thread to its site's "ended threads" cell and free it. */
void cells_fold(struct recorder *r, struct thread *t);

#endif
