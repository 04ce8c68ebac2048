/* SPDX-License-Identifier: MIT */
/* dominators.h -- what would become free if a root let go, or a block went: what can be
 * reached through it alone.
 *
 * A block dominates another when every way from the roots to that leads through it. All
 * blocks that one dominates are retained by it; added up, that says which variable or
 * table a heap hangs on. Every word that looks like a pointer is one. */
#ifndef SEEP_LEAK_DOMINATORS_H
#define SEEP_LEAK_DOMINATORS_H

#include "tool/leak/paths.h"
#include "tool/leak/scan.h"
#include "tool/util/vec.h"

struct dominators_sum {
	uint64_t blocks, bytes;
};

/* A pointer that was left out: of a passing root, to a block that others hold. */
struct dominators_left {
	uint32_t root, block;
};

struct dominators {
	struct scan_space *space;
	const struct scan_index *index;
	/* Pointers of passing roots (on stacks and in registers they come and go) do not
	 * count for blocks that other roots hold as well: `held`, by block. Both to be
	 * set before the first root, or NULL. */
	const bool *held;
	bool (*passes)(void *ctx, uint32_t root);
	void *passes_ctx;
	VEC(struct dominators_left) left;
	uint32_t nroots; /* numbers below this were used */
	/* by node: 0 stands for all roots together, 1 … for blocks, then roots by their
	 * number */
	/* the node that dominates it next; UINT32_MAX = it cannot be reached */
	uint32_t *above;
	struct dominators_sum *retained; /* itself included */
	uint32_t nnodes;
	/* private */
	uint32_t *top;
	uint32_t *from, *to;
	size_t nedges, room;
};

/* Begins; free with dominators_done. */
void dominators_init(struct dominators *ret, struct scan_space *space,
		     const struct scan_index *index);
void dominators_done(struct dominators *d); /* legal on a zeroed one */

/* Roots, as for paths: words of a range, which belong to the root that `name` says; or
 * one word. */
void dominators_range(struct dominators *d, struct scan_range range, paths_namer *name,
		      void *ctx);
void dominators_word(struct dominators *d, uint64_t word, uint32_t root);
void dominators_block(struct dominators *d, uint32_t block, uint32_t root);

/* After all roots: finds above[] and retained[]. */
void dominators_find(struct dominators *d);

/* The root that alone dominates a block; UINT32_MAX = several do, or it cannot be
 * reached. After dominators_find. */
uint32_t dominators_top(struct dominators *d, uint32_t block);

/* Nodes of a block and of a root. */
static inline uint32_t
dominators_of_block(uint32_t block)
{
	return block + 1;
}

static inline uint32_t
dominators_of_root(const struct dominators *d, uint32_t root)
{
	return d->index->nblocks + 1 + root;
}

/* Bytes of memory that the search takes for so many blocks, roughly. */
uint64_t dominators_need(uint64_t blocks);

#endif
