/* SPDX-License-Identifier: MIT */
/* heap_groups.h -- blocks of a heap that nobody recorded, in groups of one sort: part of
 * heapcheck.c. */
#ifndef SEEP_SESSION_HEAP_GROUPS_H
#define SEEP_SESSION_HEAP_GROUPS_H

#include <stdint.h>

#include "tool/session/heap/heapcheck.h"
#include "tool/util/vec.h"

/* What a block is grouped by, while the process stands still: its first word, and its
 * look. */
struct looked {
	uint64_t size, first;
	uint32_t look;
	struct heapscan_sum sums[HEAPSCAN_KINDS];
	uint64_t indirect_bytes, example;
	uint64_t least, most; /* of several sizes; 0 = there is one */
	uint8_t example_kind;
};

struct looked_vec VEC_BODY(struct looked);

/* Looks at the blocks while the process stands still; the number of each block's row is
 * left in scan_block.site. */
void groups_find(struct heapcheck *c, struct looked_vec *rows);

/* Too many rows become fewer. */
void groups_fold(struct heapcheck *c, struct looked_vec *rows);

/* Rows with names, into the scan. */
void groups_name(struct heapcheck *c, const struct looked_vec *rows);

#endif
