/* SPDX-License-Identifier: MIT */
/* judge_known.c -- losses that a baseline has too (judge.h): marked, so that every report, verdict and
 * file is about the others.
 *
 * The places of a baseline are compared as a whole first, since one place may have several rows: lines of one
 * function, processes of one run. Which of its blocks are the new ones is then not known; the rows that come
 * last are taken for new. */
#include "tool/analyze/verdict/judge.h"

#include <stdlib.h>

#include "tool/analyze/process/managed.h"

struct known {
	struct prof *p;
	const struct skip *s;
	const struct runtime_info **managed; /* by row, of the rows there were at first */
	uint32_t nrows;
	struct judge_places now;
	struct buf key;
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

void
judge_mark_known(struct prof *p, const struct skip *s, const struct judge_places *base)
{
	struct known x = {
		.p = p, .s = s, .managed = managed_losses(p, s), .nrows = p->nlosses};

	for (uint32_t i = 0; i < x.nrows; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (known_key(&x, i))
			judge_places_add(&x.now, buf_str(&x.key), l->kind, l->blocks,
					 l->bytes);
	}
	known_count(&x, base);
	for (uint32_t i = 0; i < x.nrows; i++) {
		struct prof_loss *l = &p->losses[i];
		uint64_t *left;
		uint32_t at;

		if (!known_key(&x, i) ||
		    !strtab_find(&x.now.keys, buf_str(&x.key), x.key.len, &at))
			continue;
		left = &x.now.rows.data[at].blocks[l->kind];
		if (*left >= l->blocks) {
			*left -= l->blocks;
			known_mark(l);
		} else if (*left > 0) {
			uint64_t blocks = *left;

			*left = 0;
			known_split(p, i, blocks);
		}
	}
	judge_places_done(&x.now);
	buf_done(&x.key);
	free(x.managed);
}
