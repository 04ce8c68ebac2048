/* SPDX-License-Identifier: MIT */
/* walk_mimalloc.c -- mimalloc 2.x, not its secure builds.
 *
 * Memory is in segments, aligned to their size, of slices of 64 KiB. At a segment's
 * beginning are a cookie, its address mixed with a number that is the same for all, and
 * one entry for each slice; that of a page's first slice describes the page:
 *
 *	0 slices u32 | 10 blocks u16 | 14 flags (bit 1: aligned blocks) | 16 free list
 *
 * where the rest differs by version. Freed blocks are in three lists of their page (its
 * own two, and one that other threads put them into) and in one of the heap that the page
 * belongs to. The version is the one whose counts are right. */
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/target/heap/walker_impl.h"

enum {
	SLICE_SHIFT = 16,
	SLICE = 1 << SLICE_SHIFT,
	INFO_MAX = 16,	 /* slices with entries */
	PAGE_BYTES = 96, /* most of all versions */
	HEAPS_MAX = 1 << 14,
	DELAYED_MAX = 1 << 26,
	PAGE_CAPACITY = 10,
	PAGE_FLAGS = 14,
	PAGE_FREE = 16,
	BLOCKS_MAX = 1 << 16,
	HUGE_BLOCK = 1, /* kind of a segment */
};

/* Where a page's first block is. */
enum front {
	FRONT_SAYS,  /* the entry has its address */
	FRONT_128,   /* small blocks begin so many bytes behind the page's beginning, */
	FRONT_384,   /* or so many, */
	FRONT_SIZES, /* or one or three blocks behind it */
};

/* Offsets in a segment, a page's entry, and a heap. */
static const struct layout {
	const char *name;
	unsigned shift, cookie, slices, info, kind, entries, first, page_bytes;
	unsigned used, local_free, thread_free, heap, size, start, delayed;
	enum front front;
} layouts[] = {
	/* 2.0.9 */
	{"mimalloc 2.0", 25, 216, 224, 232, 240, 248, 264, 80, 24, 32, 40, 48, 28, 0,
	 2840, FRONT_384},
	/* 2.1.5 to 2.1.7 */
	{"mimalloc 2.1", 25, 216, 224, 232, 240, 248, 264, 96, 32, 24, 56, 64, 40, 48, 8,
	 FRONT_SAYS},
	/* 2.1.9 to 2.4.1 */
	{"mimalloc 2.2", 25, 224, 248, 256, 264, 272, 288, 96, 32, 24, 56, 64, 40, 48, 8,
	 FRONT_SAYS},
	/* 2.1.0 to 2.1.4 */
	{"mimalloc 2.1", 25, 216, 224, 232, 240, 248, 264, 80, 24, 32, 40, 48, 28, 0,
	 2840, FRONT_SIZES},
	/* 2.0.3 to 2.0.7 */
	{"mimalloc 2.0", 26, 320, 328, 336, 344, 360, 368, 80, 24, 32, 40, 48, 28, 0,
	 2840, FRONT_128},
};

struct mi {
	const struct layout *l;
	uint64_t key; /* of all cookies; 0 = none was seen yet */
	struct walk_words heaps;
	uint64_t pages;
	unsigned char *free_blocks;
};

/* A page of blocks of one size. */
struct page {
	uint64_t start, end; /* of its slices */
	uint64_t first;	     /* block */
	uint64_t size, capacity, used, heap, lists[3];
	bool aligned;
};

/* ---- a page ---- */

static uint64_t
get(const unsigned char *p, unsigned off, bool wide)
{
	uint32_t half;
	uint64_t word;

	memcpy(&half, p + off, sizeof half);
	memcpy(&word, p + off, sizeof word);
	return wide ? word : half;
}

/* Marks the blocks of a list; false: it leaves the page, or runs in circles. */
static bool
mark_list(struct walk *w, const struct page *p, uint64_t at, unsigned char *free_blocks,
	  uint64_t *ret_n)
{
	uint64_t n = 0;

	while (at != 0) {
		uint64_t k = (at - p->first) / p->size;

		if (at < p->first || k >= p->capacity || (at - p->first) % p->size != 0 ||
		    free_blocks[k] != 0)
			return false;
		free_blocks[k] = 1;
		n++;
		at = walk_word(w, at);
	}
	*ret_n = n;
	return true;
}

static bool
has_sane_blocks(const struct page *p)
{
	return p->capacity <= BLOCKS_MAX && p->used <= p->capacity && p->size >= 8 &&
	       p->first >= p->start && p->first < p->end &&
	       p->size <= UINT64_C(1) << 42 &&
	       (p->capacity <= 1 || p->capacity * p->size <= p->end - p->first);
}

static void
add_page(struct walk *w, struct mi *m, const struct page *p)
{
	uint64_t n[3] = {0};
	bool sane = has_sane_blocks(p);

	m->pages++;
	if (sane)
		memset(m->free_blocks, 0, (size_t)p->capacity);
	for (unsigned i = 0; sane && i < 3; i++)
		sane = mark_list(w, p, p->lists[i], m->free_blocks, &n[i]);
	if (!sane || n[0] + n[1] + p->used != p->capacity || n[2] > p->used) {
		walk_gap(w, p->start, p->end);
		return;
	}
	walk_check(w, true);
	for (uint64_t i = 0; i < p->capacity; i++) {
		if (m->free_blocks[i] == 0)
			walk_block(w, p->first + i * p->size, p->size, p->aligned);
	}
	walk_free(w, n[0] + n[1] + n[2], (n[0] + n[1] + n[2]) * p->size);
	for (size_t i = 0; i < m->heaps.len; i++) {
		if (m->heaps.data[i] == p->heap)
			return;
	}
	if (p->heap != 0 && m->heaps.len < HEAPS_MAX)
		vec_push(&m->heaps, p->heap);
}

