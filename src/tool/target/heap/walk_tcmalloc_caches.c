/* SPDX-License-Identifier: MIT */
/* walk_tcmalloc_caches.c -- freed blocks that tcmalloc keeps outside of its spans' lists.
 *
 * Central lists: an array in the library's data, 1,216 bytes for each class:
 *
 *	0 lock | 8 class | 16 list of empty spans | 64 list of others | ... |
 *	128 64 slots of {head, tail} | 1152 slots in use u32
 *
 * Slots above those in use hold stale addresses, so the array is no root.
 *
 * A thread's cache has 32 bytes for each class:
 *
 *	0 list | 8 length u32 | ... | 24 block size u32
 *
 * and further on the links to the next and the previous cache. A word of the library's
 * data leads to the first. */
#include "shared/compiler.h"
#include "tool/target/heap/walk_tcmalloc_impl.h"

enum {
	CENTRAL_BYTES = 1216,
	CENTRAL_CLASS = 8,
	CENTRAL_EMPTY = 16,
	CENTRAL_SLOTS = 128,
	CENTRAL_USED = 1152,
	SLOTS = 64,
	LIST_MAX = 1 << 16,
	BIN_BYTES = 32,
	BIN_LENGTH = 8,
	BIN_SIZE = 24,
	LINK_FIRST = 4104,
	LINK_LAST = 4300,
	CACHE_BYTES = 4304,
	CACHES_MAX = 1 << 14,
	SPAN_NEXT = 16,
	SPAN_PREVIOUS = 24,
	WORDS_MAX = 512,
	NEAR_BYTES = 8 << 20, /* tcmalloc takes memory for its tables in such pieces */
};

/* ---- central lists ---- */

/* Whether a list head of spans is at `at`: the next one leads back to it. */
static bool
is_span_list(struct walk *w, uint64_t at)
{
	uint64_t next = walk_word(w, at + SPAN_NEXT);

	return next != 0 && walk_word(w, next + SPAN_PREVIOUS) == at;
}

static uint64_t
find_central(struct walk *w, const struct tc *t)
{
	uint64_t bytes = (uint64_t)t->classes * CENTRAL_BYTES;

	for (uint64_t at = t->data.start; at + bytes <= t->data.end; at += WALK_WORD) {
		unsigned c = 0;
		uint64_t word;

		if (!walk_has_word(w, at, &word)) {
			at = ALIGN_UP(at + 1, UINT64_C(4096)) - WALK_WORD;
			continue;
		}
		while (c < t->classes &&
		       walk_word(w, at + c * CENTRAL_BYTES + CENTRAL_CLASS) == c &&
		       is_span_list(w, at + c * CENTRAL_BYTES + CENTRAL_EMPTY))
			c++;
		if (c == t->classes)
			return at;
	}
	return 0;
}

/* A list of freed blocks. Returns its length, or -1: it is no list. */
static int64_t
take_list(struct walk *w, uint64_t at, uint64_t size, uint64_t most)
{
	uint64_t n = 0;

	while (at != 0) {
		if (n == most || !walk_cached(w, at, size))
			return -1;
		n++;
		at = walk_word(w, at);
	}
	return (int64_t)n;
}

static void
take_central(struct walk *w, const struct tc *t, uint64_t central)
{
	walk_range(w, central, central + (uint64_t)t->classes * CENTRAL_BYTES);
	for (unsigned c = 1; c < t->classes; c++) {
		uint64_t at = central + c * CENTRAL_BYTES;
		uint32_t used = walk_u32(w, at + CENTRAL_USED);

		if (!walk_check(w, used <= SLOTS))
			continue;
		for (uint32_t k = 0; k < used; k++)
			walk_check(w,
				   take_list(w, walk_word(w, at + CENTRAL_SLOTS + 16 * k),
					     t->sizes[c], LIST_MAX) >= 0);
	}
}

/* ---- threads ---- */

