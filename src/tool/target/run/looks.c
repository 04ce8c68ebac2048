/* SPDX-License-Identifier: MIT */
/* looks.c -- see looks.h.
 *
 * Chunks of sites form a list, newest first. It is only ever added to at its head, so
 * counted from its other end each chunk keeps its place, and with it each site its
 * number. For every site the totals of its last row are kept; a row is the difference to
 * them. When a look is dropped, the next one keeps the lower state of the two for each
 * site. */
#include "tool/target/run/looks.h"

#include <string.h>

#include "tool/target/run/liveobjects.h"
#include "tool/util/clock.h"
#include "tool/util/x.h"

enum {
	SITES_PER_CHUNK =
		(REC_CHUNK_BYTES - sizeof(struct rec_chunk)) / sizeof(struct rec_site),
	ROWS_MAX = 1000000,
};

struct totals {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct looks_chunk {
	uint32_t index; /* in the file */
	struct totals last[SITES_PER_CHUNK];
};

bool
looks_due(const struct looks *l, uint64_t ms)
{
	return l->every_ms > 0 && !l->full &&
	       ms >= (l->next_ms > 0 ? l->next_ms : l->every_ms);
}

/* ---- one site ---- */

static void
add_cell(void *ctx, const struct livefile *f, void *object)
{
	const struct rec_cell *c = object;
	struct totals *to = ctx;

	(void)f;
	to->allocs += c->allocs;
	to->frees += c->frees;
	to->alloc_bytes += c->alloc_bytes;
	to->free_bytes += c->free_bytes;
}

/* Whether as much is live as was; what came and went again is told with the next
 * change. */
static bool
same(const struct totals *a, const struct totals *b)
{
	return a->allocs - a->frees == b->allocs - b->frees &&
	       a->alloc_bytes - a->free_bytes == b->alloc_bytes - b->free_bytes;
}

static uint32_t
site_ref(uint32_t chunk, uint32_t slot)
{
	return (uint32_t)((REC_CHUNKS_OFF + (uint64_t)(chunk - 1) * REC_CHUNK_BYTES +
			   sizeof(struct rec_chunk) + slot * sizeof(struct rec_site)) /
			  8);
}

static void
look_at_chunk(struct looks *l, const struct livefile *f, uint32_t number,
	      struct looks_one *to)
{
	struct looks_chunk *known = l->chunks.data[number];
	const struct rec_chunk *c = livefile_chunk(f, known->index);
	const struct rec_site *sites;
	uint32_t used;

