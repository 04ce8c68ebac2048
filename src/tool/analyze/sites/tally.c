/* SPDX-License-Identifier: MIT */
/* tally.c -- threads, sizes and labels of what is in a graph. */
#include "tool/analyze/sites/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/sites/value.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { TALLY_SMALLEST = 16 }; /* bytes of the first class of sizes */

struct tally_work {
	const struct prof *p;
	const struct graph_query *q;
	const struct graph *g;
	VEC(struct tally_row) rows;
	struct map found;   /* what a row is of -> its number + 1 */
	struct map serials; /* (process, serial) -> thread */
};

static struct tally_row *
tally_row(struct tally_work *w, uint64_t key)
{
	uint64_t *at = map_add(&w->found, key);

	if (*at == 0) {
		vec_add(&w->rows);
		*at = w->rows.len;
	}
	return &w->rows.data[*at - 1];
}

static int
tally_compare(const void *pa, const void *pb)
{
	const struct tally_row *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (fabs(a->value) != fabs(b->value))
		return fabs(a->value) > fabs(b->value) ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->text < b->text ? -1 : a->text > b->text;
}

static int
tally_compare_sizes(const void *pa, const void *pb)
{
	const struct tally_row *a = pa, *b = pb;

	return a->max_bytes < b->max_bytes ? -1 : a->max_bytes > b->max_bytes;
}

static void
tally_finish(struct tally_work *w, struct tally *t,
	     int (*compare)(const void *, const void *))
{
	vec_sort(&w->rows, compare);
	for (size_t i = 0; i < w->rows.len; i++)
		t->total += w->rows.data[i].value;
	t->rows = w->rows.data;
	t->nrows = (uint32_t)w->rows.len;
	map_done(&w->found);
	map_done(&w->serials);
}

/* Live memory of our own recordings is known block by block. */
static bool
tally_has_blocks(const struct prof *p, const struct graph_query *q)
{
	return p->columns == PROF_HAS_ALL && q->value == PROF_LIVE &&
	       q->point.at == SITES_AT_END;
}

static void
tally_thread_block(void *ctx, const struct prof_block *b, double value, double var)
{
	struct tally_work *w = ctx;
	const uint64_t *thread =
		map_find(&w->serials, value_thread_key(b->process, b->thread_serial));
	uint32_t row = thread != NULL ? (uint32_t)*thread : 0;
	struct tally_row *r;

	if (w->g->node_of_site[b->site] == 0)
		return;
	r = tally_row(w, row);
	r->thread = row;
	r->value += value;
	r->var += var;
}

static void
tally_thread_cells(struct tally_work *w)
{
	const struct prof *p = w->p;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		double bytes = (double)c->alloc_bytes, blocks = (double)c->allocs;
		struct tally_row *r;

		if (w->g->node_of_site[c->site] == 0)
			continue;
		if (w->q->value == PROF_LIVE) {
			bytes -= (double)c->free_bytes;
			blocks -= (double)c->frees;
		}
		if ((w->q->objects ? blocks : bytes) == 0)
			continue;
		r = tally_row(w, c->thread);
		r->thread = c->thread;
		r->value += w->q->objects ? blocks : bytes;
	}
}

static bool
tally_is_sampled(const struct prof *p, const struct graph_query *q)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((q->chosen == NULL || q->chosen[i]) &&
		    p->processes[i].mode == PROF_SAMPLED)
			return true;
	}
	return false;
}

void
tally_threads(struct tally *ret_tally, const struct prof *p, const struct graph_query *q,
	      const struct graph *g)
{
	struct tally_work w = {.p = p, .q = q, .g = g};
	struct tally t = {0};
	bool own = p->columns == PROF_HAS_ALL;

	if (own && tally_has_blocks(p, q) && tally_is_sampled(p, q)) {
		t.missing = "a sampled recording does not say whose a live block is; "
			    "try --sample-index allocated";
	} else if (tally_has_blocks(p, q)) {
		for (uint32_t i = 1; i < p->nthreads; i++)
			*map_add(&w.serials, value_thread_key(p->threads[i].process,
							      p->threads[i].serial)) = i;
		values_each_block(p, q, tally_thread_block, &w);
		if (p->blocks_dropped > 0)
			t.missing = "blocks that were not kept one by one";
	} else if (p->ncells == 0) {
		t.missing = "this profile has no figures per thread";
	} else if (own && q->value != PROF_ALLOCATED) {
		t.missing = "threads are known for live and allocated memory only";
	} else {
		tally_thread_cells(&w);
	}
	tally_finish(&w, &t, tally_compare);
	*ret_tally = t;
}

/* ---- sizes ---- */

static uint64_t
tally_class(double bytes)
{
	uint64_t max = TALLY_SMALLEST;

	while ((double)max < bytes && max < UINT64_MAX / 2)
		max *= 2;
	return max;
}

static void
tally_size_block(void *ctx, const struct prof_block *b, double value, double var)
{
	struct tally_work *w = ctx;
	uint64_t class = tally_class((double)b->bytes);
	struct tally_row *r;

	if (w->g->node_of_site[b->site] == 0)
		return;
	r = tally_row(w, class);
	r->max_bytes = class;
	r->value += value;
	r->var += var;
}

