/* SPDX-License-Identifier: MIT */
/* flame_tree.h -- the boxes of a flame graph: the tree of calls, cut to what can be seen.
 *
 * A box is as wide as the stacks through it, each counted as FLAME_BY_* says and never
 * below nothing; its figures stay what they are. Boxes whose share of the whole is under
 * the limit in every way of counting are left out, with all above them, and counted.
 * Downwards is the graph's own tree; upwards merges stacks from their innermost frame,
 * and follows only branches that are wide enough, so that it costs no more than what is
 * drawn. */
#ifndef SEEP_RENDER_FLAME_TREE_H
#define SEEP_RENDER_FLAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/render/flame/flame.h"

struct flame_box {
	uint32_t entry;
	uint32_t parent; /* box */
	uint32_t depth;	 /* 0 = the root */
	double self, total;
	double was_self, was_total;
	double width[FLAME_WIDTHS];
};

struct flame_tree {
	struct flame_box
		*boxes; /* the root first, then in order from left to right, parents
				  * before what they called */
	uint32_t nboxes;
	uint32_t depth;	   /* of the deepest box */
	uint64_t left_out; /* boxes too small to draw; upwards: branches */
	/* of the whole that a box must have; more than was asked for where
	 * there would be more boxes than a browser can take */
	double least_share;
};

/* `share` is the least share of the whole. Free with flame_tree_done. */
void flame_tree_down(struct flame_tree *ret_tree, const struct graph *g, double share,
		     bool by_name);
void flame_tree_up(struct flame_tree *ret_tree, const struct graph *g, double share,
		   bool by_name);
void flame_tree_done(struct flame_tree *t); /* legal on a zeroed one */

#endif
