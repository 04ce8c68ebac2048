/* SPDX-License-Identifier: MIT */
/* leak_unseen.c -- what malloc has handed out and the recording does not know, and the
 * other way round.
 *
 * Libraries that are loaded with a scope of their own (RTLD_DEEPBIND), and whoever asks
 * libc for its malloc, go past the hooks. glibc's heap shows it: every block that it has
 * handed out should be one of the recording's, and on healthy programs every single one
 * is. What is not recorded may hold pointers: it becomes a root, so that nothing that
 * only such blocks hold looks lost. What is recorded and yet free was freed past the
 * hooks, and is not judged.
 *
 * Threads may stand in the middle of a call, where a block is handed out and not recorded
 * yet, or the other way round: one for each is not counted, nor one for each thread that
 * a forked child's parent had. */
#include "tool/session/leaks/leakcheck_impl.h"

#include <stdlib.h>

#include "tool/target/heap/heapchunks.h"
#include "tool/util/x.h"

struct compare {
	struct look *k;
	size_t at;	      /* the first recorded block that is not behind */
	struct ranges unseen; /* ascending; {0, 0} = it is none */
	size_t heaps;	    /* of these are in heaps; the rest has mappings of its own */
	VEC(uint32_t) gone; /* numbers of recorded blocks */
};

/* The first recorded block at or behind `addr`. */
static size_t
lower(const struct look *k, uint64_t addr)
{
	size_t low = 0, high = k->blocks.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->blocks.data[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
on_chunk(void *ctx, uint64_t addr, uint64_t bytes, bool used)
{
	struct compare *c = ctx;
	const struct look *k = c->k;
	uint64_t end = addr + bytes;

	if (c->at > 0 && k->blocks.data[c->at - 1].addr >= addr)
		c->at = lower(k, addr); /* heaps that overlap */
	while (c->at < k->blocks.len && k->blocks.data[c->at].addr < addr)
		c->at++;
	if (used && (c->at == k->blocks.len || k->blocks.data[c->at].addr >= end))
		vec_push(&c->unseen, (struct scan_range){addr, end});
	if (used)
		return;
	for (size_t i = c->at; i < k->blocks.len && k->blocks.data[i].addr < end; i++) {
		if ((k->blocks.data[i].flags & SCAN_BLOCK_CUSTOM) == 0)
			vec_push(&c->gone, (uint32_t)i);
	}
}

static void
on_mapped(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct compare *c = ctx;
	size_t at = lower(c->k, addr);

	if (c->heaps == SIZE_MAX)
		c->heaps = c->unseen.len;
	if (at == c->k->blocks.len || c->k->blocks.data[at].addr >= addr + bytes)
		vec_push(&c->unseen, (struct scan_range){addr, addr + bytes});
}

static void
on_kept(void *ctx, uint64_t addr, bool freed)
{
	struct compare *c = ctx;
	struct scan_range key = {.start = addr}, *r;
	size_t at = lower(c->k, addr);

	if (c->heaps == SIZE_MAX)
		c->heaps = c->unseen.len;
	r = c->heaps == 0
		    ? NULL
		    : bsearch(&key, c->unseen.data, c->heaps, sizeof *c->unseen.data,
			      vec_compare_by(struct scan_range, start));
	if (r != NULL)
		r->end = r->start; /* in order still */
	else if (freed && at < c->k->blocks.len && c->k->blocks.data[at].addr == addr)
		vec_push(&c->gone, (uint32_t)at);
}

/* How many may be on their way into the recording, or out of it. */
static uint64_t
on_the_way(const struct look *k)
{
	bool held = k->at != NULL && k->at->why != REC_HOLD_SIGNAL;

	uint64_t threads = k->c->threads > 0 && held ? k->c->threads - 1 : k->c->threads;

	/* Those of the parent's threads came along and stay. */
	return threads + k->f->head->forked_threads;
}

static void
take_result(struct compare *c)
{
	struct look *k = c->k;
	uint64_t blocks = 0, bytes = 0;

	for (size_t i = 0; i < c->unseen.len; i++) {
		struct scan_range r = c->unseen.data[i];

		if (r.start == r.end)
			continue;
		blocks++;
		bytes += r.end - r.start;
		if (i < c->heaps)
			vec_push(&k->live, r);
	}
	if (blocks > on_the_way(k)) {
		k->c->unseen_blocks = blocks;
		k->c->unseen_bytes = bytes;
	}
	for (size_t i = 0; i < c->gone.len; i++)
		k->blocks.data[c->gone.data[i]].flags |= SCAN_BLOCK_FOREIGN;
	if (c->gone.len > on_the_way(k))
		k->c->gone_blocks = c->gone.len;
}

bool
leak_unseen(struct look *k)
{
	struct walker_memory m = {.mem = &k->z.mem,
				  .map = &k->z.map,
				  .look = k->space.look,
				  .ctx = k->space.ctx};
	struct compare c = {.k = k, .heaps = SIZE_MAX};
	struct heapchunks to = {
		.chunk = on_chunk, .mapped = on_mapped, .kept = on_kept, .ctx = &c};

	/* What is held back after its free, or has room around it, says nothing. */
	if ((k->f->head->flags & REC_FLAG_LAYERS) != 0 || k->old_only)
		return false;
	k->c->compared = heapchunks_each(&m, &to) && !to.gaps;
	if (c.heaps == SIZE_MAX)
		c.heaps = c.unseen.len;
	if (k->c->compared)
		take_result(&c);
	vec_done(&c.unseen);
	vec_done(&c.gone);
	return k->c->compared;
}
