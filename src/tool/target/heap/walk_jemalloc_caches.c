/* SPDX-License-Identifier: MIT */
/* walk_jemalloc_caches.c -- freed blocks in the caches of jemalloc's threads, which look
 * allocated in the extents.
 *
 * 5.3: one block of jemalloc's holds the stacks of all bins. Its first word is all 0x7a,
 * the one behind the last stack all 0xa7. In the thread's data stands the address of that
 * block, and behind it the address of the tcache, which leads back: its first word points
 * to just before. Bins begin at 8, 24 bytes each:
 *
 *	0 head | 8 requests | 16 low water u16 | 18 full u16 | 20 empty u16
 *
 * The blocks from head to empty, of which only the low 16 bits are there, are cached.
 *
 * 5.2: 36 bins in a row in the thread's data, each
 *
 *	0 low water i32 | 4 cached i32 | 8 requests | 16 end of the stack
 *
 * and further on those of large blocks. The stacks follow each other in one block of
 * jemalloc's. */
#include <stdlib.h>

#include "shared/compiler.h"
#include "tool/target/heap/walk_jemalloc_impl.h"

enum {
	BIN_BYTES = 24,
	BINS_MAX = 80,
	SMALL_BINS = 36,
	SMALL_BYTES = SMALL_BINS * BIN_BYTES,
	SLOW_BYTES_MAX =
		2048, /* between the tcache's link back and the address of its stacks */
	LARGE_WITHIN = 600,
	STACK_BYTES_MAX = 65536,
	KEY_ALIGN_BITS = 30, /* of what a leaf covers */
};

#define STACK_LAST UINT64_C(0xa7a7a7a7a7a7a7a7)
#define STACK_FIRST UINT64_C(0x7a7a7a7a7a7a7a7a)

/* The thread's data: static TLS lies below the thread pointer. */
struct tls {
	uint64_t start, end;
	uint64_t words[WALK_TLS_BYTES / WALK_WORD];
	size_t n;
};

static void
read_tls(struct walk *w, uint64_t tp, struct tls *ret)
{
	const struct memmap_area *a =
		IS_ALIGNED(tp, WALK_WORD) ? memmap_find(w->m->map, tp - WALK_WORD) : NULL;

	ret->n = 0;
	if (a == NULL)
		return;
	ret->end = tp;
	ret->start = tp - WALK_TLS_BYTES > a->start ? tp - WALK_TLS_BYTES : a->start;
	ret->n = (size_t)((ret->end - ret->start) / WALK_WORD);
	walk_read(w, ret->start, ret->words, ret->n * WALK_WORD);
}

/* ---- 5.3 ---- */

/* Blocks of the bins of the tcache at `tcache`, whose stacks are in [stack, end). */
static bool
take_bins(struct walk *w, uint64_t tcache, uint64_t stack, uint64_t end)
{
	uint64_t before = stack + WALK_WORD;

	for (unsigned b = 0; b < BINS_MAX; b++) {
		uint64_t bin = tcache + WALK_WORD + (uint64_t)b * BIN_BYTES;
		uint64_t head = walk_word(w, bin), size = je_size(b), empty;
		uint16_t low = (uint16_t)head;

		empty = head + (uint16_t)(walk_u16(w, bin + 20) - low);
		/* Bins may be disabled: then this was the last one. */
		if (head < before || empty > end || !IS_ALIGNED(head, WALK_WORD) ||
		    (uint16_t)before != walk_u16(w, bin + 18))
			return b >= SMALL_BINS;
		for (uint64_t at = head; at < empty; at += WALK_WORD) {
			if (!walk_check(w, walk_cached(w, walk_word(w, at), size)))
				return false;
		}
		before = empty;
		if (walk_word(w, empty) == STACK_LAST)
			return true;
	}
	return true;
}

/* Looks for the address of the stacks in [start, end), with the tcache's behind it. */
static bool
take_cache(struct walk *w, struct je *j, uint64_t at, uint64_t stack, uint64_t tcache)
{
	const struct heapblock *b;
	uint64_t slow = walk_word(w, tcache);

	if (slow > at || at - slow > SLOW_BYTES_MAX || walk_word(w, stack) != STACK_FIRST)
		return false;
	b = walk_find(w, stack);
	if (b == NULL || b->addr != stack)
		return false;
	vec_push(&w->own, stack);
	for (size_t i = 0; i < j->stacks.len; i++) {
		if (j->stacks.data[i] == stack)
			j->stacks.data[i] = 0;
	}
	walk_check(w, take_bins(w, tcache, stack, stack + b->bytes));
	w->to->caches++;
	return true;
}

static void
search_tls(struct walk *w, struct je *j, const struct tls *t)
{
	for (size_t i = 0; i + 1 < t->n; i++) {
		if (t->words[i] != 0 && t->words[i + 1] >= t->start &&
		    t->words[i + 1] < t->end &&
		    take_cache(w, j, t->start + i * WALK_WORD, t->words[i],
			       t->words[i + 1]))
			return;
	}
}

