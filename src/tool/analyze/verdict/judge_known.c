/* SPDX-License-Identifier: MIT */
/* judge_known.c -- losses that a baseline has too (judge.h): marked, so that every
 * report, verdict and file is about the others.
 *
 * The places of a baseline are compared as a whole first, since one place may have
 * several rows: lines of one function, processes of one run. Which of its blocks are the
 * new ones is then not known: so many of each row are taken for known that their bytes
 * are as near as possible to those of the baseline; where rows do not differ in that, the
 * ones that come last are taken for new. */
#include "tool/analyze/verdict/judge.h"

#include <stdlib.h>

#include "tool/analyze/process/managed.h"
#include "tool/util/x.h"

struct known {
	struct prof *p;
	const struct skip *s;
	const struct runtime_info **managed; /* by row, of the rows there were at first */
	uint32_t nrows;
	struct judge_places now;
	struct buf key;
};

/* A row of losses, and how many of its blocks are known. */
struct known_row {
	uint32_t row, place;
	uint8_t kind;
	uint64_t known;
};

/* Whether a row can be known; leaves its key. */
static bool
known_key(struct known *x, uint32_t row)
{
	const struct prof_loss *l = &x->p->losses[row];
	const struct prof_site *site = &x->p->sites[l->site];

	if (l->kind > PROF_LOSS_INDIRECT || site->node == 0 || x->managed[row] != NULL ||
	    skip_kept_by_libc(x->s, site) != NULL)
		return false;
	judge_key(x->p, x->s, site->node, &x->key);
	return true;
}

/* Turns places into how many blocks of each are known. */
static void
known_count(struct known *x, const struct judge_places *base)
{
	for (uint32_t id = 0; id < x->now.rows.len; id++) {
		struct judge_losses *now = &x->now.rows.data[id], more = *now;
		const struct judge_losses *b = judge_places_find(
			base, strtab_str(&x->now.keys, id), strtab_len(&x->now.keys, id));

		if (b != NULL)
			more = judge_more_losses(now, b);
		for (unsigned k = 0; k < PROF_LOSS_KINDS; k++)
			now->blocks[k] -= more.blocks[k];
	}
}

static void
known_mark(struct prof_loss *l)
{
	l->was = l->kind;
	l->kind = PROF_LOSS_SUPPRESSED;
	l->known = true;
}

/* Moves `blocks` of a row to a row of its own. */
static void
known_split(struct prof *p, uint32_t row, uint64_t blocks)
{
	uint32_t to = prof_add_loss(p);
	struct prof_loss *whole = &p->losses[row], *part = &p->losses[to];
	double share = (double)blocks / (double)whole->blocks;

	*part = *whole;
	part->blocks = blocks;
	part->bytes = (uint64_t)((double)whole->bytes * share);
	part->indirect_bytes = (uint64_t)((double)whole->indirect_bytes * share);
	part->leftover_blocks = part->leftover_bytes = 0;
	whole->blocks -= part->blocks;
	whole->bytes -= part->bytes;
	whole->indirect_bytes -= part->indirect_bytes;
	known_mark(part);
}

static double
known_size(const struct known *x, const struct known_row *r)
{
	const struct prof_loss *l = &x->p->losses[r->row];

	return (double)l->bytes / (double)l->blocks;
}

/* Of rows `r` to `r + n`, the one with the smallest blocks (largest for `large`) that has
 * a known block (a new one for `has_new`); n if there is none. */
static size_t
known_extreme(const struct known *x, const struct known_row *r, size_t n, bool large,
	      bool has_new)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++) {
		bool fits = has_new ? r[i].known < x->p->losses[r[i].row].blocks
				    : r[i].known > 0;
		double size = known_size(x, &r[i]);

		if (fits && (best == n || (large ? size > known_size(x, &r[best])
						 : size < known_size(x, &r[best]))))
			best = i;
	}
	return best;
}

/* Exchanges known and new blocks of the rows of one place and kind, until the known ones
 * have `bytes` in all. */
static void
known_balance(const struct known *x, struct known_row *r, size_t n, double bytes)
{
	double have = 0;

	for (size_t i = 0; i < n; i++)
		have += (double)r[i].known * known_size(x, &r[i]);
	for (size_t round = 0; round < 2 * n; round++) {
		bool more = have < bytes;
		size_t from = known_extreme(x, r, n, !more, false);
		size_t to = known_extreme(x, r, n, more, true);
		double step, moves;
		uint64_t most;

		if (from == n || to == n || from == to)
			return;
		step = known_size(x, &r[to]) - known_size(x, &r[from]);
		moves = step != 0 ? (bytes - have) / step : 0;
		most = x->p->losses[r[to].row].blocks - r[to].known;
		most = r[from].known < most ? r[from].known : most;
		if (moves < 0.5)
			return;
		if (moves < (double)most)
			most = (uint64_t)(moves + 0.5);
		r[from].known -= most;
		r[to].known += most;
		have += step * (double)most;
	}
}

static int
known_order(const void *a, const void *b)
{
	const struct known_row *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Deals out the known blocks of each place to its rows, the first ones first. */
static void
known_deal(struct known *x, const struct judge_places *base, struct known_row *r,
	   size_t n)
{
	qsort(r, n, sizeof *r, known_order);
	for (size_t from = 0, to; from < n; from = to) {
		uint32_t place = r[from].place;
		unsigned kind = r[from].kind;
		uint64_t all = x->now.rows.data[place].blocks[kind], left = all;
		const struct judge_losses *b =
			judge_places_find(base, strtab_str(&x->now.keys, place),
					  strtab_len(&x->now.keys, place));

		for (to = from; to < n && r[to].place == place && r[to].kind == kind;
		     to++) {
			uint64_t blocks = x->p->losses[r[to].row].blocks;

			r[to].known = left < blocks ? left : blocks;
			left -= r[to].known;
		}
		if (to - from > 1 && all > 0 && b != NULL && b->blocks[kind] > 0)
			known_balance(x, r + from, to - from,
				      (double)b->bytes[kind] * (double)all /
					      (double)b->blocks[kind]);
	}
}

void
judge_mark_known(struct prof *p, const struct skip *s, const struct judge_places *base)
{
	struct known x = {
		.p = p, .s = s, .managed = managed_losses(p, s), .nrows = p->nlosses};
	struct known_row *rows = xcalloc(x.nrows, sizeof *rows);
	size_t n = 0;

	for (uint32_t i = 0; i < x.nrows; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (!known_key(&x, i) || l->blocks == 0)
			continue;
		judge_places_add(&x.now, buf_str(&x.key), l->kind, l->blocks, l->bytes);
		rows[n] = (struct known_row){.row = i, .kind = l->kind};
		if (strtab_find(&x.now.keys, buf_str(&x.key), x.key.len, &rows[n].place))
			n++;
	}
	known_count(&x, base);
	known_deal(&x, base, rows, n);
	for (size_t i = 0; i < n; i++) {
		struct prof_loss *l = &p->losses[rows[i].row];

		if (rows[i].known >= l->blocks)
			known_mark(l);
		else if (rows[i].known > 0)
			known_split(p, rows[i].row, rows[i].known);
	}
	judge_places_done(&x.now);
	buf_done(&x.key);
	free(rows);
	free(x.managed);
}
