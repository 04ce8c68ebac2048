/* SPDX-License-Identifier: MIT */
/* growth_places.c -- the series of every place, and the words for them.
 *
 * A group is a place in one process. Looks and blocks are sorted into groups by counting,
 * so that each series is made, judged and dropped in turn: a matrix of all places and all
 * looks would be too large. */
#include "tool/analyze/growth/growth_places.h"

#include <math.h>
#include <stdlib.h>

#include "tool/analyze/growth/growth_live.h"
#include "tool/analyze/growth/growth_old.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

struct group {
	uint32_t row, process;
	uint32_t looks, nlooks;	  /* in work.look_rows */
	uint32_t blocks, nblocks; /* in work.blocks */
	int64_t end_bytes, at_exit_bytes;
	int64_t allocs, frees; /* at the end, or when exit began; sampled: samples */
	int64_t live, freed;   /* blocks at the end of all; sampled: samples */
	double sample_var;
	uint64_t first_ms;
	uint64_t lifetimes[PROF_LIFE_BUCKETS];
};

struct groups VEC_BODY(struct group);

/* The looks of a process: they stand together. */
struct series {
	uint32_t first, n;
	uint64_t end_ms;       /* up to here it is judged */
	enum growth_live live; /* of a running process without any */
};

struct work {
	const struct prof *p;
	const struct sites *ss;
	struct groups groups;
	uint32_t *of_site;   /* group of each site, UINT32_MAX = none */
	uint32_t *look_rows; /* rows of prof.look_rows by group, in the order of time */
	uint32_t *look_of;   /* of each row of prof.look_rows: its look */
	uint32_t *blocks;    /* rows of prof.blocks by group */
	struct series *series;
	uint64_t *samples; /* of each process, at all of its sites */
};

/* a += b, whatever figures a damaged file has. */
static void
add(int64_t *a, int64_t b)
{
	*a = (int64_t)((uint64_t)*a + (uint64_t)b);
}

/* ---- groups ---- */

static void
add_site(struct group *g, const struct prof *p, uint32_t site)
{
	const struct prof_site *s = &p->sites[site];
	const struct prof_process *pr = &p->processes[s->process];
	struct prof_hist h = prof_hist(p, site);
	bool sampled = pr->mode == PROF_SAMPLED, exited = pr->exit_ms != 0;
	int64_t allocs = sampled ? (int64_t)s->samples : (int64_t)s->allocs, live;
	double share = 1;

	if (exited) {
		live = s->at_exit_blocks;
		if (sampled && s->allocs > 0)
			share = (double)s->samples / (double)s->allocs;
		live = (int64_t)((double)live * share + 0.5);
	} else {
		live = sampled ? (int64_t)s->live_samples : s->live_blocks;
	}
	g->allocs += allocs;
	g->frees += allocs - live;
	g->end_bytes += s->live_bytes;
	add(&g->live, sampled ? (int64_t)s->live_samples : s->live_blocks);
	add(&g->freed, (int64_t)(sampled ? s->samples - s->live_samples : s->frees));
	g->at_exit_bytes += exited ? s->at_exit_bytes : s->live_bytes;
	if (s->first_ms < g->first_ms)
		g->first_ms = s->first_ms;
	for (unsigned i = 0; i < PROF_LIFE_BUCKETS; i++)
		g->lifetimes[i] += h.lifetimes[i];
	g->sample_var += sampled ? s->var_alloc_bytes : 0; /* divided by samples later */
}

static void
make_groups(struct work *w)
{
	const struct prof *p = w->p;
	struct map known = {0};

	w->of_site = xcalloc(p->nsites, sizeof *w->of_site);
	w->samples = xcalloc(p->nprocesses, sizeof *w->samples);
	for (uint32_t i = 0; i < p->nsites; i++) {
		uint32_t row = w->ss->row_of_site[i];
		uint64_t *at;

		w->samples[p->sites[i].process] += p->sites[i].samples;
		w->of_site[i] = UINT32_MAX;
		if (row == UINT32_MAX)
			continue;
		at = map_add(&known, (uint64_t)p->sites[i].process << 32 | row);
		if (*at == 0) {
			struct group *g = vec_add(&w->groups);

			g->row = row;
			g->process = p->sites[i].process;
			g->first_ms = UINT64_MAX;
			*at = w->groups.len;
		}
		w->of_site[i] = (uint32_t)*at - 1;
		add_site(&w->groups.data[*at - 1], p, i);
	}
	for (size_t i = 0; i < w->groups.len; i++) {
		struct group *g = &w->groups.data[i];

		if (g->allocs > 0)
			g->sample_var /= (double)g->allocs;
	}
	map_done(&known);
}