	if (c == NULL || c->kind != REC_CHUNK_SITE)
		return;
	sites = (const void *)(c + 1);
	used = c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES;
	for (uint32_t i = 0; sizeof *c + (i + 1) * sizeof *sites <= used; i++) {
		struct totals *last = &known->last[i], now = {0};

		if (sites[i].node == 0)
			continue;
		livefile_each_cell_of(f, &sites[i], add_cell, &now);
		if (same(&now, last))
			continue;
		vec_push(&to->rows,
			 (struct looks_row){
				 .site = number * SITES_PER_CHUNK + i,
				 .allocs = (int64_t)(now.allocs - last->allocs),
				 .frees = (int64_t)(now.frees - last->frees),
				 .alloc_bytes =
					 (int64_t)(now.alloc_bytes - last->alloc_bytes),
				 .free_bytes =
					 (int64_t)(now.free_bytes - last->free_bytes),
			 });
		*last = now;
	}
}

/* ---- the chunks ---- */

/* Takes in chunks of sites that are new. */
static void
find_chunks(struct looks *l, const struct livefile *f)
{
	uint32_t index =
		__atomic_load_n(&f->head->chunk_lists[REC_CHUNK_SITE], __ATOMIC_ACQUIRE);
	uint32_t most = f->head->chunks, known = 0;
	VEC(uint32_t) found = {0};

	if (l->chunks.len > 0)
		known = (*vec_last(&l->chunks))->index;
	while (index != 0 && index != known && found.len < most) {
		const struct rec_chunk *c = livefile_chunk(f, index);

		if (c == NULL)
			break;
		vec_push(&found, index);
		index = c->next;
	}
	/* A list that does not lead back to what we know is not what it was. */
	if (index != known)
		found.len = 0;
	while (found.len > 0) {
		struct looks_chunk *c = xcalloc(1, sizeof *c);

		c->index = found.data[--found.len];
		vec_push(&l->chunks, c);
	}
	vec_done(&found);
}

uint32_t
looks_ref(const struct looks *l, uint32_t site)
{
	uint32_t number = site / SITES_PER_CHUNK;

	if (number >= l->chunks.len)
		return 0;
	return site_ref(l->chunks.data[number]->index, site % SITES_PER_CHUNK);
}

/* ---- fewer of them ---- */

static void
add_row(struct looks_row *to, const struct looks_row *r)
{
	to->allocs += r->allocs;
	to->frees += r->frees;
	to->alloc_bytes += r->alloc_bytes;
	to->free_bytes += r->free_bytes;
}

/* Rows of both, by site; rows of one site are added up. `a` and `b` are left without
 * rows. */
static struct looks_rows
merge(struct looks_rows *a, struct looks_rows *b)
{
	struct looks_rows both = {0};
	size_t i = 0, k = 0;

	vec_reserve(&both, a->len + b->len);
	while (i < a->len || k < b->len) {
		if (k == b->len || (i < a->len && a->data[i].site <= b->data[k].site)) {
			vec_push(&both, a->data[i]);
			if (k < b->len && a->data[i].site == b->data[k].site)
				add_row(vec_last(&both), &b->data[k++]);
			i++;
		} else {
			vec_push(&both, b->data[k++]);
		}
	}
	vec_done(a);
	vec_done(b);
	return both;
}

/* A look that goes is joined to the next, which keeps the lower state of each site: that
 * is what growth is judged by. Growth from the one to the other is counted in the look
 * after them. Without one the later state is kept. */
static void
join(struct looks_one *to, struct looks_one *from, struct looks_one *after)
{
	struct looks_rows stay = {0}, grew = {0};

	for (size_t i = 0; i < to->rows.len; i++) {
		const struct looks_row *r = &to->rows.data[i];

		if (after != NULL && r->alloc_bytes > r->free_bytes)
			vec_push(&grew, *r);
		else
			vec_push(&stay, *r);
	}
	vec_done(&to->rows);
	to->rows = merge(&from->rows, &stay);
	if (after != NULL)
		after->rows = merge(&grew, &after->rows);
}

/* Every second look goes; the first and the last stay. */
static void
thin(struct looks *l)
{
	size_t n = 0;

	l->rows = 0;
	for (size_t i = 0; i < l->kept.len; i++) {
		struct looks_one *k = &l->kept.data[i];

		if (i % 2 == 1 && i + 1 < l->kept.len) {
			join(k + 1, k, i + 2 < l->kept.len ? k + 2 : NULL);
		} else {
			l->rows += k->rows.len;
			l->kept.data[n++] = *k;
		}
	}
	l->kept.len = n;
	l->every_ms *= 2;
}

void
looks_take(struct looks *l, struct livefile *f, uint64_t ms)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), wait;
	struct looks_one *one;

	if (l->full || livefile_map_all(f, NULL) < 0 || f->head->exit_ms != 0 ||
	    (l->kept.len > 0 && vec_last(&l->kept)->ms >= ms))
		return;
	find_chunks(l, f);
	one = vec_add(&l->kept);
	one->ms = ms;
	one->rss_kib = (uint32_t)f->head->rss_kib;
	one->own_kib = (uint32_t)rec_held_kib(f->head);
	for (uint32_t i = 0; i < l->chunks.len; i++)
		look_at_chunk(l, f, i, one);
	l->rows += one->rows.len;
	while (l->kept.len >= LOOKS_MAX || (l->rows > ROWS_MAX && l->kept.len > 13))
		thin(l);
	l->full = l->rows > ROWS_MAX;
	l->cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	wait = l->cost_ns / 1000000 * LOOKS_SHARE +
	       l->cost_ns % 1000000 * LOOKS_SHARE / 1000000;
	l->next_ms = ms + (wait > l->every_ms ? wait : l->every_ms);
}

void
looks_done(struct looks *l)
{
	for (size_t i = 0; i < l->kept.len; i++)
		vec_done(&l->kept.data[i].rows);
	for (size_t i = 0; i < l->chunks.len; i++)
		free(l->chunks.data[i]);
	vec_done(&l->kept);
	vec_done(&l->chunks);
}
