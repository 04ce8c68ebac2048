/* SPDX-License-Identifier: MIT */
/* leakcheck.c -- see leakcheck.h.
 *
 * Stop, take in blocks, exclude other memory from the roots (leak_holes.c), mark, let go,
 * sum up; or let go as soon as there is a copy of the process. The recording is shared
 * memory and so no part of the copy: it is copied for itself, while all threads stand
 * still, and only that copy is used then. */
#include "tool/session/leaks/leakcheck_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool/leak/roots.h"
#include "tool/target/heap/liveblocks.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/clock.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#ifndef MADV_POPULATE_READ
#	define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum {
	ROOM_BYTES_LEAST = 4 << 20, /* for all but the blocks */
	TABLE_GROWS_CHUNKS = 64,    /* while we prepare to stop it */
	TABLE_MEANWHILE_BYTES = 256 << 20,
	LARGE_BYTES = 64 << 20, /* a block of more is looked at before it is believed */
};

/* ---- blocks ---- */

static void
on_page(void *ctx, uint64_t page)
{
	struct look *k = ctx;
	struct scan_range *last = k->pages.len > 0 ? vec_last(&k->pages) : NULL;

	if (last != NULL && last->end == page)
		last->end += REC_PAGE_BYTES;
	else
		vec_push(&k->pages, (struct scan_range){page, page + REC_PAGE_BYTES});
	k->page_first = k->blocks.len;
}

/* Dynamic TLS and what else the loader keeps is found by no pointer of the usual kind. */
static bool
asked_by_loader(struct look *k, uint32_t site)
{
	struct look_site *near = &k->sites_near[site / 8 % LOOK_SITES_NEAR];
	uint64_t *known;

	if (near->site == site)
		return near->from_loader;
	known = map_add(&k->from_loader, site);
	if (*known == 0) {
		uint64_t pc = liveblocks_caller(k->f, site);

		*known = pc > k->loader.start && pc <= k->loader.end ? 2 : 1;
	}
	*near = (struct look_site){site, *known == 2};
	return *known == 2;
}

/* A block of a size that cannot be: next to nothing of it is mapped. Searching it would
 * take hours. */
static bool
is_absurd(const struct look *k, uint64_t addr, uint64_t bytes)
{
	uint64_t mapped = LARGE_BYTES, end = addr + bytes;

	for (size_t i = 0; i < k->maps.len; i++) {
		const struct scan_map *m = &k->maps.data[i];
		uint64_t from = m->start > addr ? m->start : addr;
		uint64_t to = m->end < end ? m->end : end;

		mapped += to > from ? to - from : 0;
	}
	return bytes / 16 > mapped;
}

static void
on_block(void *ctx, uint64_t addr, uint64_t bytes, uint32_t site, enum rec_kind kind)
{
	struct look *k = ctx;
	struct scan_block b = {.addr = addr, .bytes = bytes, .site = site};
	size_t at;

	if (kind == REC_KIND_MMAP || kind == REC_KIND_BRK)
		return;
	if (bytes > LARGE_BYTES && is_absurd(k, addr, bytes)) {
		k->source.bad++;
		return;
	}
	if (kind == REC_KIND_CUSTOM)
		b.flags |= SCAN_BLOCK_CUSTOM;
	if (kind == REC_KIND_INHERITED)
		b.flags |= SCAN_BLOCK_FOREIGN;
	else if (asked_by_loader(k, site))
		b.flags |= SCAN_BLOCK_ROOT;
	if (k->old_only && k->source.ms > k->newest_ms)
		b.flags |= SCAN_BLOCK_ROOT; /* too young to be judged */
	vec_push(&k->blocks, b);
	/* In order within its page: there are few, and most come in order. */
	for (at = k->blocks.len - 1;
	     at > k->page_first && k->blocks.data[at - 1].addr > addr; at--)
		k->blocks.data[at] = k->blocks.data[at - 1];
	k->blocks.data[at] = b;
}

static void
count_cell(void *ctx, const struct livefile *f, void *object)
{
	const struct rec_cell *c = object;
	int64_t *live = ctx;

	(void)f;
	if (c->site != 0)
		*live += (int64_t)(c->allocs - c->frees);
}

