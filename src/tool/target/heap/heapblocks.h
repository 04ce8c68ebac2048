/* SPDX-License-Identifier: MIT */
/* heapblocks.h -- the blocks that a program has from its allocators, found without a
 * recording by walking their heaps (walker.h).
 *
 * Blocks that were freed and are kept in the caches of threads or of the allocator are
 * free, not blocks. Sizes are those that the allocator gave, which may be more than was
 * asked for: up to 15 bytes with glibc, up to a fifth where sizes come in classes. Where
 * a heap makes no sense there is a gap, and nothing in it is guessed. */
#ifndef SEEP_TARGET_HEAPBLOCKS_H
#define SEEP_TARGET_HEAPBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/target/proc/procmem.h"
#include "tool/util/vec.h"

/* Bytes at `addr`: as scan_look in tool/leak/scan.h. */
typedef const unsigned char *heapblocks_look(void *ctx, uint64_t addr, uint64_t bytes,
					     uint64_t *ret_bytes);

enum { HEAPBLOCKS_MAPPED = UINT16_MAX }; /* arena of blocks with mappings of their own */

struct heapblock {
	uint64_t addr;
	uint64_t bytes : 46;
	uint64_t root : 1; /* an object of the allocator itself: never lost */
	/* the program's pointer may lie behind `addr`: aligned blocks */
	uint64_t inner : 1;
	uint64_t arena : 16; /* number in heapblocks.arenas */
};

struct heapblocks_range {
	uint64_t start, end;
};

struct heapblocks_ranges VEC_BODY(struct heapblocks_range);

/* An allocator that was found. */
struct heapblocks_owner {
	const char *name;	/* "jemalloc 5.3"; static */
	unsigned which;		/* enum walker_which */
	uint16_t arena;		/* its first one */
	bool classes;		/* block sizes come in classes */
	uint64_t checks;	/* parts whose tables were compared with each other, */
	uint64_t failed;	/* and those that disagreed: gaps */
	uint64_t unread_caches; /* of threads: blocks in them count as used */
};

/* One arena's account, in bytes of blocks with their headers. Allocators other than
 * glibc's have one. */
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
	bool known;    /* an allocator was found; else `why` says what was instead */
	char why[160]; /* half a sentence */
	VEC(struct heapblock) blocks; /* used ones, ascending */
	VEC(struct heapblocks_arena)
	arenas; /* glibc's first, and of these the main one */
	VEC(struct heapblocks_owner) owners; /* allocators */
	/* ascending: all memory of the allocators, their tables included, but for mapped
	 * blocks of glibc's. None of it is a root */
	struct heapblocks_ranges heaps;
	struct heapblocks_ranges gaps; /* parts of these that could not be read */
	/* An allocator was found whose tables contradict themselves, perhaps only at this
	 * moment; or one that is known not to be readable. `why` names it */
	bool inconsistent, refused;
	uint64_t mapped_blocks, mapped_bytes; /* blocks with mappings of their own */
	/* those that malloc counts and that were not found: their memory is a root */
	uint64_t missed_blocks, missed_bytes;
	int64_t mapped_expected; /* as malloc counts them; -1 = not known */
	unsigned caches;	 /* of threads, that were found */
};

void heapblocks_done(struct heapblocks *h); /* legal on a zeroed one */

#endif
