/* SPDX-License-Identifier: MIT */
/* leak_holes.c -- memory excluded from the root set.
 *
 * The heap (blocks are followed, the rest of it is free memory and malloc's own),
 * malloc's lists of free memory, our own memory, dead stacks. What of these cannot be
 * found is looked at like any other memory: that can hide a leak, never make one up. When
 * the recording does not know all blocks, the heap outside of the known ones is looked at
 * for the same reason. */
#include "tool/session/leaks/leakcheck_impl.h"

#include <stdlib.h>
#include <string.h>

#include "tool/leak/roots.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/proc/anonparts.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	RED_ZONE = 128,
	STACKS_MAX = 1 << 16,
	SPARES_MAX = 1 << 24,
};

static void
add_hole(struct look *k, uint64_t start, uint64_t end)
{
	if (start < end)
		vec_push(&k->holes, (struct scan_range){start, end});
}

/* ---- mappings ---- */

static bool
is_loader(const char *path)
{
	const char *name = file_base(path);

	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0 ||
	       strncmp(name, "ld.so", 5) == 0 || strncmp(name, "ld64.so", 7) == 0;
}

/* Copies of libc besides the first: dlmopen has loaded them. */
static uint64_t
count_libcs(const struct memmap *map)
{
	uint64_t n = 0;

	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];

		n += a->inode != 0 && a->offset == 0 &&
		     strcmp(file_base(a->name), "libc.so.6") == 0;
	}
	return n > 0 ? n - 1 : 0;
}

void
leak_holes_maps(struct look *k)
{
	k->c->libcs = count_libcs(&k->z.map);
	for (size_t i = 0; i < k->z.map.areas.len; i++) {
		const struct memmap_area *a = &k->z.map.areas.data[i];

		if (a->inode == k->f->inode && a->perms[3] == 's')
			add_hole(k, a->start, a->end);
		if (a->inode != 0 && is_loader(a->name)) {
			if (k->loader.start == 0)
				k->loader.start = a->start;
			k->loader.end = a->end;
		}
		scanmaps_add(&k->maps, a, &k->z);
	}
	k->space = (struct scan_space){.maps = k->maps.data,
				       .nmaps = (uint32_t)k->maps.len,
				       .look = freeze_look,
				       .ctx = &k->z};
}

/* ---- holes ---- */

/* Blocks of glibc's malloc that have a header behind them. */
static void
mark_headers(struct look *k, const struct heapmap *heap)
{
	size_t r = 0;

	for (size_t i = 0; i < k->blocks.len; i++) {
		struct scan_block *b = &k->blocks.data[i];

		while (r < heap->ranges.len && heap->ranges.data[r].end <= b->addr)
			r++;
		if (r < heap->ranges.len && heap->ranges.data[r].start <= b->addr &&
		    heap->ranges.data[r].kind != HEAPMAP_CHUNK &&
		    (b->flags & SCAN_BLOCK_CUSTOM) == 0)
			b->flags |= SCAN_BLOCK_HEADER;
	}
}

/* May there be blocks that were never seen? */
static bool
may_be_unknown(const struct rec_head *h)
{
	return h->frees_unknown > 0 || (h->flags & REC_FLAG_PAST) != 0;
}

static int
add_heap_holes(struct look *k, struct err *e)
{
	struct heapmap heap = {0};
	struct tracee_span state = {0};
	int r;

	heapwalk(&k->z.mem, &k->z.map, &(struct heapwalk_opts){.ranges_only = true},
		 &heap);
	mark_headers(k, &heap);
	/* Frees of blocks never seen: if all that there is now is known, nothing is
	 * missing. */
	if (!k->c->loose && heap.known && !leak_unseen(k))
		k->c->loose = may_be_unknown(k->f->head);
	else if (!heap.known)
		k->c->loose = k->c->loose || may_be_unknown(k->f->head);
	if (freeze_malloc_state(&k->z, &state))
		add_hole(k, state.start, state.end);
	for (size_t i = 0; i < heap.ranges.len; i++) {
		const struct heapmap_range *a = &heap.ranges.data[i];

		if (a->kind == HEAPMAP_CHUNK || k->c->loose)
			continue;
		add_hole(k, a->start, a->end);
		vec_push(&k->heaps, (struct scan_range){a->start, a->end});
	}
	r = leak_walk(k, &heap, e);
	/* An allocator of the program's own: what it keeps between its blocks is in their
	 * pages. */
	for (size_t i = 0; r == 0 && !heap.known && !k->c->loose && i < k->pages.len;
	     i++) {
		add_hole(k, k->pages.data[i].start, k->pages.data[i].end);
		vec_push(&k->heaps, k->pages.data[i]);
	}
	heapmap_done(&heap);
	return r < 0 ? r : 0;
}

