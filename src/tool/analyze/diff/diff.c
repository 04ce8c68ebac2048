/* SPDX-License-Identifier: MIT */
/* diff.c -- the figures of a comparison: growth, its error, what it may mean.
 *
 * The error of a difference depends on what the two sides share. Two processes are two
 * samplings, and their variances add. Two moments of one process have the samples of
 * every block that lives at both in common: where nothing was freed, only what came in
 * between is uncertain. In between these, the share of blocks freed says how much of the
 * older samples is left. */
#include "tool/analyze/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "tool/analyze/diff/diff_impl.h"
#include "tool/analyze/sites/choose.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* ---- places ---- */

static void
diff_add_total(struct sites_total *to, const struct sites_total *t)
{
	to->allocs += t->allocs;
	to->frees += t->frees;
	to->alloc_bytes += t->alloc_bytes;
	to->free_bytes += t->free_bytes;
	to->temps += t->temps;
	to->temp_bytes += t->temp_bytes;
	to->live_bytes += t->live_bytes;
	to->live_blocks += t->live_blocks;
	to->at_peak_bytes += t->at_peak_bytes;
	to->at_peak_blocks += t->at_peak_blocks;
	to->samples += t->samples;
	to->live_samples += t->live_samples;
	to->var_alloc_bytes += t->var_alloc_bytes;
	to->var_live_bytes += t->var_live_bytes;
	to->var_allocs += t->var_allocs;
	to->var_live_blocks += t->var_live_blocks;
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		to->loss_bytes[i] += t->loss_bytes[i];
		to->loss_blocks[i] += t->loss_blocks[i];
	}
}

/* Variance of sites_beside. */
static double
diff_beside_variance(const struct sites_total *t, enum sites_by by)
{
	switch (by) {
	case SITES_LIVE:
		return t->var_live_blocks;
	case SITES_PEAK:
		return sites_count_variance(
			t, t->at_peak_blocks > 0 ? (uint64_t)t->at_peak_blocks : 0);
	case SITES_ALLOCATED:
		return t->var_allocs;
	case SITES_COUNT:
		return t->var_alloc_bytes;
	default:
		return 0;
	}
}

/* Of a difference; `freed`: the share of the place's blocks that are freed sooner or
 * later. */
static double
diff_join_variances(const struct diff_make *m, double old, double new, double freed)
{
	double least = old < new ? old : new;

	if (!m->d.same_process)
		return old + new;
	return (old > new ? old - new : new - old) + 2 * least * freed;
}

static void
diff_set_place(struct diff_make *m, uint32_t i)
{
	struct diff_place *x = &m->d.places[i];
	const struct sites_total *old = &m->totals[DIFF_OLD][i];
	const struct sites_total *new = &m->totals[DIFF_NEW][i];
	enum sites_by by = m->q->by;
	double freed = new->allocs > 0 ? (double)new->frees / (double)new->allocs : 1;

	for (unsigned s = 0; s < 2; s++) {
		x->value[s] = sites_value(&m->totals[s][i], by);
		x->beside[s] = sites_beside(&m->totals[s][i], by);
	}
	x->var = diff_join_variances(m, sites_variance(old, by), sites_variance(new, by),
				     freed > 1 ? 1 : freed);
	x->var_beside =
		diff_join_variances(m, diff_beside_variance(old, by),
				    diff_beside_variance(new, by), freed > 1 ? 1 : freed);
	/* A sampling that met nothing has no variance of its own: what it would have had
	 * of what the other side is known to have. */
	for (unsigned s = 0; s < 2 && x->var == 0 && m->d.in_bytes; s++) {
		if (m->rate[s] > 0 && m->rate[!s] == 0 && x->value[s] == 0)
			x->var = (double)x->value[!s] * m->rate[s];
	}
	x->samples = by == SITES_LIVE ? new->live_samples : new->samples;
	x->allocs = new->allocs;
	x->frees = new->frees;
	if (m->interval && new->allocs >= old->allocs &&new->frees >= old->frees) {
		x->allocs -= old->allocs;
		x->frees -= old->frees;
	}
	diff_set_losses(m, x, old, new);
}

