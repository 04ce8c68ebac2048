/* SPDX-License-Identifier: MIT */
/* roots.h -- where a program may keep the address of a block: all readable and writable
 * memory, and what it wrote before it was closed, less what is known to hold none of its
 * own.
 *
 * The caller knows the heap, the recorder's memory and the allocator's; here is what the
 * memory itself tells: the stacks of threads, found through the list that glibc keeps of
 * them. An ended thread's stack stays mapped for the next one, with everything that was
 * on it. Ranges, never mappings, are left out: the kernel merges neighbours. */
#ifndef SEEP_LEAK_ROOTS_H
#define SEEP_LEAK_ROOTS_H

#include "tool/leak/scan.h"

/* A stack as glibc made it. */
struct roots_stack {
	struct scan_range
		range; /* from its guard page on, with the thread's own data at the end */
	uint64_t tcb;  /* address of the thread's control block, near the end */
	bool ended;
};

/* Looks for lists of threads in [data.start, data.end), the writable data of the loader
 * or of libpthread. Adds at most `max` stacks to `to` and returns how many. Knows glibc
 * on x86-64; finds nothing elsewhere, which only means that more is looked at than need
 * be. */
uint32_t roots_stacks(struct scan_space *s, struct scan_range data,
		      struct roots_stack *to, uint32_t max);

/* The stack that holds `sp`, or NULL. */
const struct roots_stack *roots_stack_of(const struct roots_stack *stacks, uint32_t n,
					 uint64_t sp);

/* All readable and writable mappings but devices, and sealed ones, less the `nholes`
 * ranges in `holes`, which are sorted for that. `to` has room for s->nmaps + nholes.
 * Returns how many there are. */
uint32_t roots_ranges(const struct scan_space *s, struct scan_range *holes,
		      uint32_t nholes, struct scan_range *to);

#endif