static struct group *
group_of(struct work *w, uint32_t site)
{
	uint32_t i = site < w->p->nsites ? w->of_site[site] : UINT32_MAX;

	return i != UINT32_MAX ? &w->groups.data[i] : NULL;
}

static void
sort_looks(struct work *w)
{
	const struct prof *p = w->p;
	uint32_t at = 0;

	w->look_rows = xcalloc(p->nlook_rows, sizeof *w->look_rows);
	w->look_of = xcalloc(p->nlook_rows, sizeof *w->look_of);
	for (uint32_t i = 0; i < p->nlook_rows; i++) {
		struct group *g = group_of(w, p->look_rows[i].site);

		w->look_of[i] = UINT32_MAX;
		if (g != NULL)
			g->looks++;
	}
	for (size_t i = 0; i < w->groups.len; i++) {
		uint32_t n = w->groups.data[i].looks;

		w->groups.data[i].looks = at;
		at += n;
	}
	for (uint32_t i = 0; i < p->nlooks; i++) {
		const struct prof_look *l = &p->looks[i];

		for (uint32_t k = l->rows; k < l->rows + l->nrows; k++) {
			struct group *g = group_of(w, p->look_rows[k].site);

			/* A row belongs to one look, and its site to that look's
			 * process. */
			if (g == NULL || g->process != l->process ||
			    w->look_of[k] != UINT32_MAX)
				continue;
			w->look_of[k] = i;
			w->look_rows[g->looks + g->nlooks++] = k;
		}
	}
}

static void
sort_blocks(struct work *w)
{
	const struct prof *p = w->p;
	uint32_t at = 0;

	w->blocks = xcalloc(p->nblocks, sizeof *w->blocks);
	for (uint32_t i = 0; i < p->nblocks; i++) {
		struct group *g = group_of(w, p->blocks[i].site);

		if (g != NULL)
			g->blocks++;
	}
	for (size_t i = 0; i < w->groups.len; i++) {
		uint32_t n = w->groups.data[i].blocks;

		w->groups.data[i].blocks = at;
		at += n;
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		struct group *g = group_of(w, p->blocks[i].site);

		if (g != NULL)
			w->blocks[g->blocks + g->nblocks++] = i;
	}
}

static void
find_series(struct work *w)
{
	const struct prof *p = w->p;

	w->series = xcalloc(p->nprocesses, sizeof *w->series);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		w->series[i].end_ms = pr->exit_ms != 0 ? pr->exit_ms : pr->duration_ms;
	}
	for (uint32_t i = 0; i < p->nlooks; i++) {
		struct series *s = &w->series[p->looks[i].process];

		if (s->n == 0)
			s->first = i;
		if (s->first + s->n == i && p->looks[i].ms < s->end_ms)
			s->n++;
	}
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct series *s = &w->series[i];
		const struct prof_look *l = &p->looks[s->first];

		/* The end takes the place of a look right before it: an interval too
		 * short for anything to happen in says nothing. */
		if (s->n >= 2 &&
		    s->end_ms - l[s->n - 1].ms < (l[s->n - 1].ms - l[s->n - 2].ms) / 2)
			s->n--;
		if (s->n == 0 && p->processes[i].end == PROF_END_RUNNING)
			s->live = growth_live_judge(p, i, s->end_ms);
	}
}

/* ---- one group ---- */

