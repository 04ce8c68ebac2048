/* SPDX-License-Identifier: MIT */
/* live_series.c -- what each site of a live recording had live at past moments.
 *
 * A cell has rows only for moments after which it changed (shared/recording.h says what
 * they stand for). Here they become a figure for every moment, are added up over the
 * cells of a site, and what is left of that are the steps. A figure that cannot be had is
 * unknown, and so is every sum that it is part of. */
#include "live_impl.h"
#include "tool/model/series.h"
#include "tool/util/x.h"

enum { LIVE_MOMENTS_MAX = REC_MOMENTS_MAX + 1 };

struct live_moments {
	struct prof_tick all[LIVE_MOMENTS_MAX];
	uint32_t numbers[LIVE_MOMENTS_MAX];
	int64_t site[LIVE_MOMENTS_MAX];
	bool part[LIVE_MOMENTS_MAX]; /* not all sites are known then */
	uint32_t n;		     /* with the end; 0 = there is none */
};

/* a += b, either of which may be unknown; figures of a damaged file may be anything. */
static void
add(int64_t *a, int64_t b)
{
	if (*a == PROF_UNKNOWN || b == PROF_UNKNOWN)
		*a = PROF_UNKNOWN;
	else
		*a = (int64_t)((uint64_t)*a + (uint64_t)b);
}

/* By number, which is how they followed each other. */
static void
insert(struct live_moments *m, const struct rec_moment *row)
{
	uint32_t number = rec_series_moment(row->when), i = m->n++;

	for (; i > 0 && m->numbers[i - 1] > number; i--) {
		m->numbers[i] = m->numbers[i - 1];
		m->all[i] = m->all[i - 1];
	}
	m->numbers[i] = number;
	m->all[i].ms = row->when & ((UINT64_C(1) << REC_SERIES_BITS) - 1);
	m->all[i].live_bytes = row->live_bytes;
}

void
live_read_moments(struct live *l)
{
	const struct rec_moment *rows = (const void *)(l->data + REC_MOMENTS_OFF);
	struct live_moments *m = l->ticks = xcalloc(1, sizeof *m);

	for (uint32_t i = 0; i < REC_MOMENTS_MAX; i++) {
		if (rows[i].when != 0)
			insert(m, &rows[i]);
	}
	for (uint32_t i = 0; i < m->n; i++) {
		m->all[i].process = l->process;
		if (m->numbers[i] == 0 || (i > 0 && (m->numbers[i] == m->numbers[i - 1] ||
						     m->all[i].ms < m->all[i - 1].ms))) {
			l->bad[LIVE_BAD_SERIES] += m->n;
			m->n = 0;
			return;
		}
	}
	if (l->head->mode != REC_MODE_EXACT && l->head->mode != REC_MODE_SAMPLE)
		m->n = 0;
	if (l->head->mode == REC_MODE_OFF)
		return; /* nothing was recorded */
	if (m->n > 0)
		live_saw_ms(l, m->all[m->n - 1].ms);
	m->numbers[m->n] = UINT32_MAX;
	m->all[m->n++].process = l->process;
}

void
live_series_begin(struct live *l)
{
	for (uint32_t i = 0; i < l->ticks->n; i++)
		l->ticks->site[i] = 0;
}

/* All moments after `after` that have no figure of this cell yet; `i` of them have
 * none. */
static uint32_t
fill(struct live_moments *m, uint32_t i, unsigned after, int64_t bytes)
{
	while (i > 0 && m->numbers[i - 1] > after)
		add(&m->site[--i], bytes);
	return i;
}

void
live_series_add(struct live *l, const struct rec_cell *c)
{
	struct live_moments *m = l->ticks;
	unsigned stamp = rec_stamp_moment(c->stamp);
	uint32_t i = fill(m, m->n, stamp, (int64_t)(c->alloc_bytes - c->free_bytes));
	int64_t bytes = c->series == 0 ? 0 : PROF_UNKNOWN;
	bool first = true;

	for (uint32_t ref = c->series; i > 0 && ref > REC_SERIES_LOST;) {
		const struct rec_series *s = live_at(l, ref, REC_CHUNK_SERIES, sizeof *s);

		if (s == NULL || !live_first_visit(l, ref, sizeof *s)) {
			l->bad[LIVE_BAD_SERIES]++;
			bytes = PROF_UNKNOWN;
			break;
		}
		for (unsigned k = REC_SERIES_ROWS; k-- > 0;) {
			uint64_t row = s->rows[k];
			unsigned moment = rec_series_moment(row);

			if (row << (64 - REC_SERIES_LINK_SHIFT) == 0)
				continue;
			if (!first)
				i = fill(m, i, moment < stamp ? moment : stamp, bytes);
			first = false;
			bytes = rec_series_bytes(row);
			if (bytes == REC_SERIES_UNKNOWN)
				bytes = PROF_UNKNOWN;
		}
		ref = rec_series_before(s);
	}
	fill(m, i, 0, bytes);
}

void
live_series_end(struct live *l, uint32_t site_row)
{
	struct live_moments *m = l->ticks;
	int64_t before = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		struct prof_step *x;
		uint32_t row;

		if (m->site[i] == PROF_UNKNOWN)
			m->part[i] = true;
		if (m->site[i] == before)
			continue;
		row = prof_add_step(l->p);
		x = &l->p->steps[row];
		x->site = site_row;
		x->moment = i;
		x->live_bytes = before = m->site[i];
	}
}

/* Sums over all sites; where one is unknown, what the recorder had noted. */
static void
add_up(const struct live *l, uint32_t first_step)
{
	struct live_moments *m = l->ticks;
	int64_t sums[LIVE_MOMENTS_MAX + 1] = {0}, before = 0;
	const struct prof *p = l->p;

	/* what each step adds to all moments from its own on */
	for (uint32_t i = first_step; i < p->nsteps; i++) {
		const struct prof_step *x = &p->steps[i];
		int64_t now = x->live_bytes == PROF_UNKNOWN ? 0 : x->live_bytes;

		if (i == first_step || x[-1].site != x->site)
			before = 0;
		add(&sums[x->moment], (int64_t)((uint64_t)now - (uint64_t)before));
		before = now;
	}
	before = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		add(&before, sums[i]);
		if (!m->part[i])
			m->all[i].live_bytes = before;
	}
}

void
live_finish_moments(struct live *l)
{
	struct live_moments *m = l->ticks;
	uint32_t first = l->p->nsteps;

	if (m->n > 0)
		m->all[m->n - 1].ms = l->last_ms;
	while (first > 0 &&
	       l->p->sites[l->p->steps[first - 1].site].process == l->process)
		first--;
	add_up(l, first);
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t row = prof_add_tick(l->p);

		l->p->ticks[row] = m->all[i];
	}
	free(m);
	l->ticks = NULL;
}