/* Blocks that lie in no heap that is left out as a whole. */
static void
add_block_holes(struct look *k)
{
	size_t h = 0;

	vec_sort(&k->heaps, vec_compare_by(struct scan_range, start));
	for (size_t i = 0; i < k->blocks.len; i++) {
		const struct scan_block *b = &k->blocks.data[i];
		uint64_t end = b->addr + (b->bytes > 0 ? b->bytes : 1);

		while (h < k->heaps.len && k->heaps.data[h].end <= b->addr)
			h++;
		if (h < k->heaps.len && k->heaps.data[h].start <= b->addr &&
		    end <= k->heaps.data[h].end)
			continue;
		add_hole(k, b->addr, end);
	}
}

static void
add_own_holes(struct look *k)
{
	struct anonparts_range *own;
	uint32_t n = anonparts_own(k->f, &k->z.mem, &own);

	for (uint32_t i = 0; i < n; i++)
		add_hole(k, own[i].start, own[i].start + own[i].bytes);
	free(own);
}

/* Where the dead part of a stack begins whose live part begins at `sp`. */
static uint64_t
stack_start(const struct look *k, const struct roots_stack *stacks, uint32_t n,
	    uint64_t sp)
{
	const struct roots_stack *s = roots_stack_of(stacks, n, sp);
	const struct memmap_area *a;

	if (s != NULL)
		return s->range.start;
	a = memmap_find(&k->z.map, sp);
	return a != NULL && strcmp(a->name, "[stack]") == 0 ? a->start : sp;
}

static void
add_stack_holes(struct look *k)
{
	struct roots_stack *stacks = xcalloc(STACKS_MAX, sizeof *stacks);
	uint32_t n = 0;

	for (size_t i = 0; i < k->z.map.areas.len; i++) {
		const struct memmap_area *a = &k->z.map.areas.data[i];
		const char *name = file_base(a->name);

		if (a->inode != 0 && a->perms[1] == 'w' &&
		    (is_loader(a->name) || strncmp(name, "libpthread", 10) == 0))
			n += roots_stacks(&k->space,
					  (struct scan_range){a->start, a->end},
					  stacks + n, STACKS_MAX - n);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (stacks[i].ended)
			add_hole(k, stacks[i].range.start, stacks[i].range.end);
	}
	for (size_t i = 0; i < k->z.threads.len; i++) {
		uint64_t sp = k->z.threads.data[i].sp - RED_ZONE;

		if (k->z.threads.data[i].sp > RED_ZONE)
			add_hole(k, stack_start(k, stacks, n, sp), sp);
	}
	if (k->at != NULL && k->at->sp != 0)
		add_hole(k, stack_start(k, stacks, n, k->at->sp), k->at->sp);
	/* Where it waits for the look that it has asked for, the stack is the
	 * recorder's. */
	if (k->at == NULL && k->own->why == REC_HOLD_ASKED && k->own->sp != 0)
		add_hole(k, stack_start(k, stacks, n, k->own->sp), k->own->sp);
	free(stacks);
}

int
leak_holes_find(struct look *k, struct err *e)
{
	int r = add_heap_holes(k, e);

	if (r < 0)
		return r;
	add_block_holes(k);
	add_own_holes(k);
	add_stack_holes(k);
	return 0;
}

/* ---- spared ---- */

struct rec_spare *
leak_spares(struct look *k, const struct scan_index *index, uint32_t *ret_n)
{
	uint32_t n = k->own->nspares < SPARES_MAX ? k->own->nspares : SPARES_MAX;
	struct rec_spare *spares = xcalloc(n > 0 ? n : 1, sizeof *spares);

	if (k->own->spares == 0 ||
	    procmem_read(&k->z.mem, k->own->spares, spares, n * sizeof *spares) < 0)
		n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct scan_block *b = scan_find(index, spares[i].start);

		if (b != NULL &&
		    (spares[i].bytes == REC_SPARE_ANY_SIZE ||
		     (b->addr == spares[i].start && b->bytes == spares[i].bytes)))
			b->flags |= SCAN_BLOCK_ROOT;
	}
	*ret_n = n;
	return spares;
}
