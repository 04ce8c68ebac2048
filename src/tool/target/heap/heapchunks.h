/* SPDX-License-Identifier: MIT */
/* heapchunks.h -- every chunk of glibc's malloc, told one by one: for comparing a heap
 * with a recording without a second list of all blocks. */
#ifndef SEEP_TARGET_HEAPCHUNKS_H
#define SEEP_TARGET_HEAPCHUNKS_H

#include "tool/target/heap/walker.h"

struct heapchunks {
	/* Memory [addr, addr + bytes) of a block, and whether malloc has handed it out;
	 * ascending. */
	void (*chunk)(void *ctx, uint64_t addr, uint64_t bytes, bool used);
	/* The same of a block with a mapping of its own, after all others. */
	void (*mapped)(void *ctx, uint64_t addr, uint64_t bytes);
	/* Last: what looked used and is not. A block that was freed and is kept for
	 * reuse, or malloc's own; once each. */
	void (*kept)(void *ctx, uint64_t addr, bool freed);
	void *ctx;
	bool gaps; /* result: parts of the heap made no sense */
};

/* False: no heap of glibc's was found. The memory must not change meanwhile. */
bool heapchunks_each(const struct walker_memory *m, struct heapchunks *to);

#endif
