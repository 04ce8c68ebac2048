/* SPDX-License-Identifier: MIT */
/* leak_walk.c -- memory of allocators other than glibc's in a recorded process: not
 * roots.
 *
 * Their tables hold the addresses of blocks, and their free memory holds stale pointers;
 * with these as roots, lost blocks look reachable. Which memory it is comes from walking
 * their heaps (tool/target/heap/walker.h). The recording is the test: its live blocks
 * must be blocks of the walk. If too many are not, or a check of the walk fails, the
 * result is unknown, and nothing is reported. */
#include <errno.h>
#include <stdlib.h>

#include "tool/session/heap/foreign.h"
#include "tool/session/leaks/leakcheck_impl.h"
#include "tool/target/heap/walker.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum {
	MISSING_SHARE = 1000, /* one of so many recorded blocks may be missing */
	OWNERS_MAX = 4,
	/* in the size before a block of glibc's: it has a mapping of its own */
	MAPPED_BIT = 2,
};

/* A block that glibc has mapped for itself, in the middle of a mapping. */
static bool
is_mapped_chunk(struct look *k, const struct scan_block *b)
{
	uint64_t size;

	return b->addr % 16 == 0 && scan_word(&k->space, b->addr - 8, &size) &&
	       (size & 7) == MAPPED_BIT && (size & ~UINT64_C(7)) >= b->bytes + 16;
}

/* Numbers of the recorded blocks that are not glibc's. */
struct numbers VEC_BODY(uint32_t);

static void
find_outside(struct look *k, const struct heapmap *glibc, struct numbers *ret)
{
	size_t r = 0;

	for (size_t i = 0; i < k->blocks.len; i++) {
		const struct scan_block *b = &k->blocks.data[i];

		while (r < glibc->ranges.len && glibc->ranges.data[r].end <= b->addr)
			r++;
		if ((r < glibc->ranges.len && glibc->ranges.data[r].start <= b->addr) ||
		    (b->flags & SCAN_BLOCK_CUSTOM) != 0 ||
		    (glibc->known && is_mapped_chunk(k, b)))
			continue;
		vec_push(ret, (uint32_t)i);
	}
}

/* ---- the walk ---- */

static void
walk(struct look *k, unsigned which, struct heapblocks *ret)
{
	struct procmem_words threads = {0};
	struct walker_memory m = {.mem = &k->z.mem,
				  .map = &k->z.map,
				  .look = k->space.look,
				  .ctx = k->space.ctx};

	for (size_t i = 0; i < k->z.threads.len; i++)
		vec_push(&threads, k->z.threads.data[i].tp);
	/* The only thread is not stopped when it waits by itself. */
	if (k->z.threads.len == 0 && k->at != NULL && k->at->tp != 0)
		vec_push(&threads, k->at->tp);
	m.thread_pointers = threads.data;
	m.nthreads = threads.len;
	walker_find(&m, which, ret);
	vec_done(&threads);
}

/* Which allocator of the walk a block belongs to. */
static unsigned
which_of(const struct heapblocks *h, const struct heapblock *b)
{
	unsigned which = 0;

	for (size_t i = 0; i < h->owners.len; i++) {
		if (h->owners.data[i].arena <= b->arena)
			which = h->owners.data[i].which;
	}
	return which;
}

/* How many of the recorded blocks are inside of blocks of the walk; whose these are, as
 * bits. */
static size_t
match(const struct look *k, const struct heapblocks *h, const struct numbers *outside,
      unsigned *ret_which)
{
	size_t at = 0, matched = 0;

	*ret_which = 0;
	for (size_t i = 0; i < outside->len; i++) {
		const struct scan_block *b = &k->blocks.data[outside->data[i]];

		while (at < h->blocks.len &&
		       h->blocks.data[at].addr + h->blocks.data[at].bytes <= b->addr)
			at++;
		if (at == h->blocks.len || h->blocks.data[at].addr > b->addr)
			continue;
		matched++;
		*ret_which |= which_of(h, &h->blocks.data[at]);
	}
	return matched;
}

/* With blocks that the recording does not know: those of the walk may hold pointers. */
static void
add_unrecorded(struct look *k, const struct heapblocks *h)
{
	size_t at = 0;

	for (size_t i = 0; i < h->blocks.len; i++) {
		const struct heapblock *b = &h->blocks.data[i];
		uint64_t end = b->addr + b->bytes;

		while (at < k->blocks.len && k->blocks.data[at].addr < b->addr)
			at++;
		if (at == k->blocks.len || k->blocks.data[at].addr >= end)
			vec_push(&k->live, (struct scan_range){b->addr, end});
	}
}

static void
take_ranges(struct look *k, const struct heapblocks *h)
{
	for (size_t i = 0; i < h->heaps.len; i++) {
		struct scan_range r = {h->heaps.data[i].start, h->heaps.data[i].end};

		vec_push(&k->holes, r);
		vec_push(&k->heaps, r);
	}
	if (k->c->loose)
		add_unrecorded(k, h);
}

/* What the walk found is used, or the reason why it is not. */
static int
judge(struct look *k, struct heapblocks *h, const struct numbers *outside, struct err *e)
{
	const char *library = foreign_library(&k->z.map);
	char names[100], why[300];
	unsigned which;
	size_t matched;

	if (h->inconsistent || h->refused || (!h->known && library != NULL)) {
		foreign_why(library, h, why, sizeof why);
		return err_set(e, h->inconsistent ? -EAGAIN : -ENOTSUP, "%s", why);
	}
	if (!h->known)
		return 0;
	matched = match(k, h, outside, &which);
	/* An allocator whose blocks are not recorded stays what it is: memory like any
	 * other. */
	if (which != 0 && h->owners.len > 1) {
		heapblocks_done(h);
		walk(k, which, h);
		matched = match(k, h, outside, &which);
	}
	walker_names(h, names, sizeof names);
	if (which == 0)
		return 0;
	if ((outside->len - matched) * MISSING_SHARE > k->blocks.len)
		return err_set(
			e, -EAGAIN,
			"only %s of the %s recorded blocks were found in the heap of "
			"%s; try again",
			fmt_count(k->blocks.len - outside->len + matched).s,
			fmt_count(k->blocks.len).s, names);
	if (!walker_is_consistent(h))
		return err_set(e, -EAGAIN,
			       "the tables of %s changed while they were read; try again",
			       names);
	take_ranges(k, h);
	return 1;
}

int
leak_walk(struct look *k, const struct heapmap *glibc, struct err *e)
{
	struct numbers outside = {0};
	struct heapblocks h = {0};
	int r = 0;

	find_outside(k, glibc, &outside);
	if (outside.len > 0) {
		walk(k, WALKER_OTHERS, &h);
		r = judge(k, &h, &outside, e);
	}
	heapblocks_done(&h);
	vec_done(&outside);
	return r;
}
