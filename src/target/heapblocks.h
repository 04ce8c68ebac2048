/* SPDX-License-Identifier: MIT */
/* heapblocks.h -- every block that a program has from glibc's malloc, found by walking its heaps:
 * no recording is needed, and blocks are as old as they like.
 *
 * heapwalk.h finds malloc's state and adds up; here are the blocks one by one, for a memory that stands
 * still: a stopped process, a copy of one, a core file. What threads have freed and keep (tcache),
 * and what arenas keep in their fast bins, looks used in the heap and is left out. Versions are
 * told by shape (2.26 to 2.43, 64-bit). Sizes are what malloc gave, up to 15 bytes more than was asked for. Where
 * the heap makes no sense there is a gap, and nothing in it is guessed. */
#ifndef SEEP_TARGET_HEAPBLOCKS_H
#define SEEP_TARGET_HEAPBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/memmap.h"
#include "target/procmem.h"
#include "util/vec.h"

/* Bytes at `addr`: as scan_look in leak/scan.h. */
typedef const unsigned char *heapblocks_look(void *ctx, uint64_t addr, uint64_t bytes,
					     uint64_t *ret_bytes);

enum { HEAPBLOCKS_MAPPED = UINT16_MAX }; /* arena of blocks with mappings of their own */

struct heapblock {
	uint64_t addr;
	uint64_t bytes : 48;
	uint64_t arena : 16; /* number, main is 0 */
};

struct heapblocks_range {
	uint64_t start, end;
};

/* One arena's account, in bytes of blocks with their headers. */
struct heapblocks_arena {
	uint64_t system_bytes; /* taken from the kernel, as malloc itself counts */
	uint64_t used_bytes, used_blocks;
	uint64_t free_bytes, free_blocks; /* in its lists, between used ones */
	uint64_t largest_free;
	uint64_t top_bytes;		      /* unused, at its end */
	uint64_t cached_bytes, cached_blocks; /* freed, kept by threads or in fast bins */
	uint64_t gap_bytes;
	unsigned heaps;
};

/* Start with `= {0}`. */
struct heapblocks {
	bool known;    /* glibc's malloc was found; else `why` says what was instead */
	char why[160]; /* half a sentence */
	VEC(struct heapblock) blocks;	     /* used ones, ascending */
	VEC(struct heapblocks_arena) arenas; /* main first */
	VEC(struct heapblocks_range)
	heaps; /* ascending: all of malloc's but mapped blocks */
	VEC(struct heapblocks_range) gaps; /* parts of these that could not be read */
	struct heapblocks_range state; /* the main arena's lists, outside of its heap */
	uint64_t mapped_blocks, mapped_bytes; /* blocks with mappings of their own */
	int64_t mapped_expected;	      /* as malloc counts them; -1 = not known */
	unsigned caches;		      /* of threads, that were found */
};

/* `m` and `map` are of the memory that `look` shows. Never fails: `known` and `why` say what came of it. */
void heapblocks_find(const struct procmem *m, const struct memmap *map,
		     heapblocks_look *look, void *ctx, struct heapblocks *ret);
void heapblocks_done(struct heapblocks *h); /* legal on a zeroed one */

#endif
