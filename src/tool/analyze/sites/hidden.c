/* SPDX-License-Identifier: MIT */
/* hidden.c -- see hidden.h. */
#include "tool/analyze/sites/hidden.h"

#include <stdlib.h>

#include "tool/util/x.h"

struct hidden_row {
	uint64_t oldest_ms, listed;
	uint64_t freed[PROF_LIFE_BUCKETS];
	bool old; /* one is older than half of the recording: there is no such age */
};

static bool
is_lost(const struct sites_row *row)
{
	const int64_t *lost = row->t.loss_blocks;

	return lost[PROF_LOSS_DEFINITE] > 0 && row->kept == NULL &&
	       (lost[PROF_LOSS_DEFINITE] + lost[PROF_LOSS_INDIRECT]) * 100 >=
		       row->t.live_blocks * HIDDEN_PERCENT;
}

static void
add_blocks(struct hidden_row *rows, const struct prof *p, const struct sites *ss)
{
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		const struct prof_process *pr = &p->processes[p->sites[b->site].process];
		uint32_t row = ss->row_of_site[b->site];
		uint64_t age = pr->duration_ms > b->ms ? pr->duration_ms - b->ms : 0;

		if (row == UINT32_MAX)
			continue;
		rows[row].listed++;
		if (age > rows[row].oldest_ms)
			rows[row].oldest_ms = age;
		if (age * HIDDEN_LIFETIMES > pr->duration_ms)
			rows[row].old = true;
	}
}

static void
add_freed(struct hidden_row *rows, const struct prof *p, const struct sites *ss)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row = ss->row_of_site[i];
		struct prof_hist h;

		if (row == UINT32_MAX || rows[row].old || !is_lost(&ss->rows[row]))
			continue;
		h = prof_hist(p, i);
		for (unsigned k = 0; k < PROF_LIFE_BUCKETS; k++)
			rows[row].freed[k] += h.lifetimes[k];
	}
}

/* Freed when they were at least half as old as the oldest one that is left. */
static uint64_t
freed_as_old(const struct hidden_row *r)
{
	unsigned k = r->oldest_ms == 0 ? 0 : 64 - (unsigned)__builtin_clzll(r->oldest_ms);
	uint64_t sum = 0;

	for (k = k > 0 ? k - 1 : 0; k < PROF_LIFE_BUCKETS; k++)
		sum += r->freed[k];
	return sum;
}

bool *
hidden_find(const struct prof *p, const struct sites *ss)
{
	struct hidden_row *rows = xcalloc(ss->nrows, sizeof *rows);
	bool *hidden = xcalloc(ss->nrows, sizeof *hidden);

	add_blocks(rows, p, ss);
	add_freed(rows, p, ss);
	for (uint32_t i = 0; i < ss->nrows; i++)
		hidden[i] = !rows[i].old && rows[i].listed >= HIDDEN_BLOCKS &&
			    is_lost(&ss->rows[i]) &&
			    freed_as_old(&rows[i]) >= rows[i].listed;
	free(rows);
	return hidden;
}
