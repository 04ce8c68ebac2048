/* SPDX-License-Identifier: MIT */
/* heapwalk.h -- what glibc's malloc holds in a running process: its heaps, block by
 * block, used or free, resident or not.
 *
 * malloc's state is found by its shape, without symbols: 127 list heads that point at
 * themselves or into heaps, below them the end of the main heap. Then the ring of arenas,
 * the 64 MiB heaps of each, the blocks in them one after the other, blocks with mappings
 * of their own, what threads keep for themselves. All through procmem.h: nothing is
 * stopped or written. Where the process changed things under our eyes, or nothing looks
 * as expected, the bytes count as unknown: nothing is guessed. Knows glibc 2.26 and newer
 * on 64-bit machines; of other allocators it says only that they are not glibc's. */
#ifndef SEEP_TARGET_HEAPWALK_H
#define SEEP_TARGET_HEAPWALK_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/target/proc/procmem.h"

/* A used block: its address as the program has it, its size with malloc's header. */
typedef void heapwalk_used(void *ctx, uint64_t addr, uint64_t size);

struct heapwalk_opts {
	/* Where the heaps are, without going through their blocks: in a millisecond or
	 * two. Mapped blocks only near the start of mappings. */
	bool ranges_only;
	/* resident bytes gone through; the rest is unknown. 0: no limit */
	uint64_t max_bytes;
	heapwalk_used *used; /* told of every one, or NULL */
	void *ctx;
};

/* Fills `ret_heap` anew; never fails, `known` and `why` say what came of it. `map` must
 * have been read just now. Free with heapmap_done. */
void heapwalk(const struct procmem *m, const struct memmap *map,
	      const struct heapwalk_opts *o, struct heapmap *ret_heap);

/* Adds what other allocators hold (jemalloc, tcmalloc, mimalloc), to a map that heapwalk
 * has filled. False: none was found. */
bool heapwalk_others(const struct procmem *m, struct heapmap *to);

/* ---- blocks in bytes that were read before, for dumps ---- */

/* Sizes of blocks in `bytes` that were at `addr`: calls `each` with the offset of every
 * block (behind its header), its size without the header and whether it is used. The
 * first block is looked for. Returns how many there were. */
typedef void heapwalk_visitor(void *ctx, size_t off, size_t size, bool used);
size_t heapwalk_blocks(const void *data, size_t bytes, uint64_t addr,
		       heapwalk_visitor *each, void *ctx);

/* ---- arenahead.c: is a mapping in the shape of an arena one of malloc's? ---- */

/* `words`: the first four of a mapping. Can they be the header of an arena's heap: its
 * arena, the heap before it, the bytes in use, the bytes that were made writable? */
bool arenahead_fits(const uint64_t words[4]);

/* Sets `no_arena` of mappings at a multiple of 64 MiB whose first page is resident and
 * does not fit. */
void arenahead_check(const struct procmem *m, struct memmap *map);

#endif
