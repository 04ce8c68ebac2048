/* SPDX-License-Identifier: MIT */
/* walker.h -- finds every block of a process by reading its allocators' own tables.
 *
 * One walker per allocator: glibc's malloc, jemalloc, gperftools' tcmalloc, mimalloc. All
 * of them run, because a program may have several. Each recognizes its allocator by the
 * shape of its data, not by symbols, so stripped and static builds work too. The memory
 * must not change meanwhile: a stopped process, a copy of one, a core file.
 *
 * A walker checks what it reads: counts against lists, lists against bitmaps. A part
 * whose check fails is a gap: it yields no blocks. Unknown versions are not found, or
 * fail so many checks that nothing is reported; nothing is guessed. */
#ifndef SEEP_TARGET_WALKER_H
#define SEEP_TARGET_WALKER_H

#include <stddef.h>

#include "tool/target/heap/heapblocks.h"

/* What a walker reads from. */
struct walker_memory {
	const struct procmem *mem;
	const struct memmap *map; /* of the same memory */
	heapblocks_look *look;
	void *ctx;
	const uint64_t *thread_pointers; /* of all threads (fs_base) */
	size_t nthreads;
};

enum walker_which {
	WALKER_GLIBC = 1,
	WALKER_JEMALLOC = 2,
	WALKER_TCMALLOC = 4,
	WALKER_MIMALLOC = 8,
	WALKER_OTHERS = WALKER_JEMALLOC | WALKER_TCMALLOC | WALKER_MIMALLOC,
	WALKER_ALL = WALKER_GLIBC | WALKER_OTHERS,
};

/* Fills `ret` anew with the blocks of all allocators that were found; free with
 * heapblocks_done. Never fails: `known` and `why` say what came of it. */
void walker_find(const struct walker_memory *m, unsigned which, struct heapblocks *ret);

/* Whether every check of every allocator held: a thread may have been stopped in the
 * middle of a call, and a second attempt may find the tables consistent. */
bool walker_is_consistent(const struct heapblocks *h);

/* "jemalloc 5.3 and glibc's malloc", for people; "" when nothing was found. */
const char *walker_names(const struct heapblocks *h, char *ret, size_t size);

#endif