/* A cache that the program made itself lies in the same block as its stacks. */
static void
search_stack(struct walk *w, struct je *j, uint64_t stack)
{
	const struct heapblock *b = walk_find(w, stack);
	uint64_t end = b != NULL ? b->addr + b->bytes : 0;

	for (uint64_t at = stack + WALK_WORD; at + 2 * WALK_WORD <= end;
	     at += WALK_WORD) {
		uint64_t tcache;

		if (walk_word(w, at) != stack)
			continue;
		tcache = walk_word(w, at + WALK_WORD);
		if (tcache > stack && tcache < end && take_cache(w, j, at, stack, tcache))
			return;
	}
	walk_unread_cache(w);
}

/* ---- 5.2 ---- */

static uint64_t
bin_end(const struct tls *t, size_t bin)
{
	return bin + 2 < t->n ? t->words[bin + 2] : 0;
}

static uint64_t
bin_cached(const struct tls *t, size_t bin)
{
	return bin < t->n ? t->words[bin] >> 32 : 0;
}

/* Whether the bin at word `i` continues the stacks that end at `before`; 0 = it is the
 * first. */
static bool
is_next_bin(struct walk *w, const struct tls *t, size_t i, uint64_t before)
{
	uint64_t end = bin_end(t, i), room = before != 0 ? end - before : STACK_BYTES_MAX;

	return end != 0 && IS_ALIGNED(end, WALK_WORD) && end > before &&
	       room <= STACK_BYTES_MAX && bin_cached(t, i) * WALK_WORD <= room &&
	       walk_is_writable(w, end - WALK_WORD);
}

static uint64_t
take_old_bin(struct walk *w, const struct tls *t, size_t i, unsigned class)
{
	uint64_t end = bin_end(t, i), n = bin_cached(t, i);

	for (uint64_t k = 1; k <= n; k++)
		walk_check(w, walk_cached(w, walk_word(w, end - k * WALK_WORD),
					  je_size(class)));
	return end;
}

static bool
take_old_cache(struct walk *w, const struct tls *t, size_t first)
{
	const size_t step = BIN_BYTES / WALK_WORD;
	const struct heapblock *own;
	uint64_t before = 0;

	for (unsigned b = 0; b < SMALL_BINS; b++) {
		if (!is_next_bin(w, t, first + b * step, before))
			return false;
		before = bin_end(t, first + b * step);
	}
	own = walk_find(w, bin_end(t, first) - WALK_WORD);
	for (unsigned b = 0; b < SMALL_BINS; b++)
		before = take_old_bin(w, t, first + b * step, b);
	for (size_t i = first + SMALL_BINS * step;
	     i < first + SMALL_BINS * step + LARGE_WITHIN / WALK_WORD; i++) {
		if (!is_next_bin(w, t, i, before))
			continue;
		for (unsigned b = SMALL_BINS;
		     is_next_bin(w, t, i, before) && b < BINS_MAX; b++, i += step)
			before = take_old_bin(w, t, i, b);
		break;
	}
	if (own != NULL)
		vec_push(&w->own, own->addr);
	w->to->caches++;
	return true;
}

static void
search_old(struct walk *w, const struct tls *t)
{
	for (size_t i = 0; i + SMALL_BYTES / WALK_WORD < t->n; i++) {
		if (take_old_cache(w, t, i))
			return;
	}
}

/* ---- what else threads know ---- */

/* The thread's memory of the table of pages: pairs of a multiple of 1 GiB, which may be
 * the address of a block by chance, and the leaf for it. */
static void
leave_out_keys(struct walk *w, const struct je *j, const struct tls *t)
{
	const uint64_t low_bits = (UINT64_C(1) << KEY_ALIGN_BITS) - 1;

	for (size_t i = 0; i + 1 < t->n; i++) {
		if (t->words[i] == 0 || (t->words[i] & low_bits) != 0)
			continue;
		for (size_t k = 0; k < j->leaves.len; k++) {
			if (j->leaves.data[k] == t->words[i + 1])
				walk_range(w, t->start + i * WALK_WORD,
					   t->start + (i + 2) * WALK_WORD);
		}
	}
}

void
je_find_caches(struct walk *w, struct je *j)
{
	struct tls *t = xmalloc(sizeof *t);

	for (size_t i = 0; i < w->m->nthreads; i++) {
		read_tls(w, w->m->thread_pointers[i], t);
		leave_out_keys(w, j, t);
		if (j->layout->newer)
			search_tls(w, j, t);
		else
			search_old(w, t);
	}
	for (size_t i = 0; i < j->stacks.len; i++) {
		if (j->stacks.data[i] != 0)
			search_stack(w, j, j->stacks.data[i]);
	}
	free(t);
}