/* The snapshots of its process, and the end. */
static void
fill_points(struct growth *to, const struct work *w, const struct group *g)
{
	const struct series *s = &w->series[g->process];
	struct growth_point x = {0};
	uint32_t at = 0;

	for (uint32_t i = s->first; i < s->first + s->n; i++) {
		for (; at < g->nlooks; at++) {
			uint32_t k = w->look_rows[g->looks + at];
			const struct prof_look_row *r = &w->p->look_rows[k];

			if (w->look_of[k] > i)
				break;
			add(&x.bytes, r->alloc_bytes);
			add(&x.bytes, (int64_t)(0 - (uint64_t)r->free_bytes));
			add(&x.allocs, r->allocs);
			add(&x.frees, r->frees);
		}
		x.ms = w->p->looks[i].ms;
		growth_add(to, &x);
	}
	growth_add(to, &(struct growth_point){.ms = s->end_ms,
					      .bytes = g->at_exit_bytes,
					      .allocs = g->allocs,
					      .frees = g->frees});
}

/* Bytes that a block stands for; a sample stands for more the smaller it is. */
static double
stands_for(const struct prof_process *pr, const struct prof_block *b)
{
	double rate = pr->mode == PROF_SAMPLED ? (double)pr->rate_bytes : 0;
	double bytes = b->bytes > 0 ? (double)b->bytes : 1;

	return rate > 1 ? bytes / -expm1(-bytes / rate) : bytes;
}

/* Its live blocks. Blocks from before the recording, or from before a fork, are not in
 * the list: their age is unknown. */
static void
fill_births(struct growth *to, const struct work *w, const struct group *g)
{
	const struct prof_process *pr = &w->p->processes[g->process];
	uint64_t end = w->series[g->process].end_ms;
	double sum = 0, scale;

	for (uint32_t i = g->blocks; i < g->blocks + g->nblocks; i++) {
		const struct prof_block *b = &w->p->blocks[w->blocks[i]];

		sum += stands_for(pr, b);
		if (b->ms <= end)
			growth_add_birth(to, b->ms, stands_for(pr, b));
	}
	scale = sum > 0 ? (double)g->end_bytes / sum : 0;
	for (size_t i = 0; i < to->births.len; i++)
		to->births.data[i].bytes *= scale;
	if (to->births.len > 1)
		qsort(to->births.data, to->births.len, sizeof *to->births.data,
		      vec_compare_by(struct growth_birth, ms));
	to->first_ms = g->first_ms;
	if (to->births.len > 0 && to->births.data[0].ms < to->first_ms)
		to->first_ms = to->births.data[0].ms;
	if (g->live > 0 && g->nblocks < g->live)
		to->listed = (double)g->nblocks / (double)g->live;
	/* Large recordings list every n-th block only; else the list is damaged. */
	if (to->listed < 0.5 && w->p->blocks_dropped == 0)
		to->listed = 0;
}

static void
fill_freed(struct growth *to, const struct group *g)
{
	uint64_t sum = 0;

	_Static_assert((int)GROWTH_AGES == (int)PROF_LIFE_BUCKETS, "an age for each");
	for (unsigned i = PROF_LIFE_BUCKETS; i-- > 0;)
		to->freed[i] = sum += g->lifetimes[i];
	to->freed[0] = g->freed > 0 ? (uint64_t)g->freed : 0; /* temporary ones, too */
}

static uint64_t
oldest_ms(const struct work *w, const struct group *g)
{
	uint64_t end = w->series[g->process].end_ms, oldest = 0;

	for (uint32_t i = g->blocks; i < g->blocks + g->nblocks; i++) {
		uint64_t ms = w->p->blocks[w->blocks[i]].ms;

		if (ms < end && end - ms > oldest)
			oldest = end - ms;
	}
	return oldest;
}

static struct growth_verdict
judge_group(const struct work *w, const struct group *g)
{
	const struct prof_process *pr = &w->p->processes[g->process];
	const struct series *s = &w->series[g->process];
	struct growth series;
	struct growth_verdict v;

	growth_begin(&series, g->sample_var);
	fill_points(&series, w, g);
	/* Without snapshots the births alone tell, if there was time enough. */
	if (s->n >= 2 || s->end_ms >= GROWTH_BIRTHS_MS)
		fill_births(&series, w, g);
	fill_freed(&series, g);
	series.ended = pr->exit_ms != 0;
	series.left_bytes = g->end_bytes;
	v = growth_judge(&series);
	growth_done(&series);
	if (v.word == GROWTH_STEADY && pr->mode == PROF_SAMPLED &&
	    w->samples[g->process] < GROWTH_SAMPLES) {
		v.word = GROWTH_UNKNOWN;
		v.why = GROWTH_WHY_FEW;
	}
	if (v.word >= GROWTH_GROWING)
		v.oldest_ms = oldest_ms(w, g);
	return v;
}