/* Room for as many as there should be: an array that grows is copied, and lies there
 * twice meanwhile. The figures may be anything, so there need not be room. */
static void
expect_blocks(struct look *k)
{
	int64_t live = 0;
	uint64_t most = k->f->mapped_bytes / sizeof(struct rec_block);
	struct scan_block *room = NULL;

	livefile_each_cell(k->f, count_cell, &live);
	if (k->blocks.cap == 0 && live > 0 && (uint64_t)live <= most)
		room = malloc((size_t)live * sizeof *room);
	if (room == NULL)
		return;
	x_large_pages(room, (size_t)live * sizeof *room);
	k->blocks.data = room;
	k->blocks.cap = (size_t)live;
}

/* Whether blocks may exist that the recording does not know. */
static bool
is_incomplete(const struct rec_head *h)
{
	if ((h->flags & REC_FLAG_FORKED) != 0 && (h->flags & REC_FLAG_TABLE_COPIED) == 0)
		return true;
	return h->lost[REC_LOST_SPACE] > 0 || h->lost[REC_LOST_REENTRY] > 0 ||
	       h->lost[REC_LOST_LOCK] > 0 || h->lost[REC_LOST_ADDRESS] > 0 ||
	       h->paused_allocs > 0;
}

void
look_sum_up(struct look *k)
{
	struct map rows = {0}; /* ref of a site and a kind -> their row + 1 */

	if (k->how->begin != NULL)
		k->how->begin(k->how->ctx, k->f->head->pid);
	for (size_t i = 0; i < k->blocks.len; i++) {
		const struct scan_block *b = &k->blocks.data[i];
		struct leakcheck_site *s;
		uint64_t *row;

		if ((b->flags & SCAN_BLOCK_FOREIGN) != 0) {
			if (k->how->inherited)
				vec_push(&k->c->inherited,
					 (struct leakcheck_inherited){b->addr, b->bytes,
								      b->state});
			continue;
		}
		row = map_add(&rows, (uint64_t)b->site * CLASSIFY_KINDS + b->state);
		if (*row == 0) {
			s = vec_add(&k->c->sites);
			s->site = b->site;
			s->kind = b->state;
			*row = k->c->sites.len;
		}
		s = &k->c->sites.data[*row - 1];
		s->blocks++;
		s->bytes += b->bytes;
		if (b->state == CLASSIFY_DEFINITE)
			s->indirect_bytes += b->indirect;
		if ((b->flags & SCAN_BLOCK_LEFTOVER) != 0) {
			s->leftover_blocks++;
			s->leftover_bytes += b->bytes;
		}
		if (k->how->block != NULL)
			k->how->block(k->how->ctx, k->f->head->pid, k->blocks.data, b);
		if (k->how->lost != NULL && b->state != CLASSIFY_REACHABLE)
			k->how->lost(k->how->lost_ctx, b,
				     liveblocks_birth(k->f, b->addr, b->site));
		if (b->state == CLASSIFY_REACHABLE && b->heuristic != 0) {
			unsigned bit = (unsigned)__builtin_ctz(b->heuristic);

			if (bit < PROF_HEURISTICS) { /* those that valgrind counts */
				k->c->heuristic_blocks[bit]++;
				k->c->heuristic_bytes[bit] += b->bytes;
			}
		}
	}
	map_done(&rows);
}

/* ---- all of it ---- */

/* What is needed for so many blocks must fit beside the process. */
static int
check_room(const struct look *k, struct err *e)
{
	uint64_t chunks = 0, need;

	for (uint32_t i = k->f->head->chunk_lists[REC_CHUNK_BUCKET];
	     i != 0 && chunks < k->f->head->chunks; chunks++) {
		const struct rec_chunk *c = livefile_chunk(k->f, i);

		i = c != NULL ? c->next : 0;
	}
	need = chunks * (REC_CHUNK_BYTES / sizeof(struct rec_block)) *
		       (sizeof(struct scan_block) + sizeof(uint32_t)) +
	       ROOM_BYTES_LEAST;
	if (need > k->z.room_bytes / 2)
		return err_set(e, -ENOMEM,
			       "the leak check needs up to %s of memory, but only %s is "
			       "available; free some, or use seep run --sample",
			       fmt_size(need).s, fmt_size(k->z.room_bytes).s);
	return 0;
}

