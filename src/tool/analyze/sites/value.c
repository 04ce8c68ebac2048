/* SPDX-License-Identifier: MIT */
/* value.c -- the figure of each stack that a view is drawn from.
 *
 * Without block filters it is a column of the site. With them, live memory is added up
 * again from the live blocks, and what a thread allocated from its cells. Where a profile
 * keeps neither blocks nor cells a stack counts as a whole, by its label or by the mean
 * size of its blocks. */
#include "tool/analyze/sites/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/graph/filter.h"
#include "tool/analyze/sites/choose.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

const char *const value_names[PROF_VALUES] = {
	[PROF_LIVE] = "live",
	[PROF_PEAK] = "peak",
	[PROF_ALLOCATED] = "allocated",
	[PROF_TEMPORARY] = "temporary",
};

static const struct {
	const char *name;
	enum prof_value value;
	bool objects;
} value_aliases[] = {
	{"inuse_space", PROF_LIVE, false},
	{"inuse_objects", PROF_LIVE, true},
	{"alloc_space", PROF_ALLOCATED, false},
	{"alloc_objects", PROF_ALLOCATED, true},
	{"space", PROF_LIVE, false},
	{"objects", PROF_LIVE, true},
	{"peak_space", PROF_PEAK, false},
	{"peak_objects", PROF_PEAK, true},
	{"temporary_space", PROF_TEMPORARY, false},
	{"temporary_objects", PROF_TEMPORARY, true},
};

/* "peak-objects", "live_bytes": one of ours with its unit. */
static bool
value_parse_unit(const char *word, enum prof_value *ret_value, bool *ret_objects)
{
	size_t n = strcspn(word, "-_");
	const char *unit = word[n] != '\0' ? word + n + 1 : "";
	bool objects = strcmp(unit, "objects") == 0 || strcmp(unit, "blocks") == 0;

	if (!objects && strcmp(unit, "bytes") != 0)
		return false;
	for (unsigned i = 0; i < PROF_VALUES; i++) {
		if (strlen(value_names[i]) == n &&
		    strncmp(word, value_names[i], n) == 0) {
			*ret_value = i;
			*ret_objects = objects;
			return true;
		}
	}
	return false;
}

