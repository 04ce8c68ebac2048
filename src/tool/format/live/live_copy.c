/* SPDX-License-Identifier: MIT */
/* live_copy.c -- our own copy of a live recording, which nobody can change while it is
 * checked and used.
 *
 * Nine tenths of a large one are the sites and the buckets of live blocks, which are read
 * once and nearly in order. Of a process that has ended they are left out, and copied a
 * chunk at a time when they are asked for, into few places that are used again
 * (pieces.h): memory that need not be made. What was under way there is undone when a
 * chunk comes. A process that runs goes on writing: all of it is copied at once. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "live_impl.h"
#include "shared/compiler.h"
#include "shared/mem.h"
#include "tool/util/err.h"
#include "tool/util/pieces.h"
#include "tool/util/x.h"

/* A word with its old value; in the order in which they are to be put back. */
struct live_word {
	uint64_t off, old;
	uint32_t turn;
};

struct live_left_out {
	int fd;
	uint64_t bytes;	  /* of the recording */
	uint8_t *kinds;	  /* of chunks that are left out; 0 = it is in the copy */
	uint32_t nchunks; /* that have a place in `kinds` */
	struct pieces pieces;
	VEC(struct live_word) undo;
};

static uint64_t
chunk_off(uint32_t chunk)
{
	return REC_CHUNKS_OFF + (uint64_t)chunk * REC_CHUNK_BYTES;
}

void
live_make_room(struct live *l, size_t bytes)
{
	size_t whole = ALIGN_UP(bytes, (size_t)REC_CHUNK_BYTES);

	if (whole < REC_CHUNKS_OFF)
		whole = REC_CHUNKS_OFF;
	l->data = xcalloc(1, whole);
	l->head = (struct rec_head *)(void *)l->data;
	l->bytes = bytes;
}

void
live_copy_done(struct live *l)
{
	if (l->left_out != NULL) {
		pieces_done(&l->left_out->pieces);
		vec_done(&l->left_out->undo);
		free(l->left_out->kinds);
		free(l->left_out);
		l->left_out = NULL;
	}
	free(l->data);
	l->data = NULL;
}

uint32_t
live_chunk_kind(const struct live *l, uint32_t chunk)
{
	const struct rec_chunk *c = (const void *)(l->data + chunk_off(chunk));

	if (l->left_out != NULL && chunk < l->left_out->nchunks &&
	    l->left_out->kinds[chunk] != 0)
		return l->left_out->kinds[chunk];
	return c->kind;
}

/* ---- what was under way ---- */

/* Whether that byte is in a chunk that is not in the copy. */
static bool
live_is_left_out(const struct live *l, uint64_t off)
{
	uint64_t chunk = (off - REC_CHUNKS_OFF) / REC_CHUNK_BYTES;

	return l->left_out != NULL && off >= REC_CHUNKS_OFF &&
	       chunk < l->left_out->nchunks && l->left_out->kinds[chunk] != 0;
}

static int
word_order(const void *a, const void *b)
{
	const struct live_word *x = a, *y = b;

	if (x->off / 8 != y->off / 8)
		return x->off < y->off ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

/* Undoes what a thread had under way: its words get their old values back, the last
 * first. */
static void
live_undo(struct live *l, const struct rec_thread *t)
{
	if (t->journal_count > REC_JOURNAL_MAX) {
		l->bad[LIVE_BAD_JOURNAL]++;
		return;
	}
	for (uint32_t i = t->journal_count; i-- > 0;) {
		const struct rec_undo *u = &t->journal[i];

		/* what never changes is not undone */
		if (u->off % 8 != 0 || u->off < offsetof(struct rec_head, clock_ms) ||
		    (u->off >= sizeof(struct rec_head) && u->off < REC_CHUNKS_OFF) ||
		    u->off > l->bytes - 8) {
			l->bad[LIVE_BAD_JOURNAL]++;
			continue;
		}
		if (live_is_left_out(l, u->off))
			vec_push(&l->left_out->undo,
				 (struct live_word){u->off, u->old,
						    (uint32_t)l->left_out->undo.len});
		else
			mem_put_u64(l->data + u->off, u->old);
	}
}

void
live_undo_all(struct live *l)
{
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const struct rec_thread *t;

		if (l->chunks[i].kind != REC_CHUNK_THREAD)
			continue;
		for (uint32_t slot = 0; (t = live_slot(l, i, slot)) != NULL; slot++)
			live_undo(l, t);
	}
	if (l->left_out != NULL)
		vec_sort(&l->left_out->undo, word_order);
}

/* ---- chunks that come when they are needed ---- */

/* The first word to be put back at or behind `off`. */
static size_t
first_word(const struct live_left_out *o, uint64_t off)
{
	size_t low = 0, high = o->undo.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->undo.data[middle].off < off)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

