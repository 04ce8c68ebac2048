/* SPDX-License-Identifier: MIT */
/* arena.h -- memory that is freed all at once.
 *
 * For things that live as long as their owner: strings of a profile, nodes of a tree.
 * Start with `struct arena a = {0}`, end with arena_done. Single pieces cannot be given
 * back, and nothing moves once handed out. Not thread safe. Out of memory aborts
 * (x.h). */
#ifndef SEEP_UTIL_ARENA_H
#define SEEP_UTIL_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	char *at, *end;	    /* what is left of the newest chunk */
	size_t total_bytes; /* taken from the heap in all, for accounts of memory */
};

/* Zeroed memory of `bytes`, aligned for anything (16). 0 bytes gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t bytes);

/* Copies with a NUL behind; not aligned. arena_strdup(a, NULL) is NULL. */
char *arena_memdup0(struct arena *a, const void *p, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Frees everything; the arena may be used again. Legal on an empty one. */
void arena_done(struct arena *a);

#endif