/* ---- the recording, as it was ---- */

static uint64_t
table_bytes(const struct look *k)
{
	uint64_t bytes = livefile_used_bytes(k->f);

	return bytes < k->f->mapped_bytes ? bytes : k->f->mapped_bytes;
}

/* Room for a copy of the recording, faulted in before anything stands still for it. */
static void
table_prepare(struct look *k)
{
	size_t bytes = (size_t)livefile_used_bytes(k->f) +
		       (size_t)TABLE_GROWS_CHUNKS * REC_CHUNK_BYTES;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return;
	madvise(p, bytes, MADV_HUGEPAGE);
	if (madvise(p, bytes, MADV_POPULATE_WRITE) < 0)
		memset(p, 0, bytes);
	madvise(k->f->head, table_bytes(k),
		MADV_POPULATE_READ); /* our mapping of it, too */
	k->table = *k->f;
	k->table.fd = -1;
	k->table.head = p;
	k->table_room = bytes;
}

static void
table_copy(void *ctx)
{
	struct look *k = ctx;

	k->table.mapped_bytes = table_bytes(k);
	memcpy(k->table.head, k->f->head, k->table.mapped_bytes);
}

bool
look_table(struct look *k)
{
	table_prepare(k);
	if (k->table_room == 0 || table_bytes(k) > k->table_room)
		return false;
	table_copy(k);
	k->f = &k->table;
	k->own = (const void *)((const char *)k->f->head + REC_HOLD_OFF);
	return true;
}

static void
table_done(struct look *k)
{
	if (k->table_room > 0)
		munmap(k->table.head, k->table_room);
}

/* While it stands still: all that must not change any more. It goes on afterwards if a
 * copy could be made of it. */
static int
take_in(struct look *k, struct err *e)
{
	struct err why = {0};
	int r = freeze_maps_and_words(&k->z, e);

	if (r < 0 || k->c->way != LEAKCHECK_COPY)
		return r;
	/* The recording is copied while a thread copies the process, or before, if that
	 * takes long. */
	k->z.tracee.meanwhile = table_copy;
	k->z.tracee.meanwhile_ctx = k;
	if (table_bytes(k) > TABLE_MEANWHILE_BYTES && table_bytes(k) <= k->table_room) {
		k->z.tracee.meanwhile = NULL;
		table_copy(k);
	}
	if (table_bytes(k) > k->table_room)
		err_set(&why, -ENOMEM,
			"its recording grew too fast to be copied; try again, or use --way stop");
	else if (freeze_copy(&k->z, &why) == 0) {
		k->f = &k->table;
		k->own = (const void *)((const char *)k->f->head + REC_HOLD_OFF);
		freeze_go(&k->z);
		return 0;
	}
	k->z.tracee.meanwhile = NULL;
	if (why.code == -EAGAIN) /* to the caller that would mean: another try helps */
		why.code = -ENOMEM;
	if (k->how->only_copy)
		return err_set(e, why.code, "no copy could be made of it: %s", why.msg);
	k->c->way = LEAKCHECK_STOP;
	snprintf(k->c->instead, sizeof k->c->instead, "%s", why.msg);
	return 0;
}

/* With everything standing still, or a copy of it. */
int
look_closely(struct look *k, struct err *e)
{
	struct scan_range *roots;
	uint32_t n;
	int r;

	k->source = (struct liveblocks){.page = on_page, .block = on_block, .ctx = k};
	leak_holes_maps(k);
	expect_blocks(k);
	liveblocks_each(k->f, &k->source);
	/* Attached: whatever was there before is not known. */
	k->c->loose = is_incomplete(k->f->head) || k->source.bad > 0 || k->own->maps == 0;
	r = leak_holes_find(k, e);
	if (r < 0)
		return r;
	roots = xcalloc(k->maps.len + k->holes.len + k->live.len + 1, sizeof *roots);
	n = roots_ranges(&k->space, k->holes.data, (uint32_t)k->holes.len, roots);
	for (size_t i = 0; i < k->live.len; i++)
		roots[n++] = k->live.data[i];
	look_mark(k, roots, n);
	free(roots);
	return 0;
}

