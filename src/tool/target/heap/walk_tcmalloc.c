/* SPDX-License-Identifier: MIT */
/* walk_tcmalloc.c -- gperftools' tcmalloc, 2.9 and newer, with pages of 8 KiB.
 *
 * Its table of pages leads to a Span for each run of pages:
 *
 *	0 first page | 8 pages | 16 next | 24 previous | 32 free blocks |
 *	40 in use u16, class u8, place 2 bits (0 = in use), sampled 1 bit
 *
 * Elements for pages inside of spans that were merged are stale, so only the one for a
 * span's first page counts. Class 0 is one block. Sizes of classes are in the same
 * library's data: 128 numbers of 32 bits, then as many words with the pages of their
 * spans, then the number of classes.
 *
 * Free blocks are in lists that run through the blocks themselves: of spans, of the
 * central lists (below), of the caches of threads (walk_tcmalloc_caches.c). The debugging
 * library puts a header of its own into every block; that is noticed, and nothing is
 * reported. */
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/target/heap/walk_tcmalloc_impl.h"

enum {
	SPAN_BYTES = 48,
	SPANS_MAX = TC_METADATA_BYTES / SPAN_BYTES, /* of an array */
	ROOT_ENTRIES = 1 << 17,
	CLASSES_MAX = 128,
	CLASSES_LEAST = 40,
	LARGEST = 262144, /* the last class */
	SPAN_BLOCKS_MAX = 1 << 16,
	NEAR_BYTES = 4 << 20, /* the library's data, on both sides of the root */
	SAMPLES = 256,
	DEBUG_SHARE = 32,
};

/* In the headers of the debugging library: a mark at 16, and how the block was allocated
 * at 24. */
static const uint32_t debug_marks[] = {0xdeadbeef, 0xabcdefab};
static const uint32_t debug_kinds[] = {0xefcdab90, 0xfebadc81, 0xbceadf72};

static bool
describe(struct walk *w, uint64_t element, struct walk_extent *ret)
{
	uint64_t words[SPAN_BYTES / 8];

	if (!IS_ALIGNED(element, WALK_WORD) || element >> WALK_ADDRESS_BITS != 0 ||
	    !walk_is_anonymous(w, element, SPAN_BYTES) ||
	    !walk_read(w, element, words, sizeof words))
		return false;
	if (words[0] == 0 || words[0] >> (WALK_ADDRESS_BITS - TC_PAGE_SHIFT) != 0 ||
	    words[1] == 0 || words[1] >> 27 != 0 || (words[5] >> 24 & 3) > 2)
		return false;
	*ret = (struct walk_extent){element, words[0], words[1]};
	return true;
}

/* ---- classes ---- */

/* Whether the sizes of the classes are at `at`, with what comes behind them. */
static bool
take_classes(struct walk *w, struct tc *t, uint64_t at)
{
	uint64_t pages = ALIGN_UP(at + 4 * CLASSES_MAX, UINT64_C(8));
	unsigned n = 1;

	if (walk_u32(w, at) != 0 || walk_u32(w, at + 4) != 8 || walk_u32(w, at + 8) != 16)
		return false;
	while (n < CLASSES_MAX && walk_u32(w, at + 4 * n) > walk_u32(w, at + 4 * (n - 1)))
		n++;
	if (n < CLASSES_LEAST || walk_u32(w, at + 4 * (n - 1)) != LARGEST ||
	    walk_word(w, pages + 8 * CLASSES_MAX) != n)
		return false;
	t->classes = n;
	for (unsigned i = 0; i < n; i++) {
		t->sizes[i] = walk_u32(w, at + 4 * i);
		t->pages[i] = walk_word(w, pages + 8 * (uint64_t)i);
	}
	return true;
}

static bool
find_classes(struct walk *w, struct tc *t)
{
	for (uint64_t at = t->data.start; at + 4096 < t->data.end; at += 4) {
		uint64_t word;

		if (!walk_has_word(w, ALIGN_DOWN(at, UINT64_C(8)), &word))
			at = ALIGN_UP(at + 1, UINT64_C(4096)) - 4;
		else if (take_classes(w, t, at))
			return true;
	}
	return false;
}