int
value_parse(const char *word, enum prof_value *ret_value, bool *ret_objects,
	    struct err *e)
{
	for (unsigned i = 0; i < PROF_VALUES; i++) {
		if (strcmp(word, value_names[i]) == 0) {
			*ret_value = i;
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(value_aliases); i++) {
		if (strcmp(word, value_aliases[i].name) == 0) {
			*ret_value = value_aliases[i].value;
			*ret_objects = value_aliases[i].objects;
			return 0;
		}
	}
	if (value_parse_unit(word, ret_value, ret_objects))
		return 0;
	return err_set(e, -EINVAL,
		       "no sample index %s: live, peak, allocated or temporary, or "
		       "inuse_space, inuse_objects, alloc_space, alloc_objects",
		       word);
}

enum prof_value
value_default(const struct prof *p, bool *ret_objects)
{
	enum prof_value value;
	struct err e = {0};
	bool objects = false;

	if (p->default_type != 0 &&
	    value_parse(prof_text(p, p->default_type), &value, &objects, &e) == 0 &&
	    prof_has_value(p, value)) {
		*ret_objects = objects;
		return value;
	}
	return prof_has_value(p, PROF_LIVE) ? PROF_LIVE : PROF_ALLOCATED;
}

/* What the profile can be asked for, in words. */
static const char *
value_known(const struct prof *p, char *words, size_t room)
{
	size_t n = 0;

	words[0] = '\0';
	for (unsigned i = 0; i < PROF_VALUES; i++) {
		if (prof_has_value(p, i))
			n += (size_t)snprintf(words + n, room - n, "%s%s",
					      n > 0 ? ", " : "", value_names[i]);
	}
	return words;
}

/* Some formats have one number a stack, and so no count of blocks. */
static bool
value_has_blocks(const struct prof *p, const struct graph_query *q)
{
	struct graph_query of = {.value = q->value, .point = q->point};
	struct values bytes, blocks;
	bool some = false, counted = false;

	if (p->columns == PROF_HAS_ALL)
		return true;
	values_load(&bytes, p, &of);
	of.objects = true;
	values_load(&blocks, p, &of);
	for (uint32_t i = 1; i < p->nsites && !counted; i++) {
		some = some || bytes.v[i] != 0;
		counted = blocks.v[i] != 0;
	}
	values_done(&bytes);
	values_done(&blocks);
	return counted || !some;
}

bool
value_has_point(const struct prof *p, enum sites_at at, struct err *e)
{
	if (p->columns == PROF_HAS_ALL || at == SITES_AT_END || at == SITES_AT_MARK ||
	    p->nsnapshots > 0 || (at == SITES_AT_PEAK && prof_has_value(p, PROF_PEAK)))
		return true;
	err_set(e, -ENODATA,
		prof_has_value(p, PROF_PEAK)
			? "this profile (%s) does not say when exit began"
			: "this profile (%s) is of one moment only",
		prof_text(p, p->format));
	return false;
}

int
value_check(const struct prof *p, const struct graph_query *q, struct err *e)
{
	const struct filter_blocks *b = filter_blocks(q->filter);
	const char *name = value_names[q->value];
	char known[64];

	if (!prof_has_value(p, q->value))
		return err_set(e, -ENODATA,
			       "this profile (%s) has no %s memory, only: %s",
			       prof_text(p, p->format), name,
			       value_known(p, known, sizeof known));
	if (!value_has_point(p, q->point.at, e))
		return -ENODATA;
	if (q->objects && !value_has_blocks(p, q))
		return err_set(e, -ENODATA, "this profile (%s) does not count blocks",
			       prof_text(p, p->format));
	if (b == NULL)
		return 0;
	if (b->has_age && (q->value != PROF_LIVE || q->point.at != SITES_AT_END ||
			   (p->nblocks == 0 && p->columns != PROF_HAS_ALL)))
		return err_set(e, -ENODATA, "only blocks live at the end have an age%s",
			       p->columns != PROF_HAS_ALL
				       ? ", and this profile does not list any"
				       : "");
	if (b->thread != NULL && p->columns != PROF_HAS_ALL && p->ncells == 0)
		return err_set(e, -ENODATA, "this profile has no figures per thread");
	if (b->thread != NULL && p->columns == PROF_HAS_ALL &&
	    (q->point.at != SITES_AT_END ||
	     (q->value != PROF_LIVE && q->value != PROF_ALLOCATED)))
		return err_set(e, -ENODATA,
			       "threads are known for live and allocated memory, "
			       "not for %s",
			       q->point.at != SITES_AT_END ? "that moment" : name);
	return 0;
}

/* ---- columns ---- */

struct value_work {
	const struct prof *p;
	const struct graph_query *q;
	const struct filter_blocks *blocks; /* NULL = none */
	bool *threads;			    /* chosen by name or number; NULL = all */
	int64_t *mark_bytes, *mark_blocks;
};

struct value_pair {
	double bytes, blocks;
};

static struct value_pair
value_live(const struct value_work *w, uint32_t i)
{
	const struct prof_site *s = &w->p->sites[i];

	switch (w->q->point.at) {
	case SITES_AT_PEAK:
		return (struct value_pair){(double)s->at_peak_bytes,
					   (double)s->at_peak_blocks};
	case SITES_AT_EXIT:
		return (struct value_pair){(double)s->at_exit_bytes,
					   (double)s->at_exit_blocks};
	case SITES_AT_MARK:
		return (struct value_pair){(double)w->mark_bytes[i],
					   (double)w->mark_blocks[i]};
	default:
		return (struct value_pair){(double)s->live_bytes, (double)s->live_blocks};
	}
}

static struct value_pair
value_pair(const struct value_work *w, uint32_t i)
{
	const struct prof_site *s = &w->p->sites[i];
	const struct prof_real *r =
		!w->q->integers && i < w->p->nreals ? &w->p->reals[i] : NULL;

	switch (w->q->value) {
	case PROF_PEAK:
		return (struct value_pair){(double)s->at_peak_bytes,
					   (double)s->at_peak_blocks};
	case PROF_ALLOCATED:
		if (r != NULL)
			return (struct value_pair){r->alloc_bytes, r->allocs};
		return (struct value_pair){(double)s->alloc_bytes, (double)s->allocs};
	case PROF_TEMPORARY:
		return (struct value_pair){(double)s->temp_bytes, (double)s->temps};
	default:
		if (r != NULL && w->q->point.at == SITES_AT_END)
			return (struct value_pair){r->live_bytes, r->live_blocks};
		return value_live(w, i);
	}
}

/* Variance of the bytes; that of what the recording has none for is the allocated bytes',
 * as a share of them. */
static double
value_variance(const struct value_work *w, const struct prof_site *s, double bytes)
{
	if (w->q->value == PROF_ALLOCATED)
		return s->var_alloc_bytes;
	if (w->q->value == PROF_LIVE && w->q->point.at == SITES_AT_END)
		return s->var_live_bytes;
	if (s->alloc_bytes == 0 || bytes <= 0)
		return 0;
	return s->var_alloc_bytes * bytes / (double)s->alloc_bytes;
}

static void
value_set(const struct value_work *w, struct values *to, uint32_t i, struct value_pair x,
	  double var)
{
	to->v[i] = w->q->objects ? x.blocks : x.bytes;
	if (to->var == NULL)
		return;
	to->var[i] = var;
	if (w->q->objects)
		to->var[i] = x.bytes > 0
				     ? var * (x.blocks / x.bytes) * (x.blocks / x.bytes)
				     : 0;
}

/* ---- block filters ---- */

/* The number that people know a thread by: the kernel's, or that of the dump. */
uint32_t
value_thread_number(const struct prof_thread *t)
{
	return t->tid != 0 ? t->tid : t->serial;
}

static void
value_choose_threads(struct value_work *w)
{
	const struct prof *p = w->p;

	w->threads = xcalloc(p->nthreads, sizeof *w->threads);
	for (uint32_t i = 1; i < p->nthreads; i++)
		w->threads[i] = filter_thread_is(w->q->filter,
						 value_thread_number(&p->threads[i]),
						 prof_text(p, p->threads[i].name));
}

uint64_t
value_thread_key(uint32_t process, uint32_t serial)
{
	return (uint64_t)process << 16 | (serial & 0xffff);
}

/* The chosen threads as (process, serial as blocks have it). */
static void
value_serials(const struct value_work *w, struct map *ret_serials)
{
	for (uint32_t i = 1; i < w->p->nthreads; i++) {
		const struct prof_thread *t = &w->p->threads[i];

		if (w->threads[i])
			*map_add(ret_serials, value_thread_key(t->process, t->serial)) =
				1;
	}
}

/* How many bytes a sampled block stands for, and with what variance. */
static struct value_pair
value_weigh(const struct prof_process *pr, uint64_t bytes, double *ret_var)
{
	double chance;

	*ret_var = 0;
	if (pr->mode != PROF_SAMPLED || pr->rate_bytes <= 1 || bytes == 0)
		return (struct value_pair){(double)bytes, 1};
	chance = -expm1(-(double)bytes / (double)pr->rate_bytes);
	*ret_var = (double)bytes / chance * ((double)bytes / chance) * (1 - chance);
	return (struct value_pair){(double)bytes / chance, 1 / chance};
}

static bool
value_block_passes(const struct value_work *w, const struct prof_block *x,
		   const struct map *serials)
{
	const struct filter_blocks *b = w->blocks;
	uint64_t now = w->p->processes[x->process].duration_ms;
	uint64_t age = now > x->ms ? now - x->ms : 0;

	if (b->has_size && (x->bytes < b->min_bytes || x->bytes > b->max_bytes))
		return false;
	if (b->has_age && (age < b->min_age_ms || age > b->max_age_ms))
		return false;
	return b->thread == NULL ||
	       map_find(serials, value_thread_key(x->process, x->thread_serial)) != NULL;
}

/* By how much the blocks that are listed stand for more, site by site; NULL = they are
 * all, and their weights are known. Of many blocks only some are kept, and the rate at
 * which one was sampled may not be the last one; what the site has together is right in
 * any case. Free it. */
static double *
value_shares(const struct prof *p, bool objects)
{
	double *sums, var;
	bool needed = p->blocks_dropped > 0;

	for (uint32_t i = 1; i < p->nprocesses; i++)
		needed = needed || p->processes[i].mode == PROF_SAMPLED;
	if (!needed)
		return NULL;
	sums = xcalloc(p->nsites, sizeof *sums);
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *x = &p->blocks[i];
		struct value_pair v =
			value_weigh(&p->processes[x->process], x->bytes, &var);

		if (x->site < p->nsites)
			sums[x->site] += objects ? v.blocks : v.bytes;
	}
	for (uint32_t i = 0; i < p->nsites; i++) {
		double all = (double)(objects ? p->sites[i].live_blocks
					      : p->sites[i].live_bytes);

		sums[i] = sums[i] > 0 && all > 0 ? all / sums[i] : 1;
	}
	return sums;
}

