/* SPDX-License-Identifier: MIT */
/* who_blocks.h -- what is in the blocks of one group of a heap that was searched: `seep
 * leaks --blocks`. */
#ifndef SEEP_RENDER_WHO_BLOCKS_H
#define SEEP_RENDER_WHO_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/session/heap/heapcheck.h"
#include "tool/util/buf.h"

/* Which blocks, and how they are shown. */
struct who_choice {
	uint32_t group;
	unsigned kinds; /* bits */
	uint32_t most;	/* blocks */
	bool show;	/* do not mask */
};

/* Bytes of the blocks of one group with what their words point to; as JSON without the
 * bytes, unless they are to be shown. */
void who_blocks(struct heapcheck *c, const struct who_choice *w, struct buf *out);
void who_blocks_json(struct heapcheck *c, const struct who_choice *w, struct buf *out);

#endif
