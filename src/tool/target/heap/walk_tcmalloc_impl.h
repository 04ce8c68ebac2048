/* SPDX-License-Identifier: MIT */
/* walk_tcmalloc_impl.h -- what the two files of tcmalloc's walker share. */
#ifndef SEEP_TARGET_WALK_TCMALLOC_IMPL_H
#define SEEP_TARGET_WALK_TCMALLOC_IMPL_H

#include "tool/target/heap/walker_impl.h"

enum {
	TC_PAGE_SHIFT = 13,
	TC_METADATA_BYTES = 128 << 10, /* that objects of one kind are taken from */
};

struct tc {
	struct heapblocks_range data; /* where the library's other variables are */
	unsigned classes;
	uint64_t sizes[128], pages[128];
	uint64_t last_end;	    /* of the spans so far */
	unsigned char *free_blocks; /* of one span */
	struct walk_words leaves, spans;
};

/* Freed blocks in the central lists and the caches of threads. False: the central lists
 * were not found. */
bool tc_find_caches(struct walk *w, struct tc *t);

#endif