void
values_each_block(const struct prof *p, const struct graph_query *q, values_block *each,
		  void *ctx)
{
	struct value_work w = {.p = p, .q = q, .blocks = filter_blocks(q->filter)};
	double *shares = value_shares(p, q->objects);
	struct map serials = {0};

	if (w.blocks != NULL && w.blocks->thread != NULL) {
		value_choose_threads(&w);
		value_serials(&w, &serials);
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *x = &p->blocks[i];
		struct value_pair stands_for;
		double var, size = (double)x->bytes, share;

		if (x->site == 0 || x->site >= p->nsites ||
		    (q->chosen != NULL && !q->chosen[p->sites[x->site].process]) ||
		    (w.blocks != NULL && !value_block_passes(&w, x, &serials)))
			continue;
		share = shares != NULL ? shares[x->site] : 1;
		stands_for = value_weigh(&p->processes[x->process], x->bytes, &var);
		var *= share * share;
		if (q->objects)
			each(ctx, x, stands_for.blocks * share,
			     var > 0 ? var / (size * size) : 0);
		else
			each(ctx, x, stands_for.bytes * share, var);
	}
	map_done(&serials);
	free(shares);
	free(w.threads);
}

static void
value_add_block(void *ctx, const struct prof_block *x, double value, double var)
{
	struct values *to = ctx;

	to->v[x->site] += value;
	if (to->var != NULL)
		to->var[x->site] += var;
}