static void
diff_add_rows(struct diff_make *m, unsigned side, const uint32_t *place)
{
	for (uint32_t i = 0; i < m->ss[side].nrows; i++) {
		const struct sites_row *row = &m->ss[side].rows[i];
		struct diff_place *x = &m->d.places[place[i]];

		diff_add_total(&m->totals[side][place[i]], &row->t);
		if (!x->there[side])
			x->node[side] = row->node;
		x->there[side] = true;
		x->kept = row->kept;
		if (side == DIFF_NEW &&
		    m->growth.rows[i].v.intervals >= GROWTH_INTERVALS &&
		    m->growth.rows[i].v.word > x->growth)
			x->growth = m->growth.rows[i].v.word;
	}
}

/* ---- the new side to the old one's size ---- */

static int64_t
diff_scaled(int64_t n, double by)
{
	double x = (double)n * by;

	return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

static void
diff_normalize(struct diff_make *m)
{
	struct diff *d = &m->d;
	double value = d->value[DIFF_NEW] != 0
			       ? (double)d->value[DIFF_OLD] / (double)d->value[DIFF_NEW]
			       : 0;
	double beside = d->beside[DIFF_NEW] != 0 ? (double)d->beside[DIFF_OLD] /
							   (double)d->beside[DIFF_NEW]
						 : 0;

	if (value <= 0)
		return;
	d->scale = value;
	d->value[DIFF_NEW] = d->beside[DIFF_NEW] = 0;
	for (uint32_t i = 0; i < d->nplaces; i++) {
		struct diff_place *x = &d->places[i];

		x->value[DIFF_NEW] = diff_scaled(x->value[DIFF_NEW], value);
		x->beside[DIFF_NEW] = diff_scaled(x->beside[DIFF_NEW], beside);
		x->var =
			sites_variance(&m->totals[DIFF_OLD][i], m->q->by) +
			sites_variance(&m->totals[DIFF_NEW][i], m->q->by) * value * value;
		d->value[DIFF_NEW] += x->value[DIFF_NEW];
		d->beside[DIFF_NEW] += x->beside[DIFF_NEW];
	}
}

/* ---- order ---- */

static uint64_t
diff_size(const struct diff_place *x)
{
	int64_t by;

	if (__builtin_sub_overflow(x->value[DIFF_NEW], x->value[DIFF_OLD], &by))
		return UINT64_MAX;
	return by < 0 ? -(uint64_t)by : (uint64_t)by;
}

/* What is lost, then the largest change, the largest figure, and what can decide: never
 * the order of a table. */
static int
diff_compare(const void *pa, const void *pb)
{
	const struct diff_place *a = pa, *b = pb;
	uint64_t x = diff_size(a), y = diff_size(b);

	if ((a->mark == DIFF_LEAK) != (b->mark == DIFF_LEAK))
		return a->mark == DIFF_LEAK ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	for (int s = 1; s >= 0; s--) {
		if (a->value[s] != b->value[s])
			return a->value[s] > b->value[s] ? -1 : 1;
		if (a->beside[s] != b->beside[s])
			return a->beside[s] > b->beside[s] ? -1 : 1;
	}
	for (int s = 1; s >= 0; s--) {
		if (a->node[s] != b->node[s])
			return a->node[s] < b->node[s] ? -1 : 1;
	}
	return 0;
}

/* ---- builds and moments ---- */

bool
diff_chosen(const struct diff_make *m, unsigned side, uint32_t process)
{
	const bool *chosen = m->q->side[side].chosen;

	return process > 0 && (chosen == NULL || chosen[process]);
}

/* The only process of a side, 0 when there are several. */
static uint32_t
diff_one(const struct diff_make *m, unsigned side)
{
	uint32_t one = 0;

	for (uint32_t i = 1; i < m->p[side]->nprocesses; i++) {
		if (!diff_chosen(m, side, i))
			continue;
		if (one != 0)
			return 0;
		one = i;
	}
	return one;
}

static const char *
diff_exe(const struct diff_make *m, unsigned side)
{
	for (uint32_t i = 1; i < m->p[side]->nprocesses; i++) {
		if (diff_chosen(m, side, i))
			return prof_text(m->p[side], m->p[side]->processes[i].exe);
	}
	return "";
}

static void
diff_find_builds(struct diff_make *m)
{
	const struct prof *p = m->p[DIFF_NEW];
	const char *exe = diff_exe(m, DIFF_NEW), *was = diff_exe(m, DIFF_OLD);
	bool *used = xcalloc(p->nmodules, sizeof *used);
	uint32_t shared = 0;
	bool same = false;

	for (uint32_t i = 1; i < p->nlocs; i++)
		used[p->locs[i].module] = true;
	m->d.rebuilt = xcalloc(p->nmodules, sizeof *m->d.rebuilt);
	for (uint32_t i = 1; i < p->nmodules; i++) {
		uint8_t state = m->both.states[DIFF_NEW][i];

		if (used[i] && state == DIFF_MODULE_REBUILT)
			m->d.rebuilt[m->d.nrebuilt++] = i;
		if (state == DIFF_MODULE_SAME &&
		    (exe[0] == '\0' ||
		     strcmp(prof_text(p, p->modules[i].path), exe) == 0))
			same = true;
	}
	free(used);
	for (uint32_t i = 0; i < m->d.nplaces; i++)
		shared += m->d.places[i].kept == NULL && m->d.places[i].there[DIFF_OLD] &&
			  m->d.places[i].there[DIFF_NEW];
	if (exe[0] != '\0' && was[0] != '\0' && shared == 0 &&
	    strcmp(file_base(exe), file_base(was)) != 0)
		m->d.build = DIFF_BUILD_FOREIGN;
	else if (m->d.nrebuilt > 0)
		m->d.build = DIFF_BUILD_OTHER;
	else if (same || m->d.same_process)
		m->d.build = DIFF_BUILD_SAME;
}

/* Milliseconds of a side's moment since the recording of `process` began. */
static uint64_t
diff_moment(const struct diff_make *m, unsigned side, uint32_t process)
{
	const struct prof *p = m->p[side];
	const struct prof_process *pr = &p->processes[process];
	const struct sites_point *at = &m->q->side[side].point;
	uint64_t ms = pr->duration_ms;

	if (at->at == SITES_AT_PEAK)
		return pr->peak_ms;
	if (at->at == SITES_AT_EXIT)
		return pr->exit_ms != 0 ? pr->exit_ms : ms;
	if (at->at != SITES_AT_MARK)
		return ms;
	for (uint32_t i = 0; i < p->nmarks; i++) {
		if (p->marks[i].process == process &&
		    choose_mark_is(p, &p->marks[i], at->mark))
			ms = p->marks[i].ms;
	}
	return ms;
}

/* Resident memory at a moment: the last look before it. */
static uint64_t
diff_rss(const struct diff_make *m, unsigned side, uint32_t process, uint64_t ms)
{
	const struct prof *p = m->p[side];
	uint64_t kib = 0;

	if (m->q->side[side].point.at == SITES_AT_END)
		return p->processes[process].rss_kib;
	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];

		if (x->process == process && x->ms <= ms && x->rss_kib > 0)
			kib = x->rss_kib;
	}
	return kib;
}

