/* SPDX-License-Identifier: MIT */
/* hidden.h -- lost blocks that the program may still use: those of sites that free all of
 * their blocks later.
 *
 * A program that keeps its pointers in another form (XOR, compressed, behind tags) looks
 * as if it had lost its blocks. What gives it away is that it frees them: no block gets
 * older than a certain age, and many that were as old as the lost ones were freed. Blocks
 * that were lost lately look the same, so this is a remark and changes no verdict.
 * Pure. */
#ifndef SEEP_ANALYZE_HIDDEN_H
#define SEEP_ANALYZE_HIDDEN_H

#include <stdbool.h>

#include "tool/analyze/sites/sites.h"
#include "tool/model/prof.h"

enum {
	HIDDEN_BLOCKS = 8,    /* left, at least */
	HIDDEN_PERCENT = 90,  /* of the blocks that are left, lost */
	HIDDEN_LIFETIMES = 2, /* of the oldest one, that the process was recorded for */
};

/* For every row of `ss`, whether that is so. To be freed. */
bool *hidden_find(const struct prof *p, const struct sites *ss);

#endif