static bool
is_cache(struct walk *w, const struct tc *t, uint64_t at)
{
	if (at == 0 || !IS_ALIGNED(at, WALK_WORD) || at >> WALK_ADDRESS_BITS != 0 ||
	    !walk_is_anonymous(w, at, CACHE_BYTES))
		return false;
	for (unsigned c = 1; c < t->classes; c++) {
		if (walk_u32(w, at + c * BIN_BYTES + BIN_SIZE) != t->sizes[c])
			return false;
	}
	return true;
}

static void
add_cache(struct walk *w, const struct tc *t, uint64_t at, struct walk_words *caches)
{
	if (!is_cache(w, t, at))
		return;
	for (size_t i = 0; i < caches->len; i++) {
		if (caches->data[i] == at)
			return;
	}
	if (caches->len < CACHES_MAX)
		vec_push(caches, at);
}

/* Where caches keep the address of the next one; 0 = this is the only one, or it is not
 * known. */
static uint64_t
find_link(struct walk *w, const struct tc *t, uint64_t cache)
{
	for (uint64_t off = LINK_FIRST; off < LINK_LAST; off += WALK_WORD) {
		uint64_t next = walk_word(w, cache + off);

		if (is_cache(w, t, next) && walk_word(w, next + off + WALK_WORD) == cache)
			return off;
	}
	return 0;
}

static void
take_cache(struct walk *w, const struct tc *t, uint64_t cache)
{
	walk_range(w, cache, cache + CACHE_BYTES);
	for (unsigned c = 1; c < t->classes; c++) {
		uint64_t bin = cache + c * BIN_BYTES;
		uint32_t length = walk_u32(w, bin + BIN_LENGTH);

		walk_check(w, take_list(w, walk_word(w, bin), t->sizes[c],
					(uint64_t)length + 1) == (int64_t)length);
	}
	w->to->caches++;
}

/* Caches of threads that have ended stay where they were, for the next ones, with stale
 * addresses of blocks in them: in the memory around one that is in use. */
static void
take_old_caches(struct walk *w, const struct tc *t, uint64_t cache)
{
	const struct memmap_area *a = memmap_find(w->m->map, cache);
	uint64_t words[WORDS_MAX], at, end, got;
	size_t n;

	if (a == NULL)
		return;
	at = cache - a->start > NEAR_BYTES ? cache - NEAR_BYTES : a->start;
	end = a->end - cache > NEAR_BYTES ? cache + NEAR_BYTES : a->end;
	while ((n = walk_next_words(w, at, end, words, WORDS_MAX, &got)) > 0) {
		for (size_t i = 0; i < n; i++) {
			uint64_t first = got + i * WALK_WORD - BIN_BYTES - BIN_SIZE;

			if ((uint32_t)words[i] == t->sizes[1] && is_cache(w, t, first))
				walk_range(w, first, first + CACHE_BYTES);
		}
		at = got + n * WALK_WORD;
	}
}

static void
take_caches(struct walk *w, const struct tc *t)
{
	struct walk_words caches = {0};
	uint64_t link = 0;

	for (uint64_t at = t->data.start; at + WALK_WORD <= t->data.end;
	     at += WALK_WORD) {
		uint64_t word;

		if (!walk_has_word(w, at, &word))
			at = ALIGN_UP(at + 1, UINT64_C(4096)) - WALK_WORD;
		else if (word != 0)
			add_cache(w, t, word, &caches);
	}
	for (size_t i = 0; i < caches.len; i++) {
		uint64_t cache = caches.data[i];

		if (link == 0)
			link = find_link(w, t, cache);
		if (link != 0) {
			add_cache(w, t, walk_word(w, cache + link), &caches);
			add_cache(w, t, walk_word(w, cache + link + WALK_WORD), &caches);
		}
		take_cache(w, t, cache);
	}
	if (caches.len > 0)
		take_old_caches(w, t, caches.data[0]);
	vec_done(&caches);
}

bool
tc_find_caches(struct walk *w, struct tc *t)
{
	uint64_t central = find_central(w, t);

	if (central == 0)
		return false;
	take_central(w, t, central);
	take_caches(w, t);
	return true;
}
