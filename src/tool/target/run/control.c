/* SPDX-License-Identifier: MIT */
/* control.c -- see control.h.
 *
 * A mark is made in three steps. The sites' live totals are summed into memory of ours,
 * without a lock: a sum taken while the program allocates is off by the calls of that
 * millisecond. Then room is found in the recording, as the recorder does it: from the
 * newest chunk of marks by an atomic addition, else from a new chunk under the space
 * lock, whose pages are made present before the lock is taken. Last the rows are stored
 * and, when all are there, their number: a reader ignores records whose number is 0, so a
 * mark cut short by our own death does not count.
 *
 * The lock holds our id, which is odd: the recorder's ids are refs, which never are. */
#include "tool/target/run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/clock.h"
#include "tool/util/vec.h"

#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum {
	LOCK_SPACE = 0,
	LOCK_WAIT_MS = 1000,
	CHUNK_ROOM = REC_CHUNK_BYTES - sizeof(struct rec_chunk),
};

struct rows VEC_BODY(struct rec_mark_row);
struct records VEC_BODY(struct rec_mark *);

void
control_pause(struct livefile *f, bool paused)
{
	__atomic_store_n(&f->head->paused, paused ? 1 : 0, __ATOMIC_RELAXED);
}

/* ---- the totals ---- */

static void
add_cell(void *ctx, const struct livefile *f, void *object)
{
	const struct rec_cell *c = object;
	struct rec_mark_row *row = ctx;

	row->live_bytes += (int64_t)(c->alloc_bytes - c->free_bytes);
	if (f->head->mode == REC_MODE_SAMPLE) /* in 1/1024 until all are added up */
		row->live_blocks += (int64_t)(c->est_allocs - c->est_frees);
	else
		row->live_blocks += (int64_t)(c->allocs - c->frees);
}

static void
add_site(void *ctx, const struct livefile *f, void *object)
{
	const struct rec_site *s = object;
	struct rows *rows = ctx;
	struct rec_mark_row row = {.site = livefile_site_ref(f, s)};

	if (s->node == 0)
		return;
	livefile_each_cell_of(f, s, add_cell, &row);
	if (f->head->mode == REC_MODE_SAMPLE) {
		row.live_blocks /= 1024;
		row.estimated = 1;
	}
	if (row.live_bytes != 0 || row.live_blocks != 0)
		vec_push(rows, row);
}

/* ---- room ---- */

static uint32_t
lock_id(void)
{
	return (uint32_t)getpid() * 2 + 1;
}

static int
space_lock(struct livefile *f, struct err *e)
{
	uint32_t *word = &f->head->locks[LOCK_SPACE];
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + LOCK_WAIT_MS * UINT64_C(1000000);

	for (;;) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(word, &none, lock_id(), false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 0;
		if (clock_ns(CLOCK_MONOTONIC) > until)
			return err_set(
				e, -EBUSY,
				"process %d keeps its recording locked; if it is stopped, let it run: kill -CONT PID",
				f->pid);
		clock_nap(50000);
	}
}

