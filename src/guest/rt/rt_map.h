/* SPDX-License-Identifier: MIT */
/* rt_map.h -- memory of our own: private anonymous mappings, never the program's heap. */
#ifndef SEEP_RT_MAP_H
#define SEEP_RT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seccomp filters that are active, or may be any moment: not 0, and nothing more is asked
 * of the kernel, and rt_map gives NULL. */
extern uint32_t rt_sealed;

/* All of our mappings, so that whoever looks for the program's pointers can leave them
 * out. */
struct rt_mapping {
	uint64_t start, bytes; /* start 0: a free slot */
};
enum { RT_MAPPINGS_MAX = 1024 };
extern struct rt_mapping rt_mappings[RT_MAPPINGS_MAX];
extern uint32_t rt_mappings_lost; /* that found no slot */

/* What is in there is the program's: no longer one of ours. */
void rt_map_disown(const void *p);

/* Zeroed private memory, touched page by page as it is used, left out of core dumps. NULL
 * when the kernel refuses (RLIMIT_AS). Signal-safe. */
void *rt_map(size_t bytes);
void rt_unmap(void *p, size_t bytes);

/* The same memory, `more` bytes of it, perhaps at another address. NULL: it stays as it
 * was. */
void *rt_map_grow(void *p, size_t bytes, size_t more);

/* mmap by `flags` and `fd`, readable and writable: an address, or a negative errno. Once
 * rt_map_lock_future() was called, so that the kernel fills and locks every new mapping,
 * ours are neither. */
long rt_mmap(size_t bytes, int flags, int fd);
void rt_map_lock_future(bool locked);

/* Unlocks all of our mappings. */
void rt_map_unlock(void);

/* Bytes of all our mappings that are resident. Asks the kernel for each 2 MiB: for rare
 * moments. */
uint64_t rt_map_resident(void);

/* The same memory, zero again. */
void rt_map_reset(void *p, size_t bytes);

/* Zeroed memory that a forked child finds zeroed again: how a fork is noticed. NULL when
 * the kernel cannot do it (before Linux 4.14). */
void *rt_map_wiped(size_t bytes);
/* Switch that property of such memory. */
void rt_map_wipe(void *p, size_t bytes, bool wipe);

#endif
