/* SPDX-License-Identifier: MIT */
/* liveblocks.h -- every live block of a recording, in the order of addresses, straight
 * from the table of a process that stands still.
 *
 * Reading a recording for a report copies it whole (src/tool/format); this is for who
 * needs the addresses only, at once, and also those of blocks from before a fork. Calls
 * that were under way when the process was stopped are taken as not made. Nothing is
 * written. */
#ifndef SEEP_TARGET_LIVEBLOCKS_H
#define SEEP_TARGET_LIVEBLOCKS_H

#include <stdint.h>

#include "shared/rec_enums.h"
#include "tool/target/run/livefile.h"

struct liveblocks {
	/* A 4 KiB page in which a block is or was. Ascending. */
	void (*page)(void *ctx, uint64_t page);
	/* A block of the page that was told last; in no order within it. `site` is a
	 * ref. */
	void (*block)(void *ctx, uint64_t addr, uint64_t bytes, uint32_t site,
		      enum rec_kind kind);
	void *ctx;
	uint32_t ms; /* while `block` is called: when it was allocated, since the start */
	uint64_t bad; /* told back: parts of the table that could not be read */
};

/* Needs livefile_map_all. */
void liveblocks_each(const struct livefile *f, struct liveblocks *b);

/* When the block of that site at `addr` was allocated, in ms since the start; 0 = it is
 * not there. */
uint32_t liveblocks_birth(const struct livefile *f, uint64_t addr, uint32_t site);

/* Address at which the innermost frame of a site's stack was called; 0 = not known. */
uint64_t liveblocks_caller(const struct livefile *f, uint32_t site);

#endif
