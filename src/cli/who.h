/* SPDX-License-Identifier: MIT */
/* who.h -- questions about single blocks of a heap that was looked through: --who and --blocks. */
#ifndef SEEP_CLI_WHO_H
#define SEEP_CLI_WHO_H

#include "cli/heapcheck.h"
#include "render/who_text.h"
#include "util/buf.h"

/* Who holds the block at `addr`, or what else is there. End with who_done. The process must stand
 * still. */
void who_find(struct heapcheck *c, uint64_t addr, struct who *ret);

/* Bytes of the blocks of one group, at most `most` blocks of these kinds (bits), with what their words point
 * to. */
void who_blocks(struct heapcheck *c, uint32_t group, unsigned kinds, uint32_t most,
		bool show, struct buf *out);

/* An address as people write it: hexadecimal with or without 0x. */
bool who_address(const char *text, uint64_t *ret_addr);

#endif
