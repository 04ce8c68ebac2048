/* SPDX-License-Identifier: MIT */
/* scan.c -- see scan.h.
 *
 * Heaps are dense: most blocks have a neighbour within a few hundred bytes, and all of a
 * program's memory falls into a handful of areas. For each 512 bytes of an area the
 * number of blocks before them is kept, so a lookup is a search among very few blocks. A
 * large block needs none of that: it may be a terabyte that was never touched. */
#include "tool/leak/scan.h"

#include "shared/compiler.h"
#include "shared/mem.h"

enum {
	PAGE_SHIFT = 9,	      /* a slot of the index: a block or two */
	AREA_GAP = 256 << 10, /* farther apart than this: another area */
	LARGE = 1 << 20,      /* a block that is an area of its own, without slots */
	/* of a block of glibc's malloc, whose first half is the block before's */
	HEADER = 16,
};

#define NO_SLOTS UINT32_MAX /* scan_area.pages of one that is a single block */

/* ---- the space ---- */

const struct scan_map *
scan_map_at(const struct scan_space *s, uint64_t addr)
{
	uint32_t low = 0, high = s->nmaps;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->maps[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->nmaps && s->maps[low].start <= addr ? &s->maps[low] : NULL;
}

bool
scan_word(struct scan_space *s, uint64_t addr, uint64_t *ret_word)
{
	uint64_t n = 0;

	if (addr < s->seen_start || addr + 8 > s->seen_end) {
		const unsigned char *p = s->look(s->ctx, addr, 8, &n);

		if (p == NULL)
			return false;
		s->seen = p;
		s->seen_start = addr;
		s->seen_end = addr + n;
		if (n < 8)
			return false;
	}
	*ret_word = mem_get_u64(s->seen + (addr - s->seen_start));
	return true;
}

/* ---- blocks ---- */

static uint64_t
block_end(const struct scan_block *b)
{
	return b->addr + (b->bytes > 0 ? b->bytes : 1);
}

/* The same for words: one past 8 bytes may be the address of new T[0], see
 * scan_is_past. */
static uint64_t
probe_end(const struct scan_block *b)
{
	return block_end(b) + (b->bytes == SCAN_COOKIE_BYTES);
}

bool
scan_is_past(const struct scan_block *b, uint64_t addr)
{
	return addr >= block_end(b);
}

uint32_t
scan_tidy(struct scan_block *blocks, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n && block_end(&blocks[i]) > blocks[i + 1].addr &&
		    (blocks[i + 1].flags & SCAN_BLOCK_CUSTOM) != 0 &&
		    (blocks[i].flags & SCAN_BLOCK_CUSTOM) == 0)
			continue;
		blocks[kept++] = blocks[i];
	}
	return kept;
}

static uint64_t
page_start(uint64_t addr)
{
	return ALIGN_DOWN(addr, UINT64_C(1) << PAGE_SHIFT);
}

/* Whether block `i` is an area of its own. */
static bool
is_alone(const struct scan_block *blocks, uint32_t n, uint32_t i)
{
	return blocks[i].bytes >= LARGE &&
	       (i + 1 == n || blocks[i + 1].addr >= block_end(&blocks[i]));
}

/* One more than the slots of an area that begins with block `i`: the end of its last
 * page. */
static uint64_t
area_slots(const struct scan_block *blocks, uint32_t n, uint32_t i, uint64_t end)
{
	if (is_alone(blocks, n, i))
		return 0;
	return ((end - page_start(blocks[i].addr)) >> PAGE_SHIFT) + 2;
}

/* Where the area ends that begins with block `i`; *ret_end is its last byte's end. */
static uint32_t
area_blocks(const struct scan_block *blocks, uint32_t n, uint32_t i, uint64_t *ret_end)
{
	uint64_t end = probe_end(&blocks[i]);

	if (is_alone(blocks, n, i)) {
		*ret_end = end;
		return i + 1;
	}
	for (i++; i < n && blocks[i].addr < end + AREA_GAP && !is_alone(blocks, n, i);
	     i++) {
		if (probe_end(&blocks[i]) > end)
			end = probe_end(&blocks[i]);
	}
	if (i < n && blocks[i].addr == end - 1) /* one past the last is another block */
		end--;
	*ret_end = end;
	return i;
}