/* Growth that was freed at exit is not worth a word unless it is some for the process. */
static void
drop_small(const struct work *w, struct growth_verdict *v)
{
	double *rose = xcalloc(w->p->nprocesses, sizeof *rose);

	for (size_t i = 0; i < w->groups.len; i++) {
		if (v[i].why == GROWTH_WHY_FREED_AT_EXIT)
			rose[w->groups.data[i].process] +=
				(double)v[i].high_bytes - (double)v[i].low_bytes;
	}
	for (size_t i = 0; i < w->groups.len; i++) {
		if (v[i].why == GROWTH_WHY_FREED_AT_EXIT &&
		    rose[w->groups.data[i].process] < GROWTH_ROSE_BYTES) {
			v[i].word = GROWTH_OK;
			v[i].why = GROWTH_WHY_NONE;
		}
	}
	free(rose);
}

/* ---- what is older than the recording ---- */

/* Reports what a group has kept lately, block by block. */
static void
tell_kept(const struct work *w, struct growth_old *old, uint32_t number)
{
	const struct group *g = &w->groups.data[number];
	const struct prof_process *pr = &w->p->processes[g->process];
	double listed = 0;
	uint64_t from = growth_old_from_ms(old, g->process);

	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = g->blocks; i < g->blocks + g->nblocks; i++) {
			const struct prof_block *b = &w->p->blocks[w->blocks[i]];
			double stands = stands_for(pr, b);

			if (turn == 0)
				listed += stands;
			else if (b->ms >= from)
				growth_old_add(old, number, g->process, b->bytes,
					       stands * (double)g->end_bytes / listed);
		}
	}
}

/* Verdicts of groups in processes that were recorded from later on than their start. */
static void
judge_old(const struct work *w, struct growth_verdict *v)
{
	struct growth_old old;

	if (w->p->nolds == 0)
		return;
	growth_old_init(&old, w->p);
	for (uint32_t i = 0; i < w->groups.len; i++) {
		if (v[i].word >= GROWTH_GROWING &&
		    growth_old_is_late(&old, w->groups.data[i].process))
			tell_kept(w, &old, i);
	}
	for (uint32_t i = 0; i < w->groups.len; i++)
		growth_old_judge(&old, i, w->groups.data[i].process, &v[i]);
	growth_old_done(&old);
}

/* ---- places ---- */

static void
add_verdict(struct growth_place *to, const struct growth_verdict *v, uint32_t process)
{
	if (v->word < to->v.word)
		return;
	if (v->word > to->v.word)
		*to = (struct growth_place){0};
	to->slope += v->slope;
	to->error = sqrt(to->error * to->error + v->error * v->error);
	to->processes++;
	if (to->processes == 1 || v->slope > to->v.slope) {
		to->v = *v;
		to->process = process;
	}
}

static void
add_part(struct growth_places *g, const struct growth_verdict *v, const struct group *of)
{
	if (v->word >= GROWTH_GROWING)
		g->parts[g->nparts++] = (struct growth_part){.row = of->row,
							     .process = of->process,
							     .word = v->word,
							     .slope = v->slope,
							     .ms = v->ms};
}

