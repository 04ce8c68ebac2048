/* SPDX-License-Identifier: MIT */
/* cells.h -- what a thread did at a site: one writer each, folded when the thread ends. */
#ifndef SEEP_CELLS_H
#define SEEP_CELLS_H

#include "record/recorder.h"

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
	if (LIKELY(t->cell_slots != NULL)) {
		uint64_t found = t->cell_slots[cells_slot(t->cell_mask, site_ref)];

		if (LIKELY(found >> 32 == site_ref))
			return rec_at(r, (uint32_t)found);
	}
	return cells_get_far(r, t, site_ref);
}

/* Add every cell of an ending thread to its site's "ended threads" cell and free it. */
void cells_fold(struct recorder *r, struct thread *t);

#endif
