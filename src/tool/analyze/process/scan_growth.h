/* SPDX-License-Identifier: MIT */
/* scan_growth.h -- two looks at a heap compared: which blocks there are more of, and are
 * they lost or held?
 *
 * Groups are the same when size, type and look are. A leak shows as lost blocks that are
 * more than before; what only grows is held by somebody, who is named. */
#ifndef SEEP_ANALYZE_SCAN_GROWTH_H
#define SEEP_ANALYZE_SCAN_GROWTH_H

#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/model/heapscan.h"

struct scan_growth_row {
	uint32_t group;	    /* in the new look; UINT32_MAX = it is gone */
	uint32_t old_group; /* in the old one; UINT32_MAX = it is new */
	struct heapscan_sum before, after;
	int64_t lost_blocks; /* definitely and indirectly lost, more than before */
	int64_t bytes;	     /* growth of all */
};

struct scan_growth {
	VEC(struct scan_growth_row) rows; /* most growth first */
	int64_t bytes, blocks;		  /* of all */
	int64_t lost_bytes, lost_blocks;
	int64_t kept_bytes; /* what malloc keeps: freed, or never given out */
	uint64_t seconds;   /* between the two; 0 = not known */
};

void scan_growth_init(struct scan_growth *ret, const struct heapscan *before,
		      const struct heapscan *after);
void scan_growth_done(struct scan_growth *g); /* legal on a zeroed one */

/* Bytes that malloc has and nobody uses, of all arenas. */
uint64_t scan_kept_bytes(const struct heapscan *s);

/* Whether most of the process's own memory, and much of it, is not malloc's. */
bool scan_is_partial(const struct heapscan *s);

/* Bytes that malloc has: live, kept, and of other allocators than glibc's all that is
 * resident of their heaps. */
uint64_t scan_seen_bytes(const struct heapscan *s);

/* Bytes of malloc's heaps that were not understood. */
uint64_t scan_unread_bytes(const struct heapscan *s);

/* By how much the memory grew that is not lost. */
int64_t scan_held_bytes(const struct scan_growth *g);

/* Whether malloc keeps so much more than before that this is the growth. */
bool scan_keeps_more(const struct heapscan *after, const struct scan_growth *g);

/* The verdict; with `g` (or NULL) on what came since the earlier look. */
struct verdict_answer scan_decide(const struct heapscan *s, const struct scan_growth *g);

/* Bytes in use, with their headers, of all arenas and mapped blocks. */
uint64_t scan_live_bytes(const struct heapscan *s);

#endif
