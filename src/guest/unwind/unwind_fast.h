/* SPDX-License-Identifier: MIT */
/* unwind_fast.h -- the part of the unwinder that runs on every malloc, to be inlined
 * there.
 *
 *	uint32_t id = unw_hit(t, &start);
 *
 *	if (UNLIKELY(id == 0))
 *		id = unw_walk(t, &start);
 *
 * A hit says: this stack is the one before, word for word. It compares the caller's three
 * registers with those of last time, then re-reads every stack word that unwinding
 * depended on, innermost first. The words lie in a list that ends in one that never
 * matches, so the loop has a single branch.
 *
 * Order matters. A word is read only after all words inside of it were found unchanged,
 * because only then is it certain that unwinding would read it too, hence that it is
 * still mapped: the memo may be of a coroutine whose stack is long gone. Never batch the
 * loads. */
#ifndef SEEP_UNWIND_UNWIND_FAST_H
#define SEEP_UNWIND_UNWIND_FAST_H

#include "guest/unwind/unwind.h"
#include "shared/compiler.h"

struct unw_check {
	const uintptr_t *slot;
	uintptr_t value;
};

/* How struct unw_thread begins. Only the unwinder writes it, but for `hits`. */
struct unw_hot {
	uintptr_t sp; /* 0: there is nothing to hit */
	uintptr_t pc;
	uintptr_t bp;
	uintptr_t bp_mask;		/* 0 when no frame needs the register bp */
	const struct unw_check *checks; /* innermost; they go downwards to checks_end */
	const uint32_t *generation_now; /* the process' */
	uint32_t generation;		/* the memo's */
	uint32_t node;			/* id of the stack */
	uint64_t hits;			/* since the last walk */
	const struct unw_check *checks_end; /* the one that never matches */
};

/* Is the stack at `start` the one before? */
static ALWAYS_INLINE bool
unw_same(const struct unw_hot *h, const struct unw_start *start)
{
	const struct unw_check *c;

	if (UNLIKELY(h->sp != start->sp || h->pc != start->pc ||
		     ((h->bp ^ start->bp) & h->bp_mask) != 0 ||
		     h->generation !=
			     __atomic_load_n(h->generation_now, __ATOMIC_ACQUIRE)))
		return false;
	for (c = h->checks; LIKELY(*c->slot == c->value); c--)
		;
	return c == h->checks_end;
}

/* Id of the stack at `start` when it is the one before, else 0. Same rules as
 * unw_stack(). */
static ALWAYS_INLINE uint32_t
unw_hit(struct unw_thread *t, const struct unw_start *start)
{
	struct unw_hot *h = (struct unw_hot *)t;

	if (!unw_same(h, start))
		return 0;
	h->hits++;
	return h->node;
}

/* The same without looking for a hit first: unwinds what changed. Never 0. */
uint32_t unw_walk(struct unw_thread *t, const struct unw_start *start);

#endif
