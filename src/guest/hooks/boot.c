/* SPDX-License-Identifier: MIT */
/* boot.c -- memory for those who ask before the real allocator is known.
 *
 * dlsym allocates while we look malloc up. It is served from mappings of our own, as many
 * as it takes; they are never unmapped, so the check at free stays a few compares. Each
 * block is preceded by 16 bytes with its size, for realloc and malloc_usable_size. */
#include "guest/hooks/boot.h"

#include "guest/rt/lock.h"
#include "guest/rt/rt_map.h"
#include "shared/compiler.h"

enum {
	ARENA_BYTES = 256 << 10,
	ARENAS_MAX = 64,
	HEADER_BYTES = 16,
};

struct arena {
	unsigned char *at, *end, *free;
};

bool boot_used;

static struct arena arenas[ARENAS_MAX];
static unsigned narenas;
static uint32_t boot_lock;

static unsigned char *
fit(struct arena *a, size_t bytes, size_t align)
{
	uintptr_t p = ALIGN_UP((uintptr_t)a->free + HEADER_BYTES, (uintptr_t)align);

	if (a->at == NULL || p > (uintptr_t)a->end || (uintptr_t)a->end - p < bytes)
		return NULL;
	a->free = (unsigned char *)p + bytes;
	*(size_t *)(void *)(p - HEADER_BYTES) = bytes;
	return (unsigned char *)p;
}

void *
boot_alloc(size_t bytes, size_t align)
{
	unsigned char *p = NULL;

	if (align < 16)
		align = 16;
	if (align > 4096 || bytes > SIZE_MAX / 2)
		return NULL;
	if (!lock_take(&boot_lock, lock_id()))
		return NULL;
	if (narenas > 0)
		p = fit(&arenas[narenas - 1], bytes, align);
	if (p == NULL && narenas < ARENAS_MAX) {
		size_t want = ALIGN_UP(bytes + 2 * 4096, (size_t)ARENA_BYTES);
		unsigned char *m = rt_map(want);

		if (m != NULL) {
			rt_map_disown(m);
			arenas[narenas] = (struct arena){m, m + want, m};
			__atomic_store_n(&narenas, narenas + 1, __ATOMIC_RELEASE);
			p = fit(&arenas[narenas - 1], bytes, align);
		}
	}
	boot_used = true;
	lock_drop(&boot_lock);
	return p;
}

bool
boot_owns_slow(const void *p)
{
	const unsigned char *c = p;
	unsigned n = __atomic_load_n(&narenas, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n; i++)
		if (c >= arenas[i].at && c < arenas[i].end)
			return true;
	return false;
}

size_t
boot_size(const void *p)
{
	return *(const size_t *)(const void *)((const unsigned char *)p - HEADER_BYTES);
}
