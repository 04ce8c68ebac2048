/* SPDX-License-Identifier: MIT */
/* events.h -- what the hooks report: blocks allocated, freed, resized.
 *
 * Call order matters (DESIGN: another thread may be handed an address the moment it is
 * free): record_free before the real free, record_alloc after the real malloc; a resize
 * begins before and ends after the real call. All are for the calling thread's own `t`,
 * never re-entered. */
#ifndef SEEP_EVENTS_H
#define SEEP_EVENTS_H

#include "guest/record/file/recorder.h"

struct hot_gone; /* hot.h */

/* A block came into being. `start` is where the hooked function was called from. */
void record_alloc(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes,
		  enum rec_kind kind, const struct unw_start *start);

/* The same at a place that is known already: `c` is the thread's cell there. */
void record_alloc_in(struct recorder *r, struct thread *t, struct rec_cell *c,
		     uintptr_t addr, uint64_t bytes, enum rec_kind kind);

/* A block is about to be freed. Unknown addresses are counted. The second says what it
 * was; false: it is not known. */
void record_free(struct recorder *r, struct thread *t, uintptr_t addr);
bool record_free_block(struct recorder *r, struct thread *t, uintptr_t addr,
		       struct hot_gone *ret_gone);

/* A block is about to be resized: it is taken out, but a reader still sees it until the
 * end. False: it is not known. `resize_end`: moved to `addr` with `bytes`; `resize_fail`:
 * it stays as it was. */
bool record_resize_begin(struct recorder *r, struct thread *t, uintptr_t addr);
void record_resize_end(struct recorder *r, struct thread *t, uintptr_t addr,
		       uint64_t bytes, enum rec_kind kind, const struct unw_start *start);
void record_resize_fail(struct recorder *r, struct thread *t);
void record_resize_freed(struct recorder *r,
			 struct thread *t); /* realloc(p, 0) freed it */

/* There is, or will be, another thread than this one. */
void record_no_longer_alone(struct recorder *r, struct thread *t);

/* At the next event: are all modules still there? */
void record_check_modules(struct recorder *r);

/* What this thread has not yet added to the shared live bytes is added, and peaks
 * raised. */
void record_flush(struct recorder *r, struct thread *t);

/* [addr, addr + bytes) is unmapped: recorded mappings in there end or get shorter. */
void record_unmap(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes);

#endif
