/* SPDX-License-Identifier: MIT */
/* walk_jemalloc.c -- jemalloc 5.2 and 5.3 with 48-bit addresses and pages of 4 KiB.
 *
 * Its table of pages (rtree) leads to a descriptor for each extent (edata in 5.3,
 * extent_t in 5.2):
 *
 *	0	bits: arena 0-11, slab 12, then state, class and free blocks, by version
 *	8	address
 *	16	bytes, with other things in the low 12 bits
 *	64	bitmap of a slab: 1 = free
 *
 * A slab has blocks of one class; any other extent in use is one block. jemalloc's own
 * memory (descriptors, leaves, arenas) is in base blocks:
 *
 *	0 bytes | 8 next | 16 descriptor, whose address is at 24
 *
 * which begin at a multiple of 2 MiB and are found from anything inside them. */
#include "shared/compiler.h"
#include "tool/target/heap/walk_jemalloc_impl.h"

enum {
	DESCRIPTOR_BYTES = 128,
	DESCRIPTOR_ALIGN = 64,
	BITMAP = 64,
	SLAB = 12,
	SLAB_BLOCKS_MAX = 512,
	FREE_MASK = 1023,
	CLASS_MASK = 255,
	STATES = 6,
	ELEMENT_STATE = 2, /* bits of an element, in 5.3 */
	ELEMENTS_LEAST = 4,
	ROOT_ENTRIES = 1 << 18,
	BASE_STEPS_MAX = 512, /* back to the beginning of a base block */
};

#define BASE_ALIGN (UINT64_C(2) << 20)
#define EXTENT_MAX (UINT64_C(1) << 40)
#define STACK_FIRST UINT64_C(0x7a7a7a7a7a7a7a7a)

static const struct je_layout layouts[] = {
	{"jemalloc 5.3", 17, 7, 20, 28, ~UINT64_C(127), ~((UINT64_C(1) << 45) - 1), true},
	{"jemalloc 5.2", 16, 3, 18, 26, ~UINT64_C(1), 0, false},
};

uint64_t
je_size(unsigned i)
{
	unsigned group, k;

	if (i == 0)
		return 8;
	group = (i - 1) >> 2;
	k = (i - 1) & 3;
	if (group == 0)
		return UINT64_C(16) * (k + 1);
	if (group > 44)
		return 0;
	return (UINT64_C(64) << (group - 1)) + ((uint64_t)(k + 1) << (group + 3));
}

/* An element's low 48 bits are the address of a descriptor, and some flags. */
static uint64_t
descriptor_of(const struct je_layout *l, uint64_t element)
{
	return (uint64_t)((int64_t)(element << 16) >> 16) & l->pointer_mask;
}

static bool
describe(const struct je_layout *l, struct walk *w, uint64_t element,
	 struct walk_extent *ret)
{
	uint64_t at = descriptor_of(l, element), words[3];

	if (at == 0 || !IS_ALIGNED(at, DESCRIPTOR_ALIGN) || !walk_is_writable(w, at) ||
	    !walk_read(w, at, words, sizeof words))
		return false;
	words[2] &= ~(uint64_t)(JE_PAGE - 1);
	if ((words[0] & l->spare) != 0 ||
	    (words[0] >> l->state_shift & l->state_bits) >= STATES || words[2] == 0 ||
	    words[2] > EXTENT_MAX || words[1] == 0 || words[1] >> WALK_ADDRESS_BITS != 0)
		return false;
	*ret = (struct walk_extent){at, words[1] / JE_PAGE, words[2] / JE_PAGE};
	return true;
}

static bool
describe_53(struct walk *w, uint64_t element, struct walk_extent *ret)
{
	return describe(&layouts[0], w, element, ret);
}

static bool
describe_52(struct walk *w, uint64_t element, struct walk_extent *ret)
{
	return describe(&layouts[1], w, element, ret);
}

/* ---- base blocks ---- */

