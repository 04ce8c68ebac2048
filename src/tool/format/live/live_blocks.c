/* SPDX-License-Identifier: MIT */
/* live_blocks.c -- live blocks, marks and the timeline of a live recording.
 *
 * Blocks hang in a tree by address, so they come out page by page. In a sampled
 * recording each stands for size / p bytes, where p = 1 - exp(-size / rate) is the
 * chance that it was picked; the variance of that estimate, (size / p)^2 (1 - p), is
 * added to its site. */
#include "live_impl.h"

#include <math.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/vec.h"

/* ---- blocks ---- */

static void
live_add_variance(struct live *l, uint32_t site, uint64_t bytes, unsigned rate_number)
{
	uint64_t rate = rate_number < REC_RATES_MAX ? l->head->rates[rate_number] : 0;
	double p, estimate;

	if (rate == 0) {
		l->bad[LIVE_BAD_RATE]++;
		rate = l->head->rate_bytes;
	}
	if (rate <= 1 || bytes == 0)
		return; /* at one byte everything is a sample */
	p = -expm1(-(double)bytes / (double)rate);
	estimate = (double)bytes / p;
	l->p->sites[site].var_live_bytes += estimate * estimate * (1 - p);
}

static void
live_read_block(struct live *l, uint64_t page, uint8_t off, const struct rec_block *b)
{
	uint32_t site_ref = (uint32_t)b->b;
	unsigned kind = b->a >> REC_BLOCK_KIND_SHIFT & 15;
	unsigned number = (unsigned)(b->a >> REC_BLOCK_THREAD_SHIFT);
	struct prof_block *x;
	uint32_t row;

	if (kind == REC_KIND_INHERITED) {
		/* the parent lists it; every child again would be too much */
		if (site_ref != l->inherited || site_ref == 0)
			l->bad[LIVE_BAD_BLOCK]++;
		return;
	}
	row = prof_add_block(l->p);
	x = &l->p->blocks[row];
	x->process = l->process;
	x->addr = page | (uint64_t)off << 4 | (b->a >> REC_BLOCK_LOW_SHIFT & 15);
	x->bytes = b->a & REC_BLOCK_SIZE_MASK;
	x->ms = (uint32_t)(b->b >> 32);
	x->kind = (uint8_t)kind;
	x->thread_serial = l->sampled ? 0 : (uint16_t)number;
	live_saw_ms(l, x->ms);
	if (x->kind > REC_KIND_CUSTOM) {
		l->bad[LIVE_BAD_BLOCK]++;
		x->kind = REC_KIND_MALLOC;
	}
	x->site = live_site_row(l, site_ref);
	if (x->site == 0)
		l->bad[LIVE_BAD_BLOCK]++;
	else if (l->sampled)
		live_add_variance(l, x->site, x->bytes, number);
}

/* The chain of buckets of one page. */
static void
live_read_page(struct live *l, uint32_t ref, uint64_t page)
{
	while (ref != 0) {
		const struct rec_bucket *b = live_at(l, ref, REC_CHUNK_BUCKET, sizeof *b);
		const struct rec_block *rows;
		const uint8_t *offs;
		uint64_t cap;
		size_t bytes;

		cap = b != NULL ? b->used >> REC_BUCKET_CAP_SHIFT : 0;
		bytes = sizeof *b + ALIGN_UP((size_t)cap, (size_t)16) +
			cap * sizeof *rows;
		if (b == NULL || cap == 0 || cap > REC_BUCKET_CAP_MAX ||
		    live_at(l, ref, REC_CHUNK_BUCKET, bytes) == NULL ||
		    !live_first_visit(l, ref, bytes)) {
			l->bad[LIVE_BAD_TREE]++;
			return;
		}
		offs = (const uint8_t *)(b + 1);
		rows = (const void *)(offs + ALIGN_UP((size_t)cap, (size_t)16));
		for (unsigned i = 0; i < cap; i++) {
			if (rows[i].b != 0)
				live_read_block(l, page, offs[i], &rows[i]);
		}
		ref = b->next;
	}
}

static void
live_read_leaf(struct live *l, uint32_t ref, uint64_t base)
{
	const uint32_t *leaf = live_at(l, ref, REC_CHUNK_LEAF, REC_LEAF_SLOTS * 4);

	if (leaf == NULL || !live_first_visit(l, ref, REC_LEAF_SLOTS * 4)) {
		l->bad[LIVE_BAD_TREE]++;
		return;
	}
	for (uint64_t i = 0; i < REC_LEAF_SLOTS; i++) {
		if (leaf[i] != 0)
			live_read_page(l, leaf[i], base | i << REC_LEAF_SHIFT);
	}
}

static void
live_read_mid(struct live *l, uint32_t ref, uint64_t base)
{
	const uint32_t *mid = live_at(l, ref, REC_CHUNK_MID, REC_MID_SLOTS * 4);

	if (mid == NULL || !live_first_visit(l, ref, REC_MID_SLOTS * 4)) {
		l->bad[LIVE_BAD_TREE]++;
		return;
	}
	for (uint64_t i = 0; i < REC_MID_SLOTS; i++) {
		if (mid[i] != 0)
			live_read_leaf(l, mid[i], base | i << REC_MID_SHIFT);
	}
}