/* Where the class that ends with `max` begins. */
static uint64_t
tally_over(uint64_t max)
{
	if (max == UINT64_MAX)
		return (uint64_t)TALLY_SMALLEST << (PROF_SIZE_BUCKETS - 2);
	return max > TALLY_SMALLEST ? max / 2 : 0;
}

/* The recording's own histogram, which counts allocations, or samples of them. */
static void
tally_size_counts(struct tally_work *w)
{
	const struct prof *p = w->p;

	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_hist h = prof_hist(p, w->g->node_of_site[i] != 0 ? i : 0);

		for (unsigned k = 0; k < PROF_SIZE_BUCKETS; k++) {
			uint64_t class = k + 1 < PROF_SIZE_BUCKETS
						 ? (uint64_t)TALLY_SMALLEST << k
						 : UINT64_MAX;
			struct tally_row *r;

			if (h.sizes[k] == 0)
				continue;
			r = tally_row(w, class);
			r->max_bytes = class;
			r->value += (double)h.sizes[k];
		}
	}
}

/* Stacks by the mean size of their blocks. */
static void
tally_size_means(struct tally_work *w)
{
	struct graph_query q = *w->q;
	struct values bytes, blocks;

	q.objects = false;
	values_load(&bytes, w->p, &q);
	q.objects = true;
	values_load(&blocks, w->p, &q);
	for (uint32_t i = 1; i < w->p->nsites; i++) {
		uint64_t class;
		struct tally_row *r;

		if (w->g->node_of_site[i] == 0 || blocks.v[i] == 0)
			continue;
		class = tally_class(bytes.v[i] / blocks.v[i]);
		r = tally_row(w, class);
		r->max_bytes = class;
		r->value += w->q->objects ? blocks.v[i] : bytes.v[i];
	}
	values_done(&bytes);
	values_done(&blocks);
}

void
tally_sizes(struct tally *ret_tally, const struct prof *p, const struct graph_query *q,
	    const struct graph *g)
{
	struct tally_work w = {.p = p, .q = q, .g = g};
	struct tally t = {0};

	if (tally_has_blocks(p, q)) {
		values_each_block(p, q, tally_size_block, &w);
		if (p->blocks_dropped > 0)
			t.missing = "blocks that were not kept one by one";
	} else if (p->columns == PROF_HAS_ALL && q->value == PROF_ALLOCATED &&
		   filter_blocks(q->filter) == NULL) {
		tally_size_counts(&w);
		t.in_blocks = true;
		if (tally_is_sampled(p, q))
			t.missing = "these are samples, not allocations";
	} else {
		tally_size_means(&w);
		t.missing = "stacks count by the mean size of their blocks";
	}
	tally_finish(&w, &t, tally_compare_sizes);
	for (uint32_t i = 0; i < t.nrows; i++)
		t.rows[i].over_bytes = tally_over(t.rows[i].max_bytes);
	*ret_tally = t;
}

/* ---- labels ---- */

static int
tally_compare_labels(const void *pa, const void *pb)
{
	const struct tally_row *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->text != b->text)
		return a->text < b->text ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Adds up rows that are of the same label; they lie side by side. */
static void
tally_merge(struct tally_work *w)
{
	size_t n = 0;

	vec_sort(&w->rows, tally_compare_labels);
	for (size_t i = 0; i < w->rows.len; i++) {
		struct tally_row *r = &w->rows.data[i];

		if (n > 0 && tally_compare_labels(&w->rows.data[n - 1], r) == 0) {
			w->rows.data[n - 1].value += r->value;
			w->rows.data[n - 1].var += r->var;
		} else {
			w->rows.data[n++] = *r;
		}
	}
	w->rows.len = n;
}

void
tally_labels(struct tally *ret_tally, const struct prof *p, const struct graph_query *q,
	     const struct graph *g)
{
	struct tally_work w = {.p = p, .q = q, .g = g};
	struct map shown = {0}; /* key -> 1 no, 2 yes */
	struct values values;
	struct tally t = {0};

	if (p->nlabels == 0)
		t.missing = "this profile has no labels";
	values_load(&values, p, q);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		const struct prof_label *l = &p->labels[i];
		uint64_t *show = map_add(&shown, l->key);

		if (*show == 0)
			*show = 1 + filter_shows_tag(q->filter, prof_text(p, l->key));
		if (*show == 1 || g->node_of_site[l->site] == 0)
			continue;
		vec_push(&w.rows,
			 (struct tally_row){
				 .key = l->key,
				 .text = l->text,
				 .unit = l->unit,
				 .number = l->text != 0 ? 0 : l->number,
				 .value = values.v[l->site],
				 .var = values.var != NULL ? values.var[l->site] : 0});
	}
	tally_merge(&w);
	values_done(&values);
	map_done(&shown);
	tally_finish(&w, &t, tally_compare);
	*ret_tally = t;
}

void
tally_done(struct tally *t)
{
	free(t->rows);
	*t = (struct tally){0};
}
