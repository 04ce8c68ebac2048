/* SPDX-License-Identifier: MIT */
/* recording_wrong.h -- the part of the live recording that is about wrong use of the
 * heap. */
#ifndef SEEP_RECORDING_WRONG_H
#define SEEP_RECORDING_WRONG_H

#include <stdint.h>

enum { REC_ERRORS_MAX = 1000 }; /* kept one by one; head.errors_more counts the others */

/* The same error at the same stacks is one record with a count. Stacks are refs of nodes,
 * 0 = not known. What is in `given` depends on the kind: the size or alignment that was
 * given, the bytes written or read, the length of a copy. */
struct rec_error {
	uint32_t kind; /* enum rec_error_kind, written last */
	uint32_t func; /* enum rec_func */
	uint64_t count;
	uint64_t addr;
	uint64_t given;
	uint64_t source; /* of a copy; else 0 */
	uint64_t block;	 /* the block that it is about; 0 = none */
	uint64_t block_bytes;
	uint64_t ms;
	uint32_t at;	 /* stack now */
	uint32_t alloc;	 /* of the block's allocation */
	uint32_t freed;	 /* of its free */
	uint32_t thread; /* serial */
	uint32_t where;	 /* enum rec_where */
	uint32_t where_number;
	uint32_t block_kind; /* enum rec_kind */
	uint32_t freed_func; /* enum rec_func: what freed the block; 0 = not known */
	uint64_t reserved[4];
};

_Static_assert(sizeof(struct rec_error) == 128, "error");

#endif