static void
space_unlock(struct livefile *f)
{
	uint32_t mine = lock_id();

	__atomic_compare_exchange_n(&f->head->locks[LOCK_SPACE], &mine, 0, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Makes chunks first … last present, for us and so for the program: it is one file. */
static bool
make_present(struct livefile *f, uint32_t first, uint32_t last)
{
	uint64_t off = REC_CHUNKS_OFF + (uint64_t)(first - 1) * REC_CHUNK_BYTES;
	uint64_t bytes = (uint64_t)(last - first + 1) * REC_CHUNK_BYTES;

	if (last < first)
		return true;
	if (off > f->mapped_bytes || bytes > f->mapped_bytes - off)
		return false;
	if (madvise((char *)f->head + off, bytes, MADV_POPULATE_WRITE) == 0)
		return true;
	return errno == EINVAL && posix_fallocate(f->fd, (off_t)off, (off_t)bytes) == 0;
}

/* A new chunk of marks at the front of its list. -EAGAIN: the program took the room that
 * was made present; try again. */
static int
chunk_under_lock(struct livefile *f, uint32_t present)
{
	struct rec_head *h = f->head;
	uint32_t index = h->chunks + 1;
	struct rec_chunk *c;

	if (index > h->populated) {
		if (index > present)
			return -EAGAIN;
		h->populated = index;
	}
	c = livefile_chunk(f, index);
	if (c == NULL)
		return -ENOSPC;
	c->used = sizeof *c;
	c->next = h->chunk_lists[REC_CHUNK_MARK];
	c->kind = REC_CHUNK_MARK;
	h->chunks = index;
	__atomic_store_n(&h->chunk_lists[REC_CHUNK_MARK], index, __ATOMIC_RELEASE);
	return 0;
}

static int
chunk_new(struct livefile *f, struct err *e)
{
	for (int tries = 0; tries < 100; tries++) {
		uint32_t populated =
			__atomic_load_n(&f->head->populated, __ATOMIC_RELAXED);
		uint32_t want = __atomic_load_n(&f->head->chunks, __ATOMIC_RELAXED) + 1;
		int r;

		if (want > populated && !make_present(f, populated + 1, want))
			return err_set(
				e, -ENOSPC,
				"no room for a mark in the recording; use a larger --max-size");
		r = space_lock(f, e);
		if (r < 0)
			return r;
		r = chunk_under_lock(f, want > populated ? want : populated);
		space_unlock(f);
		if (r != -EAGAIN)
			return r < 0 ? err_set(e, r,
					       "no room for a mark in the recording; use a larger --max-size")
				     : 0;
	}
	return err_set(e, -EBUSY, "no room for a mark: process %d is faster; try again",
		       f->pid);
}

/* Room for one record of `rows` rows. */
static int
take_record(struct livefile *f, struct rec_mark **ret_mark, struct err *e)
{
	/* All records of a kind have one size: that is how readers find the next. */
	uint32_t bytes = (uint32_t)(sizeof(struct rec_mark) +
				    REC_MARK_ROWS * sizeof(struct rec_mark_row));

	for (int tries = 0; tries < 100; tries++) {
		uint32_t index = __atomic_load_n(&f->head->chunk_lists[REC_CHUNK_MARK],
						 __ATOMIC_ACQUIRE);
		struct rec_chunk *c = livefile_chunk(f, index);
		int r;

		if (c != NULL && __atomic_load_n(&c->used, __ATOMIC_RELAXED) + bytes <=
					 REC_CHUNK_BYTES) {
			uint32_t at =
				__atomic_fetch_add(&c->used, bytes, __ATOMIC_RELAXED);

			if (at + bytes <= REC_CHUNK_BYTES) {
				*ret_mark = (struct rec_mark *)((char *)c + at);
				return 0;
			}
		}
		r = chunk_new(f, e);
		if (r < 0)
			return r;
	}
	return err_set(e, -EBUSY, "no room for a mark; try again");
}

/* ---- the mark ---- */

static void
fill_record(struct rec_mark *m, const struct rec_mark *head,
	    const struct rec_mark_row *rows, uint32_t n)
{
	*m = *head;
	m->number = 0;
	m->sites = n;
	if (n > 0)
		memcpy(m + 1, rows, n * sizeof *rows);
}

static int
store_rows(struct livefile *f, const struct rec_mark *head, const struct rows *rows,
	   struct records *done, struct err *e)
{
	size_t at = 0;

	do {
		uint32_t n = rows->len - at < REC_MARK_ROWS ? (uint32_t)(rows->len - at)
							    : (uint32_t)REC_MARK_ROWS;
		struct rec_mark *m = NULL;
		int r = take_record(f, &m, e);

		if (r < 0)
			return r;
		fill_record(m, head, rows->len > 0 ? rows->data + at : NULL, n);
		vec_push(done, m);
		at += n;
	} while (at < rows->len);
	return 0;
}

int
control_mark(struct livefile *f, const char *name, struct control_marked *ret_mark,
	     struct err *e)
{
	struct rec_mark head = {0};
	struct rows rows = {0};
	struct records done = {0};
	sigset_t all, before;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), start = f->head->start_mono_ns;
	int r = livefile_map_all(f, e);

	if (r < 0)
		return r;
	snprintf(head.name, sizeof head.name, "%s", name);
	head.ms = now > start ? (now - start) / 1000000 : 0;
	livefile_each(f, REC_CHUNK_SITE, sizeof(struct rec_chunk),
		      sizeof(struct rec_site), add_site, &rows);
	for (size_t i = 0; i < rows.len; i++)
		head.live_bytes += rows.data[i].live_bytes;

	/* Nothing may end us while we hold the program's lock. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = store_rows(f, &head, &rows, &done, e);
	if (r == 0) {
		head.number = __atomic_add_fetch(&f->head->marks, 1, __ATOMIC_RELAXED);
		for (size_t i = 0; i < done.len; i++)
			__atomic_store_n(&done.data[i]->number, head.number,
					 __ATOMIC_RELEASE);
	} else {
		__atomic_fetch_add(&f->head->lost[REC_LOST_MARK], 1, __ATOMIC_RELAXED);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		*ret_mark = (struct control_marked){
			.number = head.number,
			.sites = (uint32_t)rows.len,
			.ms = head.ms,
			.live_bytes = head.live_bytes,
		};
	vec_done(&rows);
	vec_done(&done);
	return r;
}
