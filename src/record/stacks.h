/* SPDX-License-Identifier: MIT */
/* stacks.h -- the prefix tree of stacks: (parent, pc, module) -> node. */
#ifndef SEEP_STACKS_H
#define SEEP_STACKS_H

#include "record/recorder.h"

/* Ref of the node; the overflow node when there is no room for a new one. Lock-free, any thread.
 * `module` is the module's number, `kind` an enum rec_node_kind. Never 0. */
uint32_t stacks_node(struct recorder *r, uint32_t parent, uint64_t pc, uint32_t module,
                     unsigned kind, uint32_t me);

/* The node's site, made when it is the first allocation there; NULL when there is no room. */
struct rec_site *stacks_site(struct recorder *r, uint32_t node, uint64_t now_ms, uint32_t me);

#endif