/* What the chosen threads allocated, or, of a dump that has threads but no blocks, have
 * live. */
static void
value_add_up_cells(const struct value_work *w, struct values *to)
{
	const struct prof *p = w->p;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		const struct prof_site *s = &p->sites[c->site];
		struct value_pair x = {(double)c->alloc_bytes, (double)c->allocs};
		double share;

		if (!w->threads[c->thread] ||
		    (w->q->chosen != NULL && !w->q->chosen[s->process]))
			continue;
		if (w->q->value == PROF_LIVE) {
			x.bytes -= (double)c->free_bytes;
			x.blocks -= (double)c->frees;
		}
		share = s->alloc_bytes > 0 ? x.bytes / (double)s->alloc_bytes : 0;
		to->v[c->site] += w->q->objects ? x.blocks : x.bytes;
		if (to->var != NULL && !w->q->objects)
			to->var[c->site] += s->var_alloc_bytes * share;
	}
}

/* A stack as a whole, by the mean size of its blocks: where nothing else is known. */
static bool
value_size_fits(const struct value_work *w, struct value_pair x)
{
	double mean = x.blocks > 0 ? x.bytes / x.blocks : 0;

	return !w->blocks->has_size || (mean >= (double)w->blocks->min_bytes &&
					mean <= (double)w->blocks->max_bytes);
}

static void
value_fill(const struct value_work *w, struct values *to)
{
	const struct prof *p = w->p;

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		struct value_pair x;

		if (w->q->chosen != NULL && !w->q->chosen[s->process])
			continue;
		x = value_pair(w, i);
		if (w->blocks == NULL || value_size_fits(w, x))
			value_set(w, to, i, x, value_variance(w, s, x.bytes));
	}
}

/* Sets to 0 what value_fill left out, of figures that were added up by thread. */
static void
value_drop_by_size(const struct value_work *w, struct values *to)
{
	for (uint32_t i = 1; i < w->p->nsites; i++) {
		if (value_size_fits(w, value_pair(w, i)))
			continue;
		to->v[i] = 0;
		if (to->var != NULL)
			to->var[i] = 0;
	}
}

static bool
value_is_sampled(const struct prof *p, const bool *chosen)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) && p->processes[i].mode == PROF_SAMPLED)
			return true;
	}
	return false;
}

void
values_load(struct values *ret_values, const struct prof *p, const struct graph_query *q)
{
	struct value_work w = {.p = p, .q = q, .blocks = filter_blocks(q->filter)};
	struct values to = {.v = xcalloc(p->nsites, sizeof *to.v)};

	if (q->figures != NULL) {
		memcpy(to.v, q->figures, p->nsites * sizeof *to.v);
		*ret_values = to;
		return;
	}
	if (value_is_sampled(p, q->chosen))
		to.var = xcalloc(p->nsites, sizeof *to.var);
	if (q->point.at == SITES_AT_MARK)
		choose_mark_figures(w.p, w.q->point.mark, &w.mark_bytes, &w.mark_blocks);
	if (w.blocks != NULL && w.blocks->thread != NULL)
		value_choose_threads(&w);
	if (w.blocks != NULL && q->value == PROF_LIVE && q->point.at == SITES_AT_END &&
	    p->columns == PROF_HAS_ALL) {
		values_each_block(p, q, value_add_block, &to);
	} else if (w.threads != NULL) {
		value_add_up_cells(&w, &to);
		value_drop_by_size(&w, &to);
	} else {
		value_fill(&w, &to);
	}
	free(w.threads);
	free(w.mark_bytes);
	free(w.mark_blocks);
	*ret_values = to;
}

void
values_done(struct values *v)
{
	free(v->v);
	free(v->var);
	*v = (struct values){0};
}
