/* SPDX-License-Identifier: MIT */
/* walker_tree.c -- the table of pages that jemalloc and gperftools' tcmalloc keep: a
 * static root whose words lead to leaves of 2^18 words, one for each page.
 *
 * Nothing says where the root is, but a leaf proves itself: every element leads to a
 * descriptor that says which pages its extent has. The page that an element stands for
 * has the element's number in its low bits, so the descriptor gives the whole page
 * number, and its upper bits, which must be the same for the whole leaf, are the leaf's
 * number in the root. */

#include "shared/compiler.h"
#include "tool/target/heap/walker_impl.h"
#include "tool/util/map.h"

enum {
	CHUNK = 512,	  /* words read at once */
	GOOD_ENOUGH = 64, /* elements of a leaf that agree */
	ODD_LEAST = 32, /* elements that may be stale, and four more for each good one */
	TESTS_MAX = 1 << 18, /* words that look like the address of a leaf */
	LEAF_ALIGN = 64,
};

#define LEAF_MASK ((UINT64_C(1) << WALK_LEAF_BITS) - 1)

/* What is known of a leaf while it is tested. */
struct test {
	unsigned good, odd;
	uint64_t number; /* in the root, by the elements so far */
};

/* Whether an element's extent has a page of this number in the leaf; that page. */
static bool
page_of(const struct walk_extent *x, uint64_t j, uint64_t *ret_page)
{
	uint64_t page = (x->first & ~LEAF_MASK) | j;

	if (page < x->first)
		page += LEAF_MASK + 1;
	*ret_page = page;
	return page < x->first + x->pages;
}

/* Element `j`; false: this is no leaf. */
static bool
test_element(struct walk *w, walk_describe *describe, uint64_t leaf, uint64_t j,
	     uint64_t element, struct test *t)
{
	struct walk_extent x, other;
	uint64_t page, first;

	if (!describe(w, element, &x) || !page_of(&x, j, &page))
		return ++t->odd <= ODD_LEAST + 4 * t->good;
	if (t->good == 0)
		t->number = page >> WALK_LEAF_BITS;
	else if (t->number != page >> WALK_LEAF_BITS)
		return false;
	/* An extent may begin in the leaf before. */
	first = walk_word(w, leaf + WALK_WORD * (x.first & LEAF_MASK));
	if (t->number == x.first >> WALK_LEAF_BITS &&
	    (!describe(w, first, &other) || other.descriptor != x.descriptor))
		return ++t->odd <= ODD_LEAST + 4 * t->good;
	t->good++;
	return true;
}

static bool
is_leaf(struct walk *w, walk_describe *describe, unsigned least, uint64_t leaf,
	uint64_t *ret_number)
{
	uint64_t words[CHUNK], at = leaf, end = leaf + WALK_LEAF_BYTES;
	struct test t = {0};
	size_t n;

	while (t.good < GOOD_ENOUGH &&
	       (n = walk_next_words(w, at, end, words, CHUNK, &at)) > 0) {
		for (size_t i = 0; i < n && t.good < GOOD_ENOUGH; i++) {
			if (words[i] << 16 != 0 &&
			    !test_element(w, describe, leaf, (at - leaf) / WALK_WORD + i,
					  words[i], &t))
				return false;
		}
		at += n * WALK_WORD;
	}
	*ret_number = t.number;
	return t.good >= least;
}

/* The root, if the word at `at` with value `leaf` is in it. */
static uint64_t
root_at(struct walk *w, walk_describe *describe, unsigned least, uint64_t at,
	uint64_t leaf)
{
	uint64_t number, root;

	if (!is_leaf(w, describe, least, leaf, &number) || at < WALK_WORD * number)
		return 0;
	root = at - WALK_WORD * number;
	return walk_is_writable(w, root) ? root : 0;
}

uint64_t
walk_find_root(struct walk *w, walk_describe *describe, unsigned least)
{
	const struct memmap *map = w->m->map;
	uint64_t words[CHUNK], root = 0;
	unsigned tests = 0;

	for (size_t i = 0; i < map->areas.len && root == 0; i++) {
		uint64_t at = map->areas.data[i].start;
		size_t n;

		if (memmap_data_of(map, &map->areas.data[i]) == NULL)
			continue;
		while (root == 0 && tests < TESTS_MAX &&
		       (n = walk_next_words(w, at, map->areas.data[i].end, words, CHUNK,
					    &at)) > 0) {
			for (size_t k = 0; k < n && root == 0; k++) {
				if (words[k] == 0 || !IS_ALIGNED(words[k], LEAF_ALIGN) ||
				    words[k] >> WALK_ADDRESS_BITS != 0 ||
				    !walk_is_anonymous(w, words[k], WALK_LEAF_BYTES))
					continue;
				tests++;
				root = root_at(w, describe, least, at + k * WALK_WORD,
					       words[k]);
			}
			at += n * WALK_WORD;
		}
	}
	return root;
}

/* ---- all extents ---- */

static void
each_of_leaf(struct walk *w, const struct walk_tree *t, uint64_t number, uint64_t leaf)
{
	uint64_t words[CHUNK], at = leaf, end = leaf + WALK_LEAF_BYTES;
	size_t n;

	while ((n = walk_next_words(w, at, end, words, CHUNK, &at)) > 0) {
		for (size_t i = 0; i < n; i++) {
			struct walk_extent x;
			uint64_t page =
				number << WALK_LEAF_BITS | ((at - leaf) / WALK_WORD + i);

			if (words[i] << 16 != 0 && t->describe(w, words[i], &x) &&
			    x.first == page)
				t->extent(w, t->ctx, words[i], &x);
		}
		at += n * WALK_WORD;
	}
}

bool
walk_each_extent(struct walk *w, const struct walk_tree *t)
{
	uint64_t words[CHUNK], at = t->root, end = t->root + t->entries * WALK_WORD;
	struct map seen = {0};
	bool sane = true;
	size_t n;

	while (sane && (n = walk_next_words(w, at, end, words, CHUNK, &at)) > 0) {
		for (size_t i = 0; sane && i < n; i++) {
			uint64_t *known;

			if (words[i] == 0)
				continue;
			known = map_add(&seen, words[i]);
			sane = IS_ALIGNED(words[i], WALK_WORD) && *known == 0 &&
			       seen.len < WALK_LEAVES_MAX &&
			       walk_is_anonymous(w, words[i], WALK_LEAF_BYTES);
			if (!sane)
				break;
			*known = 1;
			t->leaf(w, t->ctx, words[i]);
			each_of_leaf(w, t, (at - t->root) / WALK_WORD + i, words[i]);
		}
		at += n * WALK_WORD;
	}
	map_done(&seen);
	return sane;
}
