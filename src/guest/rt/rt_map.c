/* SPDX-License-Identifier: MIT */
/* rt_map.c -- private anonymous mappings by raw system calls. See rt_map.h. */
#include "guest/rt/rt_map.h"

#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#	define MADV_WIPEONFORK 18
#	define MADV_KEEPONFORK 19
#endif

enum { RT_PAGE_BYTES = 4096, MINCORE_PAGES = 512 };

uint32_t rt_sealed;
struct rt_mapping rt_mappings[RT_MAPPINGS_MAX];
uint32_t rt_mappings_lost;
static bool lock_future; /* the program asked for that, by mlockall(MCL_FUTURE) */

static void
note(uintptr_t start, size_t bytes)
{
	for (unsigned i = 0; i < RT_MAPPINGS_MAX; i++) {
		uint64_t none = 0;

		if (__atomic_load_n(&rt_mappings[i].start, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&rt_mappings[i].start, &none, start,
						false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			rt_mappings[i].bytes = bytes;
			return;
		}
	}
	__atomic_fetch_add(&rt_mappings_lost, 1, __ATOMIC_RELAXED);
}

void
rt_map_disown(const void *p)
{
	for (unsigned i = 0; i < RT_MAPPINGS_MAX; i++) {
		if (__atomic_load_n(&rt_mappings[i].start, __ATOMIC_RELAXED) !=
		    (uintptr_t)p)
			continue;
		rt_mappings[i].bytes = 0;
		__atomic_store_n(&rt_mappings[i].start, 0, __ATOMIC_RELAXED);
		return;
	}
}

void
rt_map_lock_future(bool locked)
{
	__atomic_store_n(&lock_future, locked, __ATOMIC_RELAXED);
}

long
rt_mmap(size_t bytes, int flags, int fd)
{
	long r;

	if (LIKELY(!__atomic_load_n(&lock_future, __ATOMIC_RELAXED)))
		return sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd);
	/* What may not be read is not filled; unlocked, it will not be when it may. */
	r = sys_mmap(NULL, bytes, PROT_NONE, flags, fd);
	if (r < 0 && r > -4096)
		return r;
	SYS2(SYS_munlock, r, bytes);
	SYS3(SYS_mprotect, r, bytes, PROT_READ | PROT_WRITE);
	return r;
}

void
rt_map_unlock(void)
{
	for (unsigned i = 0; i < RT_MAPPINGS_MAX && !rt_sealed; i++) {
		uint64_t start = __atomic_load_n(&rt_mappings[i].start, __ATOMIC_RELAXED);

		if (start != 0)
			SYS2(SYS_munlock, start, rt_mappings[i].bytes);
	}
}

void *
rt_map(size_t bytes)
{
	long r;

	if (rt_sealed)
		return NULL;
	r = rt_mmap(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (r < 0 && r > -4096)
		return NULL;
	sys_madvise((void *)r, bytes, MADV_DONTDUMP);
	note((uintptr_t)r, bytes);
	return (void *)r;
}

void
rt_unmap(void *p, size_t bytes)
{
	if (p == NULL || rt_sealed)
		return;
	rt_map_disown(p); /* before another thread can be given the address */
	sys_munmap(p, bytes);
}

void *
rt_map_grow(void *p, size_t bytes, size_t more)
{
	long r;

	if (rt_sealed)
		return NULL;
	rt_map_disown(p); /* as in rt_unmap */
	r = SYS4(SYS_mremap, p, bytes, more, MREMAP_MAYMOVE);
	if (r < 0 && r > -4096) {
		note((uintptr_t)p, bytes);
		return NULL;
	}
	note((uintptr_t)r, more);
	return (void *)r;
}

static uint64_t
resident_in(uintptr_t start, uint64_t bytes)
{
	unsigned char there[MINCORE_PAGES];
	uint64_t pages = (bytes + RT_PAGE_BYTES - 1) / RT_PAGE_BYTES, sum = 0;

	for (uint64_t at = 0; at < pages; at += MINCORE_PAGES) {
		uint64_t n = pages - at < MINCORE_PAGES ? pages - at : MINCORE_PAGES;

		/* Unmapped by another thread meanwhile: what is there by now is not
		 * ours. */
		if (SYS3(SYS_mincore, start + at * RT_PAGE_BYTES, n * RT_PAGE_BYTES,
			 there) != 0)
			break;
		for (uint64_t i = 0; i < n; i++)
			sum += there[i] & 1;
	}
	return sum * RT_PAGE_BYTES;
}

uint64_t
rt_map_resident(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < RT_MAPPINGS_MAX && !rt_sealed; i++) {
		uint64_t start = __atomic_load_n(&rt_mappings[i].start, __ATOMIC_RELAXED);

		if (start != 0)
			sum += resident_in(start, rt_mappings[i].bytes);
	}
	return sum;
}

void
rt_map_reset(void *p, size_t bytes)
{
	sys_madvise(p, bytes, MADV_DONTNEED);
}

void
rt_map_wipe(void *p, size_t bytes, bool wipe)
{
	sys_madvise(p, bytes, wipe ? MADV_WIPEONFORK : MADV_KEEPONFORK);
}

void *
rt_map_wiped(size_t bytes)
{
	void *p = rt_map(bytes);

	if (p == NULL)
		return NULL;
	if (sys_madvise(p, bytes, MADV_WIPEONFORK) < 0) {
		rt_unmap(p, bytes);
		return NULL;
	}
	return p;
}
