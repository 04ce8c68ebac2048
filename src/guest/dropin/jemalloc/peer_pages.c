/* SPDX-License-Identifier: MIT */
/* peer_pages.c -- how many pages a heap like jemalloc's has in use. See peer_pages.h.
 *
 * prof_gdump writes a profile each time jemalloc's heap takes more pages than ever. We
 * are in front of another heap, so that one is followed in numbers: blocks of up to 14
 * KiB share slabs with blocks of their class, larger ones have pages of their own. Slabs
 * are counted as if they were always packed tightly; jemalloc's own may have holes, and
 * then it grows a little earlier.
 *
 * What is known at a free is the block's usable size, so that is what counts at both
 * ends; glibc makes it 8 bytes larger than a multiple of 16, which are taken off
 * again. */
#include "guest/dropin/jemalloc/peer_pages.h"

#include "shared/compiler.h"

enum {
	PAGE = 4096,
	LARGE_LEAST = 16 << 10, /* the least that a block with pages of its own has */
	GLIBC_EXTRA = 8,
};

static uint64_t blocks[PAGES_BINS]; /* live ones of a class */
static uint64_t pages, most;

unsigned
pages_class(size_t bytes)
{
	unsigned top, shift, lg_delta, mod;

	if (bytes <= 8)
		return 0;
	if (bytes > (size_t)7 << 60)
		return PAGES_CLASSES - 1;
	/* Four classes to each doubling, sixteen bytes apart at least. */
	top = 63u - (unsigned)__builtin_clzll((bytes << 1) - 1);
	shift = top < 6 ? 0 : top - 6;
	lg_delta = top < 7 ? 4 : top - 3;
	mod = (unsigned)((bytes - 1) >> lg_delta) & 3;
	return 1 + shift * 4 + mod;
}

size_t
pages_class_bytes(unsigned class)
{
	unsigned group, mod, shift;

	if (class == 0)
		return 8;
	group = (class - 1) / 4;
	mod = (class - 1) % 4;
	shift = group == 0 ? 1 : group;
	return (group == 0 ? 0 : (size_t)32 << group) +
	       ((size_t)(mod + 1) << (shift + 3));
}

/* The smallest run of pages that blocks of a size fill without a rest. */
static size_t
slab_bytes(size_t each)
{
	size_t bytes = PAGE;

	while (bytes % each != 0)
		bytes += PAGE;
	return bytes;
}

struct place {
	unsigned class;
	size_t each, slab; /* slab 0: pages of its own */
};

static struct place
place_of(size_t usable, bool alone)
{
	size_t n = usable > GLIBC_EXTRA ? usable - GLIBC_EXTRA : usable;
	struct place p = {.class = pages_class(n)};

	p.each = pages_class_bytes(p.class);
	if (p.class < PAGES_BINS && !alone)
		p.slab = slab_bytes(p.each);
	else if (p.each < LARGE_LEAST)
		p.each = LARGE_LEAST;
	return p;
}

static bool
grow(uint64_t by)
{
	uint64_t now = __atomic_add_fetch(&pages, by, __ATOMIC_RELAXED);
	uint64_t seen = __atomic_load_n(&most, __ATOMIC_RELAXED);

	while (now > seen)
		if (__atomic_compare_exchange_n(&most, &seen, now, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* Blocks from before we looked are freed too: never below 0. */
static bool
take_one(uint64_t *count, uint64_t by, uint64_t *ret_left)
{
	uint64_t seen = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (seen >= by)
		if (__atomic_compare_exchange_n(count, &seen, seen - by, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*ret_left = seen - by;
			return true;
		}
	return false;
}

bool
pages_add(size_t usable, bool alone)
{
	struct place p = place_of(usable, alone);
	uint64_t n;

	if (p.slab == 0)
		return grow(p.each / PAGE);
	n = __atomic_add_fetch(&blocks[p.class], 1, __ATOMIC_RELAXED);
	return (n - 1) % (p.slab / p.each) == 0 && grow(p.slab / PAGE);
}

void
pages_del(size_t usable, bool alone)
{
	struct place p = place_of(usable, alone);
	uint64_t left;

	if (p.slab == 0)
		take_one(&pages, p.each / PAGE, &left);
	else if (take_one(&blocks[p.class], 1, &left) && left % (p.slab / p.each) == 0)
		take_one(&pages, p.slab / PAGE, &left);
}

bool
pages_at_most(void)
{
	return __atomic_load_n(&pages, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&most, __ATOMIC_RELAXED);
}