/* ---- spans ---- */

/* Marks the blocks of a list that runs through them; false: it leaves the span, or runs
 * in circles. */
static bool
mark_free(struct walk *w, uint64_t start, uint64_t size, uint64_t n, uint64_t at,
	  unsigned char *free_blocks, uint64_t *ret_free)
{
	uint64_t found = 0;

	while (at != 0) {
		uint64_t k = (at - start) / size;

		if (at < start || k >= n || (at - start) % size != 0 ||
		    free_blocks[k] != 0)
			return false;
		free_blocks[k] = 1;
		found++;
		at = walk_word(w, at);
	}
	*ret_free = found;
	return true;
}

static void
add_small(struct walk *w, struct tc *t, const uint64_t *words,
	  const struct walk_extent *x)
{
	unsigned class = words[5] >> 16 & 255;
	uint64_t start = x->first << TC_PAGE_SHIFT, bytes = x->pages << TC_PAGE_SHIFT;
	uint64_t size = class < t->classes ? t->sizes[class] : 0, n, free = 0;

	n = size != 0 ? bytes / size : 0;
	if (n == 0 || n > SPAN_BLOCKS_MAX || t->pages[class] != x->pages) {
		walk_gap(w, start, start + bytes);
		return;
	}
	memset(t->free_blocks, 0, (size_t)n);
	if (!mark_free(w, start, size, n, words[4], t->free_blocks, &free) ||
	    free + (words[5] & 0xffff) != n) {
		walk_gap(w, start, start + bytes);
		return;
	}
	walk_check(w, true);
	for (uint64_t i = 0; i < n; i++) {
		if (t->free_blocks[i] == 0)
			walk_block(w, start + i * size, size, false);
	}
	walk_free(w, free, free * size);
}

/* One block. Of a sampled one the size that was asked for is known: it stands before its
 * stack. */
static void
add_large(struct walk *w, const uint64_t *words, const struct walk_extent *x)
{
	uint64_t bytes = x->pages << TC_PAGE_SHIFT, asked;

	if ((words[5] >> 26 & 1) != 0 && walk_is_anonymous(w, words[4], WALK_WORD) &&
	    walk_has_word(w, words[4], &asked) && asked > 0 && asked <= bytes)
		bytes = asked;
	walk_check(w, walk_block(w, x->first << TC_PAGE_SHIFT, bytes, false));
}

static void
on_span(struct walk *w, void *ctx, uint64_t element, const struct walk_extent *x)
{
	uint64_t words[SPAN_BYTES / 8], start = x->first << TC_PAGE_SHIFT;
	uint64_t end = start + (x->pages << TC_PAGE_SHIFT);
	struct tc *t = ctx;

	if (start < t->last_end || !walk_is_anonymous(w, start, end - start)) {
		/* Stale, or the pages of a span that was given back. */
		return;
	}
	walk_read(w, element, words, sizeof words);
	t->last_end = end;
	walk_range(w, start, end);
	vec_push(&t->spans, element);
	if ((words[5] >> 24 & 3) != 0)
		walk_free(w, 1, end - start);
	else if ((words[5] >> 16 & 255) != 0)
		add_small(w, t, words, x);
	else
		add_large(w, words, x);
}

static void
on_leaf(struct walk *w, void *ctx, uint64_t leaf)
{
	struct tc *t = ctx;

	(void)w;
	vec_push(&t->leaves, leaf);
}

/* ---- all of it ---- */

static bool
is_one_of(const uint32_t *marks, size_t n, uint64_t word)
{
	for (size_t i = 0; i < n; i++) {
		if (marks[i] == (uint32_t)word)
			return true;
	}
	return false;
}

/* Whether blocks have the debugging library's headers. Those in caches may have lost
 * theirs. */
static bool
is_debugging(struct walk *w)
{
	size_t n = w->to->blocks.len - w->first_block, seen = 0, marked = 0;
	size_t step = n > SAMPLES ? n / SAMPLES : 1;

	for (size_t i = 0; i < n; i += step) {
		uint64_t at = w->to->blocks.data[w->first_block + i].addr;

		seen++;
		marked += is_one_of(debug_marks, ARRAY_LEN(debug_marks),
				    walk_peek(w, at + 16)) &&
			  is_one_of(debug_kinds, ARRAY_LEN(debug_kinds),
				    walk_peek(w, at + 24));
	}
	return marked * DEBUG_SHARE > seen;
}