static int
stop(struct look *k, struct err *e)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int r = 0;

	k->c->threads = freeze_thread_count(&k->z);
	if (k->at == NULL || k->c->threads != 1)
		r = freeze_stop(&k->z, k->at != NULL ? (int)k->at->tid : 0, e);
	k->c->stop_ns = clock_ns(CLOCK_MONOTONIC) - start;
	return r;
}

/* Forgets everything, and lets it run for a moment: for another try. */
static int
start_over(struct look *k, struct livefile *f, struct err *e)
{
	int r = freeze_again(&k->z, e);

	k->blocks.len = k->maps.len = k->holes.len = 0;
	k->pages.len = k->heaps.len = k->live.len = 0;
	k->page_first = 0;
	k->loader = (struct scan_range){0};
	map_done(&k->from_loader);
	memset(k->sites_near, 0, sizeof k->sites_near);
	table_done(k);
	k->table_room = 0;
	k->f = f;
	k->own = (const void *)((const char *)f->head + REC_HOLD_OFF);
	k->c->pause_ns = 0;
	k->c->unseen_blocks = k->c->unseen_bytes = k->c->gone_blocks = k->c->libcs = 0;
	clock_nap(LOOK_NAP_NS);
	return r;
}

static int
heed(struct look *k, struct err *e)
{
	const struct rec_hold *h = k->at != NULL ? k->at : k->own;
	struct leakcheck_wishes w = {.options = h->lsan_options,
				     .suppressions = h->lsan_suppressions,
				     .off = h->lsan_off != 0,
				     .asked = h->why == REC_HOLD_ASKED};

	return k->how->heed(k->how->ctx, &k->z.mem, &w, e);
}

/* From the stop to the last word. */
static int
stop_and_look(struct look *k, struct err *e)
{
	uint64_t start;
	int r;

	if (k->c->way == LEAKCHECK_COPY)
		table_prepare(k);
	r = stop(k, e);
	k->c->at_ns = start = clock_ns(CLOCK_MONOTONIC);
	if (r == 0)
		r = take_in(k, e);
	if (r == 0 && k->c->way == LEAKCHECK_COPY)
		k->c->pause_ns = clock_ns(CLOCK_MONOTONIC) - start;
	if (r == 0 && k->how->heed != NULL)
		r = heed(k, e);
	if (r == 0)
		r = look_closely(k, e);
	/* What had gone meanwhile looked empty, and all that it held lost. */
	if (r == 0 && !freeze_readable(&k->z))
		r = err_set(e, -ESRCH, "it ended during the leak check");
	freeze_go(&k->z);
	if (k->c->pause_ns == 0)
		k->c->pause_ns = clock_ns(CLOCK_MONOTONIC) - start;
	return r;
}

void
look_done(struct look *k)
{
	vec_done(&k->blocks);
	vec_done(&k->maps);
	vec_done(&k->holes);
	vec_done(&k->pages);
	vec_done(&k->heaps);
	vec_done(&k->live);
	map_done(&k->from_loader);
	table_done(k);
}