static void
diff_find_moments(struct diff_make *m)
{
	uint32_t one[2] = {diff_one(m, DIFF_OLD), diff_one(m, DIFF_NEW)};
	uint64_t ms[2] = {0};
	struct diff *d = &m->d;

	if (one[DIFF_OLD] == 0 || one[DIFF_NEW] == 0)
		return;
	for (unsigned s = 0; s < 2; s++) {
		ms[s] = diff_moment(m, s, one[s]);
		if (m->p[s]->format != 0)
			ms[s] = m->p[s]->time_ns / 1000000;
		d->rss_kib[s] = diff_rss(m, s, one[s], ms[s]);
	}
	d->has_ms = d->same_process && ms[DIFF_NEW] > ms[DIFF_OLD] &&
		    (m->p[DIFF_OLD]->format == 0 || ms[DIFF_OLD] > 0);
	d->ms = d->has_ms ? ms[DIFF_NEW] - ms[DIFF_OLD] : 0;
	d->has_rss = d->rss_kib[DIFF_OLD] > 0 && d->rss_kib[DIFF_NEW] > 0;
}

/* ---- all of it ---- */

static void
diff_load_sides(struct diff_make *m)
{
	for (unsigned s = 0; s < 2; s++) {
		struct sites_query q = {.chosen = m->q->side[s].chosen,
					.point = m->q->side[s].point,
					.by = m->q->by,
					.depth = m->q->depth};

		sites_init(&m->ss[s], m->p[s], m->q->side[s].skip, &q);
		m->d.value[s] = sites_value(&m->ss[s].total, m->q->by);
		m->d.beside[s] = sites_beside(&m->ss[s].total, m->q->by);
		for (uint32_t i = 1; i < m->p[s]->nprocesses; i++) {
			const struct prof_process *pr = &m->p[s]->processes[i];

			if (!diff_chosen(m, s, i) || pr->mode != PROF_SAMPLED)
				continue;
			m->d.sampled = true;
			if ((double)pr->rate_bytes > m->rate[s])
				m->rate[s] = (double)pr->rate_bytes;
		}
	}
	for (unsigned s = 0; s < 2; s++)
		m->checked[s] = diff_checked(m, s);
	growth_places_init(&m->growth, m->p[DIFF_NEW], &m->ss[DIFF_NEW]);
	m->d.same_process = diff_same_process(m->p[DIFF_OLD], m->p[DIFF_NEW]);
	m->d.apart = diff_attached_twice(m->p[DIFF_OLD], m->p[DIFF_NEW]);
	m->d.process_known = m->d.same_process;
	if ((m->p[DIFF_OLD]->format == 0 || m->p[DIFF_OLD]->nranges > 0) &&
	    (m->p[DIFF_NEW]->format == 0 || m->p[DIFF_NEW]->nranges > 0))
		m->d.process_known = true;
	m->interval = m->d.same_process &&
		      m->q->side[DIFF_OLD].point.at == SITES_AT_END &&
		      m->q->side[DIFF_NEW].point.at == SITES_AT_END;
	m->d.in_bytes = sites_in_bytes(m->q->by);
	m->d.has_blocks = (m->d.beside[DIFF_OLD] != 0 || m->d.value[DIFF_OLD] == 0) &&
			  (m->d.beside[DIFF_NEW] != 0 || m->d.value[DIFF_NEW] == 0);
}

