/* SPDX-License-Identifier: MIT */
/* errors.h -- wrong uses of the heap, written into the recording as they are found. */
#ifndef SEEP_ERRORS_H
#define SEEP_ERRORS_H

#include "guest/record/file/recorder.h"

/* Enters `e`: kind, func, addr, given, source, block, stacks and where are the caller's,
 * the rest is filled in. One that is known already, by kind, function and stacks, is
 * counted once more. Not kept when there is no room or there are REC_ERRORS_MAX; then
 * only counted. Any thread. */
void errors_add(struct recorder *r, struct thread *t, const struct rec_error *e);

/* Stack at `start`, as a ref of its innermost node; never 0. On the thread itself,
 * busy. */
uint32_t errors_stack(struct recorder *r, struct thread *t,
		      const struct unw_start *start);

/* Stack that the blocks of a site were allocated at, 0 when the ref is none. */
uint32_t errors_site_stack(const struct recorder *r, uint32_t site);

/* Fills in what `e->addr` is: part of a live block, of a freed one, of a thread's stack,
 * of a module; and the block with its stack. */
void errors_look_up(struct recorder *r, struct thread *t, struct rec_error *e);

/* Only whether it is on a thread's stack, which is soon told. */
bool errors_on_stack(struct recorder *r, struct thread *t, struct rec_error *e);

/* A block that was here, as far as it is still known. */
struct errors_block {
	uint64_t addr, bytes;
	uint32_t site;
	uint32_t kind; /* enum rec_kind; of a freed one not known: REC_KIND_MALLOC */
	bool freed;
};

/* The live block of the heap that covers `addr` or ends less than `slack` bytes before
 * it; else one that was freed and whose slot was not used since. Reads the table as it
 * stands, without locks. */
bool errors_near(const struct recorder *r, uintptr_t addr, uint64_t slack,
		 struct errors_block *ret);

#endif