static void
run(struct livefile *f, int pid, const struct rec_hold *at, enum leakcheck_way way,
    const struct leakcheck_how *how, struct leakcheck *ret_check)
{
	static const struct leakcheck_how as_usual;
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct look k = {.c = ret_check,
			 .how = how != NULL ? how : &as_usual,
			 .f = f,
			 .z = FREEZE_NONE,
			 .at = at};
	struct err e = {0};
	int r;

	*ret_check = (struct leakcheck){.way = way};
	doing("checking process %d for leaks", pid);
	r = livefile_map_all(f, &e);
	if (r == 0)
		k.own = (const void *)((const char *)f->head + REC_HOLD_OFF);
	if (r == 0 && f->head->mode != REC_MODE_EXACT)
		r = err_set(&e, -EINVAL,
			    "its recording is sampled: not all blocks are known");
	if (r == 0)
		r = freeze_open(pid, &k.z, &e);
	k.z.left_out_inode = f->inode;
	if (r == 0 && !freeze_readable(&k.z))
		r = err_set(&e, -EPERM, "its memory cannot be read; see: seep doctor %d",
			    pid);
	if (r == 0)
		r = check_room(&k, &e);
	if (r == 0)
		r = stop_and_look(&k, &e);
	/* A thread stood in the middle of a call of its allocator: unless it is the only
	 * one, and waits. */
	for (unsigned i = 0; r == -EAGAIN && i < LOOK_TRIES_MORE &&
			     (at == NULL || ret_check->threads != 1);
	     i++) {
		e = (struct err){0};
		r = start_over(&k, f, &e);
		if (r == 0)
			r = stop_and_look(&k, &e);
	}
	if (r == 0)
		look_sum_up(&k);
	if (freeze_interrupted())
		r = err_set(&e, -EINTR, "interrupted before the check was complete");
	if (r == -EPERM && at == NULL && !k.how->only_copy && freeze_readable(&k.z)) {
		snprintf(ret_check->instead, sizeof ret_check->instead, "%s", e.msg);
		ret_check->way = LEAKCHECK_RUNNING;
		ret_check->stop_ns = ret_check->pause_ns = 0;
		r = leak_running_look(f, pid, k.how, ret_check, &e);
	}
	ret_check->passed_over_bytes = k.z.pages.passed_over_bytes;
	freeze_close(&k.z);
	ret_check->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	ret_check->done = r == 0;
	if (r < 0)
		snprintf(ret_check->why, sizeof ret_check->why, "%s", e.msg);
	look_done(&k);
	doing_end();
}

void
leakcheck_run(struct livefile *f, int pid, const struct rec_hold *at,
	      const struct leakcheck_how *how, struct leakcheck *ret_check)
{
	run(f, pid, at, at != NULL ? LEAKCHECK_HELD : LEAKCHECK_STOP, how, ret_check);
}

void
leakcheck_look(struct livefile *f, int pid, enum leakcheck_way way,
	       const struct leakcheck_how *how, struct leakcheck *ret_check)
{
	run(f, pid, NULL, way, how, ret_check);
}

const char *
leakcheck_way_name(enum leakcheck_way way)
{
	static const char *const names[] = {[LEAKCHECK_HELD] = "held",
					    [LEAKCHECK_COPY] = "copy",
					    [LEAKCHECK_STOP] = "stop",
					    [LEAKCHECK_RUNNING] = "running"};

	return names[way];
}

void
leakcheck_done(struct leakcheck *c)
{
	vec_done(&c->sites);
	vec_done(&c->inherited);
	*c = (struct leakcheck){0};
}

bool
leakcheck_held(struct livefile *f, bool seen_here, const struct leakcheck_how *how,
	       struct leakcheck *ret_check)
{
	uint32_t waits = REC_HOLD_WAITS, looks = REC_HOLD_LOOKS;
	struct rec_hold at;

	if (!__atomic_compare_exchange_n(&f->head->hold, &waits, REC_HOLD_LOOKS, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	*ret_check = (struct leakcheck){0};
	if (!seen_here)
		snprintf(ret_check->why, sizeof ret_check->why,
			 "it lives in a pid namespace of its own");
	else if (livefile_map_all(f, NULL) < 0)
		snprintf(ret_check->why, sizeof ret_check->why,
			 "its recording could not be mapped");
	if (ret_check->why[0] == '\0') {
		int pid = f->pid;

		memcpy(&at, (const char *)f->head + REC_HOLD_OFF, sizeof at);
		/* A first thread that has ended shows no memory, the others do. */
		if (file_proc_task(pid) != pid)
			pid = (int)at.tid;
		leakcheck_run(f, pid, &at, how, ret_check);
	}
	if (!__atomic_compare_exchange_n(&f->head->hold, &looks, REC_HOLD_GO, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
	    ret_check->done) {
		ret_check->done = false;
		snprintf(ret_check->why, sizeof ret_check->why,
			 "it did not wait for the end of the leak check");
	}
	syscall(SYS_futex, &f->head->hold, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return true;
}
