/* SPDX-License-Identifier: MIT */
/* who.h -- questions about single blocks of a heap that was looked through: --who and --blocks. */
#ifndef SEEP_CLI_WHO_H
#define SEEP_CLI_WHO_H

#include "tool/render/heap/who_text.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/util/buf.h"

/* Who holds the block at `addr`, or what else is there. End with who_done. The process must stand
 * still. */
void who_find(struct heapcheck *c, uint64_t addr, struct who *ret);

/* Which blocks, and how they are shown. */
struct who_choice {
	uint32_t group;
	unsigned kinds; /* bits */
	uint32_t most;	/* blocks */
	bool show;	/* do not mask */
};

/* Bytes of the blocks of one group with what their words point to; as JSON without the bytes, unless they are to be
 * shown. */
void who_blocks(struct heapcheck *c, const struct who_choice *w, struct buf *out);
void who_blocks_json(struct heapcheck *c, const struct who_choice *w, struct buf *out);

/* An address as people write it: hexadecimal with or without 0x. */
bool who_address(const char *text, uint64_t *ret_addr);

#endif
