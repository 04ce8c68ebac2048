/* SPDX-License-Identifier: MIT */
/* arenahead.c -- is a mapping in the shape of an arena one of malloc's?
 *
 * glibc's arenas are heaps of 64 MiB that begin at a multiple of that, and so do pools
 * that programs reserve for themselves. malloc's begin with a header, others do not.
 * The header is written when a heap is made, so its page is resident; one that is not
 * (swapped out, say) leaves the question open, and nothing is fetched for it. */
#include "tool/target/heap/heapwalk.h"

#include <stddef.h>

#include "shared/compiler.h"

#define HEAP_BYTES (UINT64_C(64) << 20)

enum { PAGE = 4096 };

bool
arenahead_fits(const uint64_t words[4])
{
	uint64_t arena = words[0], before = words[1], used = words[2],
		 writable = words[3];

	return arena != 0 && IS_ALIGNED(arena, 8) && IS_ALIGNED(before, HEAP_BYTES) &&
	       used != 0 && IS_ALIGNED(used, PAGE) && used <= writable &&
	       IS_ALIGNED(writable, PAGE) && writable <= HEAP_BYTES;
}

void
arenahead_check(const struct procmem *m, struct memmap *map)
{
	for (size_t i = 0; i < map->areas.len; i++) {
		struct memmap_area *a = &map->areas.data[i];
		uint64_t words[4];
		uint8_t there = 0;

		if (a->inode != 0 || !IS_ALIGNED(a->start, HEAP_BYTES) ||
		    a->perms[0] != 'r' || a->perms[1] != 'w' ||
		    !procmem_present(m, a->start, 1, &there) || there == 0 ||
		    procmem_read(m, a->start, words, sizeof words) < 0)
			continue;
		a->no_arena = !arenahead_fits(words);
	}
}
