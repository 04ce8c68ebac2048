/* SPDX-License-Identifier: MIT */
/* walk_jemalloc_impl.h -- what the two files of jemalloc's walker share. */
#ifndef SEEP_TARGET_WALK_JEMALLOC_IMPL_H
#define SEEP_TARGET_WALK_JEMALLOC_IMPL_H

#include "tool/target/heap/walker_impl.h"

enum {
	JE_PAGE = 4096,
	JE_NO_CLASS = 232, /* size classes there are */
};

/* Where a version keeps things in the first word of a descriptor. */
struct je_layout {
	const char *name;
	unsigned state_shift, state_bits, class_shift, free_shift;
	uint64_t pointer_mask; /* of an element */
	uint64_t spare;	       /* bits of the first word that are never set */
	bool newer; /* 5.3: other caches, and elements have the state of their extent */
};

struct je {
	const struct je_layout *layout;
	uint64_t last_end;		/* of the extents so far */
	struct walk_words leaves;	/* of the table of pages */
	struct walk_words large;	/* numbers of blocks that fill their extent */
	struct walk_words stacks;	/* blocks that begin like the stack of a cache */
	struct heapblocks_ranges bases; /* base blocks */
	size_t last_base;
	bool padded; /* large blocks begin anywhere in their first page */
};

/* Bytes of the blocks of class `i`. */
uint64_t je_size(unsigned i);

/* Freed blocks in the caches of threads, and the caches themselves. */
void je_find_caches(struct walk *w, struct je *j);

#endif
