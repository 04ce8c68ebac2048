/* SPDX-License-Identifier: MIT */
/* heapwalk_others.c -- what allocators other than glibc's hold in a running process; see
 * heapwalk.h.
 *
 * The walkers find their blocks; here these are added up by what is resident. All that is
 * not in a used block is free memory that the allocator keeps, or its own tables. Caches
 * of threads cannot be found without stopping the process: freed blocks in them count as
 * used. */
#include <stdlib.h>

#include "shared/compiler.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/heap/walker.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/clock.h"
#include "tool/util/x.h"

enum {
	TRIES = 3, /* the process changes its tables while they are read */
	NAP_NS = 1000000,
	PIECES_MOST = 1024, /* of 64 KiB */
	CHUNK_PAGES = 4096,
};

/* Resident bytes of [start, end), of which `present` knows the pages from `from` on. */
static uint64_t
resident(const struct procmem *m, const uint8_t *present, uint64_t from, uint64_t start,
	 uint64_t end)
{
	uint64_t sum = 0;

	while (start < end) {
		uint64_t next = ALIGN_DOWN(start, m->page_bytes) + m->page_bytes;

		next = next < end ? next : end;
		if (present[(start - from) / m->page_bytes] != 0)
			sum += next - start;
		start = next;
	}
	return sum;
}

/* One range of the allocator's, in parts; *at is the first block that may lie in it. */
static void
add_range(const struct procmem *m, const struct heapblocks *h,
	  const struct heapblocks_range *of, size_t *at, struct heapmap *to)
{
	struct heapmap_range r = {
		.kind = HEAPMAP_ARENA, .start = of->start, .end = of->end};
	uint8_t present[CHUNK_PAGES];
	uint64_t from = ALIGN_DOWN(of->start, m->page_bytes), all = 0;

	for (; from < of->end; from += CHUNK_PAGES * m->page_bytes) {
		uint64_t to_page = from + CHUNK_PAGES * m->page_bytes;
		uint64_t start = from > of->start ? from : of->start;
		uint64_t end = to_page < of->end ? to_page : of->end;

		procmem_present(m, from, CHUNK_PAGES, present);
		all += resident(m, present, from, start, end);
		for (; *at < h->blocks.len && h->blocks.data[*at].addr < end; (*at)++) {
			const struct heapblock *b = &h->blocks.data[*at];
			uint64_t b_end = b->addr + b->bytes;

			if (b_end > start)
				r.used_bytes +=
					resident(m, present, from,
						 b->addr > start ? b->addr : start,
						 b_end < end ? b_end : end);
			if (b_end > end)
				break; /* the rest of it is in the next part */
			r.blocks++;
		}
	}
	r.free_bytes = all - r.used_bytes;
	vec_push(&to->ranges, r);
}

bool
heapwalk_others(const struct procmem *m, struct heapmap *to)
{
	struct heapblocks h = {0};
	struct freeze z = FREEZE_NONE;
	bool known = false;
	size_t at = 0;

	for (unsigned i = 0; i < TRIES && !known; i++) {
		if (i > 0)
			clock_nap(NAP_NS);
		heapblocks_done(&h);
		freeze_close(&z);
		z = (struct freeze)FREEZE_NONE;
		if (freeze_open_bare(m->pid, &z, NULL) < 0)
			return false;
		z.pieces.most = PIECES_MOST;
		walker_find(&(struct walker_memory){.mem = &z.mem,
						    .map = &z.map,
						    .look = freeze_look,
						    .ctx = &z},
			    WALKER_OTHERS, &h);
		known = h.known;
		if (!h.inconsistent)
			break;
	}
	for (size_t i = 0; known && i < h.heaps.len; i++)
		add_range(m, &h, &h.heaps.data[i], &at, to);
	if (known) {
		to->known = to->others = true;
		to->arenas += (unsigned)h.owners.len;
		vec_sort(&to->ranges, vec_compare_by(struct heapmap_range, start));
	}
	heapblocks_done(&h);
	freeze_close(&z);
	return known;
}
