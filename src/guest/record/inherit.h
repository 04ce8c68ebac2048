/* SPDX-License-Identifier: MIT */
/* inherit.h -- a forked child is told which blocks its parent had. How: inherit.c. */
#ifndef SEEP_INHERIT_H
#define SEEP_INHERIT_H

#include "guest/record/file/recorder.h"

/* Up to this size of its block table (buckets, leaves, mids) a parent's blocks are
 * listed. */
enum { INHERIT_TABLE_BYTES = 4 << 20 };

/* A list in a mapping of its own, which fork copies. */
struct inherit {
	uint64_t of;	       /* recorder_number of whose blocks these are */
	uint64_t mapped_bytes; /* of all of this */
	uint64_t count;	       /* blocks, and bytes of `text` in which they are written */
	uint64_t text_bytes;
	/* there are no others: one thread only, and nothing unknown from before */
	bool whole;
	unsigned char text[]; /* see inherit.c */
};

/* The blocks that are live in `r` now. NULL when there are too many, when `r` samples or
 * has to save address space, or without memory. In a process with threads others'
 * allocations of this moment may be in the list or not. Signals must be blocked: r must
 * stay what it is. Free with inherit_forget. */
struct inherit *inherit_gather(const struct recorder *r);

void inherit_forget(struct inherit *l); /* NULL is fine */

/* Enter the list into the block table of a recording that has just begun, as blocks of
 * the class inherited; `t` is the calling thread's. Little room: some or none are
 * entered, and the recording does not say that the table was copied. */
void inherit_enter(struct recorder *r, struct thread *t, const struct inherit *l);

#endif