static int
compare(const void *pa, const void *pb, void *ctx)
{
	const struct growth_places *g = ctx;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct growth_place *a = &g->rows[ia], *b = &g->rows[ib];

	if (a->v.word != b->v.word)
		return a->v.word > b->v.word ? -1 : 1;
	if (a->slope != b->slope)
		return a->slope > b->slope ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static void
sum_up(struct growth_places *g, const struct work *w)
{
	double var = 0;

	g->ranked = xcalloc(w->ss->nrows, sizeof *g->ranked);
	g->turning = xcalloc(w->ss->nrows, sizeof *g->turning);
	for (uint32_t i = 0; i < w->ss->nrows; i++) {
		const struct growth_place *x = &g->rows[i];

		g->count[x->v.word]++;
		if (x->v.word > g->word)
			g->word = x->v.word;
		if (x->v.word >= GROWTH_GROWING)
			g->ranked[g->nranked++] = i;
		else if (x->v.older > 0)
			g->turning[g->nturning++] = i;
	}
	for (uint32_t i = 0; i < g->nranked; i++) {
		const struct growth_place *x = &g->rows[g->ranked[i]];

		if (x->v.word != g->word)
			continue;
		g->slope += x->slope;
		var += x->error * x->error;
	}
	g->error = sqrt(var);
	if (g->nranked > 1)
		qsort_r(g->ranked, g->nranked, sizeof *g->ranked, compare, g);
}

/* What the processes asked about allow to say. */
static void
find_limits(struct growth_places *g, const struct work *w)
{
	uint64_t samples = 0;
	bool exact = false;

	for (size_t i = 0; i < w->groups.len; i++) {
		uint32_t process = w->groups.data[i].process;
		const struct prof_process *pr = &w->p->processes[process];
		const struct series *s = &w->series[process];
		unsigned n;

		if (pr->mode == PROF_SAMPLED && pr->rate_bytes > g->rate_bytes)
			g->rate_bytes = pr->rate_bytes;
		if (pr->mode == PROF_SAMPLED && w->samples[process] > samples)
			samples = w->samples[process];
		exact |= pr->mode != PROF_SAMPLED;
		n = s->n + 1; /* the last one ends with the recording */
		if (s->live == GROWTH_LIVE_FLAT)
			n = GROWTH_LIVE_INTERVALS;
		g->rose |= s->live == GROWTH_LIVE_ROSE;
		if (n < g->intervals)
			continue;
		if (n > 1 && g->intervals == 0)
			g->ms = 0; /* not that of processes without snapshots */
		g->intervals = n > 1 ? n : 0;
		if (s->end_ms > g->ms)
			g->ms = s->end_ms;
	}
	g->why = g->intervals < GROWTH_INTERVALS || g->rose ? GROWTH_WHY_SHORT
		 : !exact && samples < GROWTH_SAMPLES	    ? GROWTH_WHY_FEW
							    : GROWTH_WHY_NONE;
}

void
growth_places_init(struct growth_places *ret_places, const struct prof *p,
		   const struct sites *ss)
{
	struct growth_places g = {.rows = xcalloc(ss->nrows, sizeof *g.rows)};
	struct work w = {.p = p, .ss = ss};
	struct growth_verdict *v;

	if (p->columns == PROF_HAS_ALL && p->format == 0) {
		make_groups(&w);
		sort_looks(&w);
		sort_blocks(&w);
		find_series(&w);
	}
	v = xcalloc(w.groups.len, sizeof *v);
	for (size_t i = 0; i < w.groups.len; i++)
		v[i] = judge_group(&w, &w.groups.data[i]);
	drop_small(&w, v);
	judge_old(&w, v);
	g.parts = xcalloc(w.groups.len, sizeof *g.parts);
	for (size_t i = 0; i < w.groups.len; i++) {
		add_verdict(&g.rows[w.groups.data[i].row], &v[i],
			    w.groups.data[i].process);
		add_part(&g, &v[i], &w.groups.data[i]);
	}
	free(v);
	find_limits(&g, &w);
	sum_up(&g, &w);
	vec_done(&w.groups);
	free(w.of_site);
	free(w.look_rows);
	free(w.look_of);
	free(w.blocks);
	free(w.series);
	free(w.samples);
	*ret_places = g;
}

void
growth_places_done(struct growth_places *g)
{
	free(g->rows);
	free(g->ranked);
	free(g->parts);
	free(g->turning);
	*g = (struct growth_places){0};
}

bool
growth_places_judged(const struct growth_places *g)
{
	return g->why == GROWTH_WHY_NONE && g->intervals >= GROWTH_INTERVALS;
}