static bool
is_base(struct walk *w, uint64_t at, uint64_t holds, uint64_t *ret_bytes)
{
	uint64_t words[4];

	if (!walk_read(w, at, words, sizeof words))
		return false;
	*ret_bytes = words[0];
	return words[0] != 0 && IS_ALIGNED(words[0], JE_PAGE) && words[0] < EXTENT_MAX &&
	       at + words[0] > holds && IS_ALIGNED(words[1], BASE_ALIGN) &&
	       (words[1] == 0 || walk_is_writable(w, words[1])) && words[3] > at &&
	       words[3] <= at + words[0];
}

/* Adds the base block that holds `addr`; where there is none to be found, so many bytes
 * there. */
static void
add_base(struct walk *w, struct je *j, uint64_t addr, uint64_t bytes)
{
	uint64_t at = ALIGN_DOWN(addr, BASE_ALIGN), size;

	for (size_t i = 0; i < j->bases.len; i++) {
		size_t k = (j->last_base + i) % j->bases.len;

		if (addr >= j->bases.data[k].start && addr < j->bases.data[k].end) {
			j->last_base = k;
			return;
		}
	}
	for (unsigned i = 0; i < BASE_STEPS_MAX && walk_is_writable(w, at);
	     i++, at -= BASE_ALIGN) {
		if (!is_base(w, at, addr, &size))
			continue;
		vec_push(&j->bases, (struct heapblocks_range){at, at + size});
		walk_range(w, at, at + size);
		return;
	}
	walk_range(w, addr, addr + bytes);
}

/* ---- extents ---- */

