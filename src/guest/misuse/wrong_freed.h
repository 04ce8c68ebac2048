/* SPDX-License-Identifier: MIT */
/* wrong_freed.h -- blocks freed of late, with the stack of their free. Only when asked
 * for. */
#ifndef SEEP_WRONG_FREED_H
#define SEEP_WRONG_FREED_H

#include "guest/misuse/fence.h"
#include "guest/misuse/wrong.h"
#include "guest/record/file/recorder.h"

/* The block whose entry was `gone` is being freed by this thread, in `func`: its stack is
 * taken, left in t->freeing, and noted. Busy. */
void wrong_freed_note(struct thread *t, uintptr_t p, struct rec_block gone,
		      enum rec_func func, const struct unw_start *at);

/* Is the stack wanted of a free of `p`? */
static inline bool
wrong_freed_wanted(const void *p)
{
	return wrong.stacks || (wrong.fenced && fence_owns(p));
}

/* Fills in block and stacks if e->addr is a block that was noted, or is held back. */
void wrong_freed_find(const struct recorder *r, struct rec_error *e);

#endif
