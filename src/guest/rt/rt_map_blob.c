/* SPDX-License-Identifier: MIT */
/* rt_map_blob.c -- memory of injected code: cut from one range that was mapped before it
 * came.
 *
 * So no system call is needed while the program runs, and one munmap gives everything
 * back. What is unmapped here stays unused until then; the recorder unmaps only what it
 * outgrew. */
#include "guest/rt/rt_map_blob.h"

#include "guest/rt/rt_map.h"
#include "shared/compiler.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

uint32_t rt_sealed;

static unsigned char *arena_at;
static size_t arena_bytes, arena_used;

void
rt_map_arena(void *at, size_t bytes)
{
	arena_at = at;
	arena_bytes = bytes;
}

void *
rt_map(size_t bytes)
{
	size_t at;

	bytes = ALIGN_UP(bytes, (size_t)4096);
	if (bytes > arena_bytes ||
	    __atomic_load_n(&arena_used, __ATOMIC_RELAXED) > arena_bytes - bytes)
		return NULL;
	at = __atomic_fetch_add(&arena_used, bytes, __ATOMIC_RELAXED);
	return at > arena_bytes - bytes ? NULL : arena_at + at;
}

void
rt_unmap(void *p, size_t bytes)
{
	(void)p, (void)bytes;
}

/* There is no room to move to. */
void *
rt_map_grow(void *p, size_t bytes, size_t more)
{
	(void)p, (void)bytes, (void)more;
	return NULL;
}

/* A recording is never begun in here. */
long
rt_mmap(size_t bytes, int flags, int fd)
{
	(void)bytes, (void)flags, (void)fd;
	return -ENOSYS;
}

uint64_t
rt_map_resident(void)
{
	return __atomic_load_n(&arena_used, __ATOMIC_RELAXED); /* at most */
}

void
rt_map_reset(void *p, size_t bytes)
{
	memset(p, 0, bytes);
}
