/* SPDX-License-Identifier: MIT */
/* mappings.c -- part of the address space goes: which recorded mappings that ends or shortens.
 *
 * Blocks of the mmap class are known by their start only, so the pages of the range are looked at
 * one by one; a mapping that began below the range is not found that way and keeps its size,
 * which is said in the manual. A mapping of which only the front goes is freed and what remains
 * is entered again under the same site. */
#include "record/cells.h"
#include "record/events.h"
#include "record/livetable.h"

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

void
record_unmap(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes)
{
	uintptr_t end = addr + bytes;

	for (uintptr_t at = addr; at < end; at += PAGE) {
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
