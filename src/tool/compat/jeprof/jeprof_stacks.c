/* SPDX-License-Identifier: MIT */
/* jeprof_stacks.c -- the figures of a profile by its stacks, as jeprof sums them: see
 * jeprof_frames.h. */
#include <stdlib.h>

#include "tool/analyze/sites/value.h"
#include "tool/compat/jeprof/jeprof_frames.h"
#include "tool/util/x.h"

/* ---- figures ---- */

static uint32_t
jeprof_node(const struct prof *p, uint32_t site)
{
	return p->sites[site].node < p->nnodes ? p->sites[site].node : 0;
}

/* The one site of each stack that has the figures of all of them. */
static void
jeprof_join(const struct prof *p, uint32_t nsites, double *v)
{
	uint32_t *first = xcalloc((size_t)p->nnodes + 1, sizeof *first);

	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t *to = &first[jeprof_node(p, i)];
		double x = i < nsites ? v[i] : -v[i];

		v[i] = 0;
		if (*to == 0)
			*to = i;
		v[*to] += x;
	}
	free(first);
}

double *
jeprof_figures(const struct prof *p, uint32_t nsites, enum prof_value value, bool objects,
	       bool drop_negative)
{
	struct graph_query q = {.value = value, .objects = objects};
	struct values x;

	values_load(&x, p, &q);
	free(x.var);
	jeprof_join(p, nsites, x.v);
	for (uint32_t i = 0; drop_negative && i < p->nsites; i++) {
		if (x.v[i] < 0)
			x.v[i] = 0;
	}
	return x.v;
}

double *
jeprof_thread_figures(const struct prof *p, uint32_t thread, enum prof_value value,
		      bool objects)
{
	double *v = xcalloc(p->nsites, sizeof *v);
	bool live = value == PROF_LIVE;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];

		if (c->thread != thread || c->site >= p->nsites)
			continue;
		if (objects)
			v[c->site] += (double)c->allocs - (live ? (double)c->frees : 0);
		else
			v[c->site] += (double)c->alloc_bytes -
				      (live ? (double)c->free_bytes : 0);
	}
	jeprof_join(p, p->nsites, v);
	return v;
}

/* ---- stacks ---- */

static void
jeprof_list_stacks(struct jeprof_stacks *s, const struct prof *p, const double *figures)
{
	uint32_t *site = xcalloc((size_t)p->nnodes + 1, sizeof *site);

	for (uint32_t i = 1; i < p->nsites; i++) {
		if (figures[i] != 0 && s->g.node_of_site[i] != 0)
			site[jeprof_node(p, i)] = i;
	}
	for (uint32_t i = 0; i < p->nnodes; i++) {
		if (site[i] != 0)
			vec_push(&s->list,
				 (struct jeprof_stack){s->g.node_of_site[site[i]],
						       figures[site[i]]});
	}
	free(site);
}

void
jeprof_stacks_init(struct jeprof_stacks *ret, struct jeprof_frames *f,
		   const double *figures, const struct jeprof_naming *how)
{
	static const struct jeprof_naming plain = {0};
	const struct jeprof_naming *n = how != NULL ? how : &plain;
	bool rows = n->name == NULL;
	struct graph_frames frames = {
		.flags = f->flags,
		.focus = f->rules.focus != NULL,
		.leaves = rows ? f->rules.show_addresses ||
					  f->rules.grain == JEPROF_ADDRESSES
			       : n->leaves,
		.name = rows ? jeprof_row_name : n->name,
		.ctx = rows ? f : n->ctx,
	};
	struct graph_query q = {.figures = figures,
				.frames = &frames,
				.no_inlines = n->no_inlines,
				.merge_names = true,
				.no_edges = true};

	*ret = (struct jeprof_stacks){0};
	graph_init(&ret->g, f->p, &q, NULL, NULL);
	if (!n->table)
		jeprof_list_stacks(ret, f->p, figures);
}

void
jeprof_stacks_done(struct jeprof_stacks *s)
{
	graph_done(&s->g);
	vec_done(&s->list);
}

const char *
jeprof_text(const struct jeprof_stacks *s, uint32_t entry)
{
	return graph_text(&s->g, s->g.entries[entry].function);
}

uint32_t *
jeprof_number(const struct jeprof_stacks *s)
{
	const struct graph *g = &s->g;
	uint32_t *number = xcalloc(g->nentries, sizeof *number), n = 0;
	bool *seen = xcalloc(g->nnodes, sizeof *seen);

	for (size_t i = 0; i < s->list.len; i++) {
		for (uint32_t k = s->list.data[i].node; k != 0 && !seen[k];
		     k = g->nodes[k].parent) {
			seen[k] = true;
			if (number[g->nodes[k].entry] == 0)
				number[g->nodes[k].entry] = ++n;
		}
	}
	free(seen);
	return number;
}
