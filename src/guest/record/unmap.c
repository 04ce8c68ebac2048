/* SPDX-License-Identifier: MIT */
/* unmap.c -- part of the address space goes: which recorded mappings that ends or
 * shortens.
 *
 * Blocks of the mmap class are known by their start only, so the pages of the range are
 * looked at one by one, but for those parts of the table that are not there; a mapping
 * that began below the range is not found that way and keeps its size, which is said in
 * the manual. A mapping of which only the front goes is freed and what remains is entered
 * again under the same site. */
#include "guest/record/cells.h"
#include "guest/record/events.h"
#include "guest/record/livetable.h"

enum { PAGE = 4096 };

/* What lies at `at`, if it is a mapping or part of the break. */
static bool
mapping_at(struct recorder *r, struct thread *t, uintptr_t at, struct rec_block *ret)
{
	struct live_slot slot;
	unsigned kind;

	if (live_find(r, t, at, &slot) != LIVE_OK)
		return false;
	*ret = *slot.block;
	live_unlock(t, &slot);
	kind = ret->a >> REC_BLOCK_KIND_SHIFT & 15;
	return kind == REC_KIND_MMAP || kind == REC_KIND_BRK;
}

static uint32_t
ref_at(const struct recorder *r, uint32_t table, uintptr_t i)
{
	return __atomic_load_n((const uint32_t *)rec_at(r, table) + i, __ATOMIC_ACQUIRE);
}

/* The first address from `at` on, in steps of a page, whose page the table knows; `end`:
 * none. */
static uintptr_t
known_from(const struct recorder *r, uintptr_t at, uintptr_t end)
{
	const uint32_t *root = (const void *)(r->base + REC_ROOT_OFF);

	while (at < end) {
		unsigned shift = REC_ROOT_SHIFT;
		uint32_t ref =
			__atomic_load_n(&root[at >> REC_ROOT_SHIFT], __ATOMIC_ACQUIRE);

		if (ref != 0) {
			shift = REC_MID_SHIFT;
			ref = ref_at(r, ref, at >> REC_MID_SHIFT & (REC_MID_SLOTS - 1));
		}
		if (ref != 0) {
			shift = REC_LEAF_SHIFT;
			ref = ref_at(r, ref, at >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1));
		}
		if (ref != 0)
			return at;
		/* The part of the break that goes need not begin with a page. */
		at += ALIGN_UP((((at >> shift) + 1) << shift) - at, (uintptr_t)PAGE);
	}
	return end;
}

void
record_unmap(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes)
{
	const uintptr_t most = (uintptr_t)REC_ROOT_SLOTS << REC_ROOT_SHIFT;
	uintptr_t end = addr + bytes;

	if (end > most || end < addr)
		end = most;
	for (uintptr_t at = addr; (at = known_from(r, at, end)) < end; at += PAGE) {
		struct rec_block b;
		struct rec_cell *c;
		uintptr_t stop;

		if (!mapping_at(r, t, at, &b))
			continue;
		stop = at + (b.a & REC_BLOCK_SIZE_MASK);
		record_free(r, t, at);
		if (stop <= end)
			continue;
		c = cells_get(r, t, (uint32_t)b.b);
		if (c != NULL)
			record_alloc_in(
				r, t, c, end, stop - end,
				(enum rec_kind)(b.a >> REC_BLOCK_KIND_SHIFT & 15));
	}
}