size_t
scan_index_bytes(const struct scan_block *blocks, uint32_t n)
{
	size_t areas = 0, slots = 0;
	uint64_t end;

	for (uint32_t i = 0; i < n; areas++) {
		uint32_t first = i;

		i = area_blocks(blocks, n, i, &end);
		slots += area_slots(blocks, n, first, end);
	}
	return areas * sizeof(struct scan_area) + slots * sizeof(uint32_t);
}

static uint32_t
count_areas(const struct scan_block *blocks, uint32_t n)
{
	uint32_t areas = 0;
	uint64_t end;

	for (uint32_t i = 0; i < n; areas++)
		i = area_blocks(blocks, n, i, &end);
	return areas;
}

void
scan_index_init(struct scan_index *ret_index, struct scan_block *blocks, uint32_t n,
		void *memory)
{
	struct scan_index x = {.blocks = blocks, .nblocks = n, .areas = memory};
	uint32_t slot = 0, areas = count_areas(blocks, n);

	x.pages = (uint32_t *)(void *)(x.areas + areas);
	for (uint32_t i = 0; i < n;) {
		struct scan_area *a = &x.areas[x.nareas++];
		uint32_t last, at = i;
		uint64_t slots;

		a->start = page_start(blocks[i].addr);
		if (x.nareas > 1 && a->start < a[-1].end)
			a->start = a[-1].end; /* they share a slot's bytes */
		a->first = i;
		a->pages = is_alone(blocks, n, i) ? NO_SLOTS : slot;
		last = area_blocks(blocks, n, i, &a->end);
		slots = area_slots(blocks, n, i, a->end);
		for (uint64_t k = 0; k < slots; k++) {
			while (at < last && blocks[at].addr < page_start(blocks[i].addr) +
								      (k << PAGE_SHIFT))
				at++;
			x.pages[slot++] = at;
		}
		i = last;
	}
	if (n > 0) {
		x.start = x.areas[0].start;
		x.end = x.areas[x.nareas - 1].end;
	}
	*ret_index = x;
}

static const struct scan_area *
area_at(const struct scan_index *x, uint64_t addr)
{
	uint32_t low = 0, high = x->nareas;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (x->areas[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->nareas && x->areas[low].start <= addr ? &x->areas[low] : NULL;
}

bool
scan_probe(const struct scan_index *x, uint64_t addr, struct scan_probe *ret_probe)
{
	const struct scan_area *a;
	uint64_t page;

	if (addr - x->start >= x->end - x->start)
		return false;
	a = area_at(x, addr);
	if (a == NULL)
		return false;
	*ret_probe = (struct scan_probe){.addr = addr, .area = a};
	if (a->pages != NO_SLOTS) {
		page = (addr - page_start(x->blocks[a->first].addr)) >> PAGE_SHIFT;
		ret_probe->slot = &x->pages[a->pages + page];
		__builtin_prefetch(ret_probe->slot);
	}
	return true;
}

void
scan_probe_on(const struct scan_index *x, struct scan_probe *p)
{
	if (p->slot == NULL) {
		p->low = p->area->first + (p->addr >= x->blocks[p->area->first].addr);
		p->high = p->low;
		return;
	}
	p->low = p->slot[0];
	p->high = p->slot[1];
	__builtin_prefetch(&x->blocks[p->low - (p->low > 0)]);
	if (p->high > p->low)
		__builtin_prefetch(&x->blocks[p->high - 1]);
}

struct scan_block *
scan_probe_end(const struct scan_index *x, const struct scan_probe *p)
{
	uint32_t low = p->low, high = p->high;

	while (low < high) { /* the first one that begins behind addr */
		uint32_t middle = low + (high - low) / 2;

		if (x->blocks[middle].addr <= p->addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->area->first || p->addr >= probe_end(&x->blocks[low - 1]))
		return NULL;
	return &x->blocks[low - 1];
}

struct scan_block *
scan_find(const struct scan_index *x, uint64_t addr)
{
	struct scan_probe p;
	struct scan_block *b;

	if (!scan_probe(x, addr, &p))
		return NULL;
	scan_probe_on(x, &p);
	b = scan_probe_end(x, &p);
	return b != NULL && scan_is_past(b, addr) ? NULL : b;
}

bool
scan_is_header(const struct scan_block *b, uint64_t word)
{
	uint64_t size = ALIGN_UP(b->bytes + HEADER / 2, (uint64_t)HEADER);

	return (b->flags & SCAN_BLOCK_HEADER) != 0 && word != b->addr &&
	       word == b->addr + size - HEADER;
}