/* The library makes an object for its extensions, and a second one that takes its place:
 * the first is lost, by design. Such objects are of 8 bytes, with a pointer into the
 * library. */
static void
keep_extensions(struct walk *w)
{
	for (size_t i = w->first_block; i < w->to->blocks.len; i++) {
		struct heapblock *b = &w->to->blocks.data[i];
		const struct memmap_area *a;

		if (b->bytes != WALK_WORD)
			continue;
		a = memmap_find(w->m->map, walk_word(w, b->addr));
		if (a != NULL && strstr(a->name, "/libtcmalloc") != NULL)
			b->root = 1;
	}
}

/* Whether a Span has ever been at `at`: what was never used is zero. */
static bool
was_span(struct walk *w, uint64_t at)
{
	uint64_t words[SPAN_BYTES / WALK_WORD], all = 0;

	if (!walk_is_anonymous(w, at, SPAN_BYTES) ||
	    !walk_read(w, at, words, sizeof words))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		all |= words[i];
	return all != 0;
}

/* Spans come out of arrays of 128 KiB, from the first to the last. Between those that are
 * in use, and behind them, are deleted ones, with stale addresses of blocks. */
static void
take_spans(struct walk *w, struct tc *t)
{
	vec_sort(&t->spans, vec_compare_u64);
	for (size_t i = 0, k; i < t->spans.len; i = k) {
		uint64_t first = t->spans.data[i], end;

		for (k = i + 1;
		     k < t->spans.len &&
		     t->spans.data[k] - t->spans.data[k - 1] < TC_METADATA_BYTES;)
			k++;
		end = t->spans.data[k - 1] + SPAN_BYTES;
		for (unsigned n = 0; n < SPANS_MAX && was_span(w, first - SPAN_BYTES);
		     n++)
			first -= SPAN_BYTES;
		for (unsigned n = 0; n < SPANS_MAX && was_span(w, end); n++)
			end += SPAN_BYTES;
		walk_range(w, first, end);
	}
}

static bool
walk_all(struct walk *w, struct tc *t)
{
	struct walk_tree tree = {.entries = ROOT_ENTRIES,
				 .describe = describe,
				 .leaf = on_leaf,
				 .extent = on_span,
				 .ctx = t};
	struct heapblocks_range around;

	/* A program that has hardly anything has one span. The classes prove it all the
	 * same. */
	tree.root = walk_find_root(w, describe, 1);
	if (tree.root == 0)
		return false;
	around = walk_data_around(w->m->map, tree.root);
	t->data = around;
	if (tree.root - around.start > NEAR_BYTES)
		t->data.start = tree.root - NEAR_BYTES;
	if (around.end - tree.root > NEAR_BYTES)
		t->data.end = tree.root + NEAR_BYTES;
	if (!find_classes(w, t))
		return false;
	walk_name(w, "tcmalloc");
	walk_check(w, walk_each_extent(w, &tree));
	if (is_debugging(w)) {
		walk_refuse(w,
			    "the debugging version of tcmalloc puts headers of its own "
			    "into the blocks; use libtcmalloc.so.4");
		return false;
	}
	keep_extensions(w);
	for (size_t i = 0; i < t->leaves.len; i++)
		walk_range(w, t->leaves.data[i], t->leaves.data[i] + WALK_LEAF_BYTES);
	take_spans(w, t);
	return tc_find_caches(w, t);
}

void
walk_tcmalloc(const struct walker_memory *m, struct heapblocks *to)
{
	struct tc *t = xcalloc(1, sizeof *t);
	struct walk w;

	t->free_blocks = xmalloc(SPAN_BLOCKS_MAX);
	walk_begin(&w, m, to);
	walk_end(&w, walk_all(&w, t));
	vec_done(&t->leaves);
	vec_done(&t->spans);
	free(t->free_blocks);
	free(t);
}