static void
add_slab(struct walk *w, const struct je *j, const uint64_t *words,
	 const struct walk_extent *x)
{
	unsigned class = (unsigned)(words[0] >> j->layout->class_shift & CLASS_MASK);
	uint64_t start = words[1], bytes = x->pages * JE_PAGE, size = je_size(class);
	uint64_t n = size > 0 ? bytes / size : 0, free = 0;

	if (n == 0 || n > SLAB_BLOCKS_MAX) {
		walk_gap(w, start, start + bytes);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		free += words[BITMAP / 8 + i / 64] >> i % 64 & 1;
	if (free != (words[0] >> j->layout->free_shift & FREE_MASK)) {
		walk_gap(w, start, start + bytes);
		return;
	}
	walk_check(w, true);
	for (uint64_t i = 0; i < n; i++) {
		if ((words[BITMAP / 8 + i / 64] >> i % 64 & 1) == 0)
			walk_block(w, start + i * size, size, false);
	}
	walk_free(w, free, free * size);
}

/* One block. Its class may say more than there is: sizes that are not rounded to classes,
 * and a page for a random beginning. */
static void
add_large(struct walk *w, struct je *j, const uint64_t *words,
	  const struct walk_extent *x)
{
	unsigned class = (unsigned)(words[0] >> j->layout->class_shift & CLASS_MASK);
	uint64_t bytes = x->pages * JE_PAGE, size = je_size(class);

	j->padded |= !IS_ALIGNED(words[1], JE_PAGE);
	if (size > bytes)
		size = bytes;
	if (size == bytes && IS_ALIGNED(words[1], JE_PAGE))
		vec_push(&j->large, w->to->blocks.len);
	else if (size > bytes - JE_PAGE)
		size = bytes - JE_PAGE;
	if (walk_peek(w, words[1]) == STACK_FIRST)
		vec_push(&j->stacks, words[1]);
	walk_check(w, walk_block(w, words[1], size, false));
}

static void
on_extent(struct walk *w, void *ctx, uint64_t element, const struct walk_extent *x)
{
	uint64_t words[DESCRIPTOR_BYTES / 8], start = x->first * JE_PAGE;
	struct je *j = ctx;
	unsigned class, state;

	if (start < j->last_end || !walk_is_anonymous(w, start, 1)) {
		walk_check(w, false); /* they overlap */
		return;
	}
	j->last_end = start + x->pages * JE_PAGE;
	walk_range(w, start, j->last_end);
	add_base(w, j, x->descriptor, DESCRIPTOR_BYTES);
	walk_read(w, x->descriptor, words, sizeof words);
	class = (unsigned)(words[0] >> j->layout->class_shift & CLASS_MASK);
	state = (unsigned)(words[0] >> j->layout->state_shift & j->layout->state_bits);
	/* 5.3 has the state in both; what 5.2 has in these bits differs. */
	if (j->layout->newer && (element >> ELEMENT_STATE & 7) != state) {
		walk_gap(w, start, j->last_end);
		return;
	}
	if (state != 0) {
		walk_free(w, 1, x->pages * JE_PAGE);
		return;
	}
	/* In use, but of no class: the page allocator keeps it. */
	if (class >= JE_NO_CLASS)
		return;
	if ((words[0] >> SLAB & 1) != 0)
		add_slab(w, j, words, x);
	else
		add_large(w, j, words, x);
}

static void
on_leaf(struct walk *w, void *ctx, uint64_t leaf)
{
	struct je *j = ctx;

	vec_push(&j->leaves, leaf);
	add_base(w, j, leaf, WALK_LEAF_BYTES);
}

/* The page for a random beginning belongs to every large block, once it is known to be
 * there. */
static void
take_off_pads(struct walk *w, const struct je *j)
{
	for (size_t i = 0; j->padded && i < j->large.len; i++) {
		size_t n = (size_t)j->large.data[i];

		if (n < w->to->blocks.len && w->to->blocks.data[n].bytes > JE_PAGE) {
			w->to->blocks.data[n].bytes -= JE_PAGE;
			w->to->arenas.data[w->to->blocks.data[n].arena].used_bytes -=
				JE_PAGE;
		}
	}
}

static bool
walk_with(struct walk *w, const struct je_layout *l, walk_describe *d)
{
	struct je j = {.layout = l};
	struct walk_tree t = {.entries = ROOT_ENTRIES,
			      .describe = d,
			      .leaf = on_leaf,
			      .extent = on_extent,
			      .ctx = &j};

	t.root = walk_find_root(w, d, ELEMENTS_LEAST);
	if (t.root == 0)
		return false;
	walk_name(w, l->name);
	walk_check(w, walk_each_extent(w, &t));
	take_off_pads(w, &j);
	je_find_caches(w, &j);
	vec_done(&j.leaves);
	vec_done(&j.large);
	vec_done(&j.stacks);
	vec_done(&j.bases);
	return true;
}

static bool
is_loaded(const struct memmap *map)
{
	for (size_t i = 0; i < map->areas.len; i++) {
		if (strstr(map->areas.data[i].name, "jemalloc") != NULL)
			return true;
	}
	return false;
}

/* Words that look like a table by chance, as in the heap of a runtime or of another
 * allocator: no check came out right, and no library of that name is loaded. */
static bool
is_chance(const struct walk *w)
{
	const struct heapblocks_owner *o = &w->to->owners.data[w->owner];

	return o->failed == o->checks && !is_loaded(w->m->map);
}

void
walk_jemalloc(const struct walker_memory *m, struct heapblocks *to)
{
	walk_describe *const describes[] = {describe_53, describe_52};
	bool found = false, before = to->inconsistent, chance = true;

	/* In the bits of the wrong version nothing may be in use; but that may also be
	 * so. */
	for (size_t i = 0; i < ARRAY_LEN(layouts) + 1 && !found; i++) {
		size_t n = i % ARRAY_LEN(layouts);
		struct walk w;

		walk_begin(&w, m, to);
		found = walk_with(&w, &layouts[n], describes[n]) &&
			(i >= ARRAY_LEN(layouts) || to->blocks.len > w.first_block);
		chance = chance && is_chance(&w);
		found = walk_end(&w, found);
	}
	if (found || chance)
		to->inconsistent = before;
}