void
live_read_blocks(struct live *l, uint32_t first_site)
{
	const uint32_t *root = (const void *)(l->data + REC_ROOT_OFF);
	uint64_t live = 0, most = l->bytes / sizeof(struct rec_block);

	for (uint32_t i = first_site; i < l->p->nsites; i++)
		live += (uint64_t)(l->p->sites[i].live_blocks > 0
					   ? l->p->sites[i].live_blocks
					   : 0);
	prof_expect_blocks(l->p, live < most ? live : most);
	/* what the file does not have is zero in our copy */
	for (uint64_t i = 0; i < REC_ROOT_SLOTS; i++) {
		if (root[i] != 0)
			live_read_mid(l, root[i], i << REC_ROOT_SHIFT);
	}
}

/* ---- marks ---- */

struct live_mark {
	uint32_t number;
	uint32_t ref; /* of its struct rec_mark */
};

struct live_marks VEC_BODY(struct live_mark);

static int
live_mark_compare(const void *a, const void *b)
{
	const struct live_mark *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static void
live_find_marks(struct live *l, uint32_t chunk, struct live_marks *marks)
{
	const struct rec_mark *m;

	for (uint32_t slot = 0; (m = live_slot(l, chunk, slot)) != NULL; slot++) {
		if (m->number == 0)
			continue; /* never begun, or not finished */
		if (m->sites > REC_MARK_ROWS) {
			l->bad[LIVE_BAD_MARK]++;
			continue;
		}
		vec_push(marks,
			 (struct live_mark){m->number, live_slot_ref(l, chunk, slot)});
	}
}

static void
live_add_mark_rows(struct live *l, const struct rec_mark *m, uint32_t mark)
{
	const struct rec_mark_row *rows = (const void *)(m + 1);

	for (uint32_t i = 0; i < m->sites; i++) {
		uint32_t site = live_site_row(l, rows[i].site);
		struct prof_mark_row *x;
		uint32_t row;

		if (rows[i].site == l->inherited && l->inherited != 0)
			continue;
		if (site == 0) {
			l->bad[LIVE_BAD_MARK]++;
			continue;
		}
		row = prof_add_mark_row(l->p);
		x = &l->p->mark_rows[row];
		x->site = site;
		x->live_bytes = rows[i].live_bytes;
		x->live_blocks =
			rows[i].estimated == 1
				? rows[i].live_blocks
				: live_scale(l, &l->p->sites[site], rows[i].live_blocks);
		l->p->marks[mark].nrows++;
	}
}

void
live_read_marks(struct live *l)
{
	struct live_marks marks = {0};
	uint32_t number = 0, row = 0;

	for (uint32_t i = 0; i < l->nchunks; i++) {
		if (l->chunks[i].kind == REC_CHUNK_MARK)
			live_find_marks(l, i, &marks);
	}
	vec_sort(&marks, live_mark_compare);
	for (size_t i = 0; i < marks.len; i++) {
		const struct rec_mark *m =
			live_at(l, marks.data[i].ref, REC_CHUNK_MARK, sizeof *m);

		if (m->number != number) {
			struct prof_mark *x;

			row = prof_add_mark(l->p);
			x = &l->p->marks[row];
			x->process = l->process;
			x->number = number = m->number;
			x->name = prof_strn(l->p, m->name,
					    strnlen(m->name, sizeof m->name));
			x->ms = m->ms;
			x->live_bytes = m->live_bytes;
			x->rows = l->p->nmark_rows;
			live_saw_ms(l, m->ms);
		}
		live_add_mark_rows(l, m, row);
	}
	vec_done(&marks);
}

/* ---- timeline ---- */

void
live_read_points(struct live *l)
{
	const struct rec_point *points = (const void *)(l->data + REC_POINTS_OFF);
	const uint32_t *owns = (const void *)(l->data + REC_POINT_OWN_OFF);
	uint64_t have = l->bytes > REC_POINTS_OFF
				? (l->bytes - REC_POINTS_OFF) / sizeof *points
				: 0;
	struct prof_process *process = &l->p->processes[l->process];
	uint32_t n = l->head->points;

	if (have > REC_POINTS_MAX)
		have = REC_POINTS_MAX;
	if (n > have) {
		l->bad[LIVE_BAD_POINT] += n - have;
		n = (uint32_t)have;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = prof_add_point(l->p);
		struct prof_point *x = &l->p->points[row];

		x->process = l->process;
		x->ms = points[i].ms;
		x->rss_kib = points[i].rss_kib;
		x->live_bytes = points[i].live_bytes;
		x->own_kib = owns[i / REC_OWN_EVERY];
		live_saw_ms(l, x->ms);
		if (x->rss_kib > process->rss_peak_kib)
			process->rss_peak_kib = x->rss_kib;
	}
}
