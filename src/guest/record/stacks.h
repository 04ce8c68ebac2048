/* SPDX-License-Identifier: MIT */
/* stacks.h -- the prefix tree of stacks: (parent, pc, module) -> node. */
#ifndef SEEP_STACKS_H
#define SEEP_STACKS_H

#include "guest/record/file/recorder.h"

enum {
	STACKS_INDEX_FIRST_BITS = 8, /* places that are used at first */
	STACKS_INDEX_BITS = 18,
};

/* A whole stack: its hash (0 = free) and its innermost node. */
struct stacks_index {
	uint64_t hash;
	uint64_t node;
};

/* Ref of the node; the overflow node when there is no room for a new one. Lock-free, any
 * thread. `module` is the module's number, `kind` an enum rec_node_kind. Never 0. */
uint32_t stacks_node(struct recorder *r, uint32_t parent, uint64_t pc, uint32_t module,
		     unsigned kind, uint32_t me);

/* The node of a whole stack by the unwinder's hash over it, 0 when it is not known; and:
 * know it. Lock-free. What is learnt may be forgotten, and when the table is full nothing
 * more is. */
uint32_t stacks_recall(struct recorder *r, uint64_t hash);
void stacks_learn(struct recorder *r, uint64_t hash, uint32_t node);

/* The node's site, made when it is the first allocation there; NULL when there is no
 * room. */
struct rec_site *stacks_site(struct recorder *r, uint32_t node, uint64_t now_ms,
			     uint32_t me);

#endif