/* ---- a segment ---- */

/* How far behind the beginning of its slices a page's first block is. */
static uint64_t
front_bytes(enum front front, uint64_t size)
{
	bool small = size >= 8 && size <= 1024;

	switch (front) {
	case FRONT_128:
		return small ? 128 : 0;
	case FRONT_384:
		return small ? 384 : 0;
	case FRONT_SIZES:
		return size < 8 || size > 512 ? 0 : size <= 64 ? 3 * size : size;
	case FRONT_SAYS:
		break;
	}
	return 0;
}

static void
read_page(const struct layout *l, uint64_t slice, const unsigned char *p, bool huge,
	  struct page *ret)
{
	bool newer = l->front == FRONT_SAYS;
	uint16_t capacity, flags;

	memcpy(&capacity, p + PAGE_CAPACITY, sizeof capacity);
	memcpy(&flags, p + PAGE_FLAGS, sizeof flags);
	*ret = (struct page){.start = slice,
			     .end = slice + (get(p, 0, false) << SLICE_SHIFT),
			     .size = get(p, l->size, newer),
			     .capacity = capacity,
			     .used = get(p, l->used, false),
			     .heap = get(p, l->heap, true),
			     .lists = {get(p, PAGE_FREE, true),
				       get(p, l->local_free, true),
				       get(p, l->thread_free, true) & ~UINT64_C(3)},
			     .aligned = (flags >> 1 & 1) != 0};
	if (newer) {
		ret->used &= 0xffff;
		ret->first = get(p, l->start, true);
	} else {
		ret->first = slice + front_bytes(l->front, ret->size);
		if (huge || ret->size == UINT32_C(0x80000000))
			ret->size = ret->end - slice;
	}
}

/* Goes through the slices of the segment at `s`; false: their counts make no sense. */
static bool
walk_slices(struct walk *w, struct mi *m, uint64_t s, uint64_t info, uint64_t entries)
{
	const struct layout *l = m->l;
	bool huge = walk_u32(w, s + l->kind) == HUGE_BLOCK;

	for (uint64_t i = 0; i < entries;) {
		unsigned char entry[PAGE_BYTES];
		struct page p;
		uint64_t count;

		walk_read(w, s + l->first + l->page_bytes * i, entry, l->page_bytes);
		count = get(entry, 0, false);
		if (count == 0)
			return false;
		read_page(l, s + (i << SLICE_SHIFT), entry, huge, &p);
		/* 0: free; 1: free, in a segment that is kept for later as a whole. */
		if (i >= info && p.size > 1)
			add_page(w, m, &p);
		i += count;
	}
	return true;
}

/* The segment at `s`, if there is one. */
static void
try_segment(struct walk *w, struct mi *m, uint64_t s)
{
	const struct layout *l = m->l;
	uint64_t cookie = walk_word(w, s + l->cookie), key = cookie ^ s;
	uint64_t slices = walk_word(w, s + l->slices), info = walk_word(w, s + l->info);
	uint64_t entries = walk_word(w, s + l->entries);

	if (cookie == 0 || slices == 0 || slices >> 26 != 0 || info == 0 ||
	    info > slices || info > INFO_MAX || entries == 0 ||
	    entries > UINT64_C(1) << (l->shift - SLICE_SHIFT) || entries > slices ||
	    walk_u32(w, s + l->kind) > HUGE_BLOCK || walk_u32(w, s + l->first) != info ||
	    !walk_is_anonymous(w, s, info << SLICE_SHIFT))
		return;
	if (m->key != 0 && m->key != key)
		return;
	m->key = key;
	walk_range(w, s, s + (slices << SLICE_SHIFT));
	walk_check(w, walk_slices(w, m, s, info, entries));
}

/* ---- all of it ---- */

/* Blocks that other threads freed while their page was full. */
static void
take_delayed(struct walk *w, const struct mi *m)
{
	for (size_t i = 0; i < m->heaps.len; i++) {
		uint64_t at = walk_word(w, m->heaps.data[i] + m->l->delayed), n = 0;

		while (at != 0 &&
		       walk_check(w, walk_cached(w, at, 0) && n < DELAYED_MAX)) {
			at = walk_word(w, at);
			n++;
		}
	}
}

static bool
walk_with(struct walk *w, struct mi *m)
{
	const uint64_t align = UINT64_C(1) << m->l->shift;
	const struct memmap *map = w->m->map;
	uint64_t last = 0;

	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];

		if (!walk_is_anonymous(w, a->start, 1))
			continue;
		for (uint64_t s = ALIGN_UP(a->start, align); s < a->end; s += align) {
			if (s < last)
				continue;
			try_segment(w, m, s);
			last = s + align;
		}
	}
	if (m->pages == 0)
		return false;
	walk_name(w, m->l->name);
	take_delayed(w, m);
	return true;
}

void
walk_mimalloc(const struct walker_memory *m, struct heapblocks *to)
{
	bool found = false, before = to->inconsistent;

	for (size_t i = 0; i < ARRAY_LEN(layouts) && !found; i++) {
		struct mi mi = {.l = &layouts[i], .free_blocks = xmalloc(BLOCKS_MAX)};
		struct walk w;

		walk_begin(&w, m, to);
		found = walk_with(&w, &mi);
		found = walk_end(&w, found);
		vec_done(&mi.heaps);
		free(mi.free_blocks);
	}
	/* Those that did not fit were other versions. */
	if (found)
		to->inconsistent = before;
}