unsigned char *
live_chunk_copy(struct live_left_out *o, uint32_t chunk)
{
	uint64_t off = chunk_off(chunk);
	unsigned char *at = pieces_find(&o->pieces, chunk);
	size_t got = 0, want;

	if (at != NULL)
		return at;
	at = pieces_room(&o->pieces, chunk);
	if (at == NULL)
		x_oom(REC_CHUNK_BYTES);
	want = o->bytes - off < REC_CHUNK_BYTES ? (size_t)(o->bytes - off)
						: REC_CHUNK_BYTES;
	if (live_pread(o->fd, at, want, (off_t)off, &got, NULL) < 0)
		got = 0; /* as if it were cut off */
	memset(at + got, 0, REC_CHUNK_BYTES - got);
	for (size_t i = first_word(o, off);
	     i < o->undo.len && o->undo.data[i].off < off + REC_CHUNK_BYTES; i++)
		mem_put_u64(at + (o->undo.data[i].off - off), o->undo.data[i].old);
	return at;
}

/* ---- from a file ---- */

int
live_pread(int fd, void *to, size_t bytes, off_t off, size_t *ret_got, struct err *e)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t n = pread(fd, (char *)to + got, bytes - got, off + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, -errno, "cannot read");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*ret_got = got;
	return 0;
}

/* Where the data of the first `end` bytes end, as far as the file system knows of
 * holes. */
uint64_t
live_data_end(int fd, uint64_t end)
{
	off_t at = 0, last = 0;

	while (at >= 0 && (uint64_t)at < end) {
		at = lseek(fd, at, SEEK_DATA);
		if (at >= 0)
			at = last = lseek(fd, at, SEEK_HOLE);
		else if (errno != ENXIO)
			return end;
	}
	return last < 0 || (uint64_t)last > end ? end : (uint64_t)last;
}

/* The bytes [from, to), which are data and all in chunks; chunks of buckets are noted and
 * left out. */
static int
live_read_chunks(struct live *l, int fd, uint64_t from, uint64_t to, struct err *e)
{
	uint64_t at = from, end;
	int r = 0;

	for (; at < to && r == 0; at = end) {
		uint32_t chunk = (uint32_t)((at - REC_CHUNKS_OFF) / REC_CHUNK_BYTES);
		struct rec_chunk head = {0};
		size_t got;

		end = chunk_off(chunk + 1) < to ? chunk_off(chunk + 1) : to;
		r = live_pread(fd, &head, sizeof head, (off_t)chunk_off(chunk), &got, e);
		if (r == 0 && live_leaves_out(head.kind))
			l->left_out->kinds[chunk] = (uint8_t)head.kind;
		else if (r == 0)
			r = live_pread(fd, l->data + at, (size_t)(end - at), (off_t)at,
				       &got, e);
	}
	return r;
}

static int
live_read_range(struct live *l, int fd, uint64_t from, uint64_t to, struct err *e)
{
	uint64_t first = l->left_out == NULL || to < REC_CHUNKS_OFF ? to
			 : from > REC_CHUNKS_OFF		    ? from
								    : REC_CHUNKS_OFF;
	size_t got;
	int r = live_pread(fd, l->data + from, (size_t)(first - from), (off_t)from, &got,
			   e);

	return r == 0 && first < to ? live_read_chunks(l, fd, first, to, e) : r;
}

int
live_copy_fd(struct live *l, int fd, struct err *e)
{
	off_t at = 0;
	int r = 0;

	if (l->stopped && l->bytes > REC_CHUNKS_OFF) {
		l->left_out = xcalloc(1, sizeof *l->left_out);
		l->left_out->fd = fd;
		l->left_out->bytes = l->bytes;
		l->left_out->nchunks =
			(uint32_t)((l->bytes - REC_CHUNKS_OFF - 1) / REC_CHUNK_BYTES + 1);
		l->left_out->kinds = xcalloc(l->left_out->nchunks, 1);
		l->left_out->pieces.piece_bytes = REC_CHUNK_BYTES;
		l->left_out->pieces.most = l->left_out->nchunks;
	}
	while ((uint64_t)at < l->bytes && r == 0) {
		off_t data = lseek(fd, at, SEEK_DATA);
		off_t hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0 || hole <= data) { /* it knows nothing of holes */
			data = at;
			hole = (off_t)l->bytes;
		}
		if ((uint64_t)data >= l->bytes)
			return 0;
		if ((uint64_t)hole > l->bytes)
			hole = (off_t)l->bytes;
		r = live_read_range(l, fd, (uint64_t)data, (uint64_t)hole, e);
		at = hole;
	}
	return r;
}