/* Places of which neither side has anything: all was freed. They are no part of the
 * answer. */
static void
diff_drop_empty(struct diff *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nplaces; i++) {
		const struct diff_place *x = &d->places[i];

		if (x->value[DIFF_OLD] == 0 && x->value[DIFF_NEW] == 0 &&
		    x->beside[DIFF_OLD] == 0 && x->beside[DIFF_NEW] == 0)
			d->nmoved -= x->moved;
		else
			d->places[n++] = *x;
	}
	d->nplaces = n;
}

static void
diff_make_places(struct diff_make *m)
{
	struct diff *d = &m->d;
	struct diff_match match;

	diff_match_init(&match, &m->both, m->ss, m->q);
	d->nplaces = match.nplaces;
	d->places = xcalloc(d->nplaces, sizeof *d->places);
	for (unsigned s = 0; s < 2; s++) {
		m->totals[s] = xcalloc(d->nplaces, sizeof **m->totals);
		diff_add_rows(m, s, match.place[s]);
	}
	for (uint32_t i = 0; i < d->nplaces; i++) {
		d->places[i].moved = match.moved[i];
		d->nmoved += match.moved[i];
		diff_set_place(m, i);
	}
	diff_match_done(&match);
	if (m->q->normalize)
		diff_normalize(m);
	diff_drop_empty(d);
	for (uint32_t i = 0; i < d->nplaces; i++) {
		struct diff_place *x = &d->places[i];

		d->var += x->var;
		d->var_beside += x->var_beside;
		x->noise = x->value[DIFF_OLD] != x->value[DIFF_NEW] &&
			   diff_is_noise(x->value[DIFF_OLD], x->value[DIFF_NEW], x->var);
		x->mark = diff_mark_of(m, x);
	}
	if (d->nplaces > 1)
		qsort(d->places, d->nplaces, sizeof *d->places, diff_compare);
}

void
diff_init(struct diff *ret_diff, const struct prof *old, const struct prof *new,
	  const struct diff_query *q)
{
	struct diff_make m = {.p = {old, new}, .q = q};

	diff_both_init(&m.both, old, new);
	diff_load_sides(&m);
	diff_make_places(&m);
	diff_decide(&m);
	diff_find_builds(&m);
	diff_find_moments(&m);
	for (unsigned s = 0; s < 2; s++) {
		sites_done(&m.ss[s]);
		free(m.totals[s]);
	}
	growth_places_done(&m.growth);
	diff_both_done(&m.both);
	*ret_diff = m.d;
}

void
diff_done(struct diff *d)
{
	free(d->places);
	free(d->rebuilt);
	*d = (struct diff){0};
}
