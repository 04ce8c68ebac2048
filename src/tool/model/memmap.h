/* SPDX-License-Identifier: MIT */
/* memmap.h -- the memory of a process at one moment, as the kernel tells it: every
 * mapping and how much of it is resident.
 *
 * Filled by the reader of smaps and of saved pmap files, read by everything that watches.
 * Figures are in KiB because the kernel gives them so; one that the source does not have
 * is 0 and missing in `known`. Beside it, what only a look into the process tells: which
 * mappings are malloc's and what of them is free. No I/O here, and nothing is decided. */
#ifndef SEEP_MODEL_MEMMAP_H
#define SEEP_MODEL_MEMMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/arena.h"
#include "tool/util/vec.h"

/* Figures of a mapping, by their place in `kib`. */
enum memmap_figure {
	MEMMAP_SIZE,
	MEMMAP_RSS,
	MEMMAP_PSS,
	MEMMAP_DIRTY, /* pmap -x: private and shared together */
	MEMMAP_SHARED_CLEAN,
	MEMMAP_SHARED_DIRTY,
	MEMMAP_PRIVATE_CLEAN,
	MEMMAP_PRIVATE_DIRTY,
	MEMMAP_REFERENCED,
	MEMMAP_ANONYMOUS,
	MEMMAP_LAZYFREE,
	MEMMAP_HUGE,
	MEMMAP_SWAP,
	MEMMAP_FIGURES,
};

struct memmap_area {
	uint64_t start, end, offset, inode;
	uint64_t kib[MEMMAP_FIGURES];
	const char
		*name; /* path, "[heap]" and the like, "" = none; borrowed from the map */
	char perms[5]; /* "rw-p"; of pmap -x the last is '?' */
	bool apart;    /* known not to be data of the file before it */
	bool no_arena; /* known not to be an arena of malloc, whatever its shape */
};

struct memmap {
	VEC(struct memmap_area) areas; /* ascending */
	struct arena strings;
	uint32_t known;	     /* bit 1 << MEMMAP_x: the source has that figure */
	const char *form;    /* "smaps", "pmap -x", "pmap -X"; a string constant */
	const char *command; /* first line of a pmap file, "" when there is none */
	int pid;	     /* 0 = not told */
	uint64_t cut_lines;  /* at the end, that could not be read */
};

/* Sums of all mappings, and one figure of them. */
uint64_t memmap_total_kib(const struct memmap *m, enum memmap_figure figure);

/* Mapping that holds `addr`, or NULL. */
const struct memmap_area *memmap_find(const struct memmap *m, uint64_t addr);

/* The last mapping that begins at `addr` or below, whether it holds it or not; NULL if
 * there is none. */
const struct memmap_area *memmap_last_before(const struct memmap *m, uint64_t addr);

/* The file whose static data mapping `a` of `m` is: `a` itself, if it has writable pages
 * of a file, or the mapping before it, if it is the zeroed data (.bss) right behind a
 * file's pages. NULL: it is neither. No object's data is shared memory: what lies behind
 * a recording, for one, is a heap as a rule. */
const struct memmap_area *memmap_data_of(const struct memmap *m,
					 const struct memmap_area *a);

/* Sorts by address; readers call it once when all is in. */
void memmap_sort(struct memmap *m);

void memmap_done(struct memmap *m); /* legal on a zeroed one; it may be used again */

/* ---- what the process itself knows of its heap ---- */

enum heapmap_kind {
	HEAPMAP_MAIN,  /* the part that grows with brk */
	HEAPMAP_ARENA, /* a heap of 64 MiB of one of the other arenas */
	HEAPMAP_CHUNK, /* a block with a mapping of its own */
};

/* A range of addresses that malloc holds, and its resident bytes by what they are. */
struct heapmap_range {
	uint64_t start, end;
	enum heapmap_kind kind;
	unsigned arena;	     /* number, main is 0 */
	uint64_t used_bytes; /* blocks that the program has, with malloc's own headers */
	uint64_t free_bytes; /* freed and kept, also at the heap's end */
	uint64_t unknown_bytes; /* resident, but which of the two could not be told */
	uint64_t blocks;	/* used */
};

struct heapmap {
	bool known; /* malloc's own state was found; else `why` says why not */
	char why[160];
	VEC(struct heapmap_range) ranges; /* ascending */
	unsigned arenas;
	bool others; /* ranges of another allocator than glibc's malloc are among them */
	/* of used_bytes: freed, but kept by threads for themselves */
	uint64_t cached_bytes;
	/* by glibc's own count, the most that its arenas have had from the kernel, each
	 * at its own time; without blocks that have mappings of their own */
	uint64_t most_bytes;
};

void heapmap_done(struct heapmap *h); /* legal on a zeroed one */

#endif
