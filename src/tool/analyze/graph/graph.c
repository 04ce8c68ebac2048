/* SPDX-License-Identifier: MIT */
/* graph.c -- walks the stacks of one or two profiles and makes a tree of them.
 *
 * A profile's stacks are a tree already, and whether a frame is shown depends on its
 * callers and itself alone. So every node of the profile is asked once: what has come of
 * the stack so far is kept beside it, and stacks that share callers share that work. Only
 * what is left out at the inner end (the allocator's frames) differs from stack to stack;
 * there the last location is entered again, in part. */
#include "tool/analyze/graph/graph.h"

#include <stdlib.h>

#include "tool/analyze/graph/graph_impl.h"
#include "tool/util/x.h"

/* Frames that the profile asks to drop end a stack, but not above the first frame that is
 * none of them, unless `first`. `any` has the flags of all frames of the location. False:
 * the stack ends before it. */
static bool
graph_drop(struct graph_at *at, uint8_t any, uint8_t outermost, bool first)
{
	if ((at->flags & GRAPH_AT_ENDED) != 0)
		return false;
	if ((any & FILTER_IS_DROPPED) == 0)
		at->flags |= GRAPH_AT_USER;
	else if (first || (at->flags & GRAPH_AT_USER) != 0)
		at->flags |= GRAPH_AT_ENDED;
	return (at->flags & GRAPH_AT_ENDED) == 0 || (outermost & FILTER_IS_DROPPED) == 0;
}

/* Adds the frames of a location from its outermost to frame `inl` to a stack. */
static struct graph_at
graph_enter(struct graph_side *s, struct graph_at at, uint32_t loc, uint32_t inl)
{
	uint32_t first = s->slots[loc], n = s->slots[loc + 1] - first;
	const uint8_t *flags = s->filter.slots != NULL ? s->filter.slots + first : NULL;
	uint32_t outer = n;
	uint8_t any = 0;

	for (uint32_t i = inl; flags != NULL && i < n; i++)
		any |= flags[i];
	if (s->filter.drops && !graph_drop(&at, any, flags[n - 1], s->q->frames != NULL))
		return at;
	if ((any & FILTER_IS_FOCUSED) != 0)
		at.flags |= GRAPH_AT_FOCUSED;
	if ((any & FILTER_IS_IGNORED) != 0)
		at.flags |= GRAPH_AT_IGNORED;
	if ((any & FILTER_IS_FROM) != 0 || !s->filter.needs_from)
		at.flags |= GRAPH_AT_BEGUN;
	if ((at.flags & GRAPH_AT_BEGUN) == 0)
		return at;
	for (uint32_t i = n; i-- > inl;) {
		if (flags != NULL && (flags[i] & FILTER_IS_HIDDEN) != 0)
			continue;
		if (outer < n && s->q->no_inlines)
			break;
		if (outer == n)
			outer = i;
		at.node =
			graph_child(s->w, at.node, graph_entry_of(s, loc, i), i < outer);
	}
	if ((any & FILTER_IS_PRUNED) != 0 && outer < n) {
		at.prune = at.node;
		at.flags |= GRAPH_AT_PRUNED;
	}
	return at;
}

/* What a stack has come to at `node`, which may be 0. */
static struct graph_at
graph_at(struct graph_side *s, uint32_t node)
{
	const struct prof *p = s->p;
	struct graph_at at = {0};

	s->climb.len = 0;
	while (node != 0 && (s->at[node].flags & GRAPH_AT_KNOWN) == 0) {
		vec_push(&s->climb, node);
		/* A parent comes before its children; a file that says otherwise ends
		 * here. */
		node = p->nodes[node].parent < node ? p->nodes[node].parent : 0;
	}
	if (node != 0)
		at = s->at[node];
	while (s->climb.len > 0) {
		node = s->climb.data[--s->climb.len];
		if (s->q->skip == NULL || !skip_is_tail(s->q->skip, node))
			at = graph_enter(s, at, p->nodes[node].loc, 0);
		at.flags |= GRAPH_AT_KNOWN;
		s->at[node] = at;
	}
	return at;
}

/* A stack that is start code all through is shown, frame by frame. */
static struct graph_at
graph_at_start_code(struct graph_side *s, struct skip_pos pos)
{
	VEC(struct skip_pos) stack = {0};
	struct graph_at at = {0};

	do {
		/* The innermost frame of each location is enough to enter it. */
		if (stack.len == 0 || vec_last(&stack)->node != pos.node)
			vec_push(&stack, pos);
	} while (skip_next(s->q->skip, &pos));
	while (stack.len > 0) {
		struct skip_pos x = stack.data[--stack.len];

		at = graph_enter(s, at, s->p->nodes[x.node].loc, x.inl);
	}
	vec_done(&stack);
	return at;
}

/* The stack at `node` as it is shown. */
static struct graph_at
graph_stack(struct graph_side *s, uint32_t node)
{
	struct skip_pos pos = {.node = node};
	bool leaf = s->q->frames != NULL && s->q->frames->leaves;
	struct graph_at at;

	if (s->q->skip != NULL)
		pos = skip_first(s->q->skip, node);
	if (s->q->skip != NULL && skip_is_tail(s->q->skip, pos.node))
		return graph_at_start_code(s, pos);
	if (pos.inl == 0 && !leaf)
		return graph_at(s, pos.node);
	at = graph_at(s, s->p->nodes[pos.node].parent);
	s->leaf = leaf;
	at = graph_enter(s, at, s->p->nodes[pos.node].loc, pos.inl);
	s->leaf = false;
	return at;
}

/* The graph's node of a site's stack; 0 = it did not pass. */
static uint32_t
graph_site_node(struct graph_side *s, uint32_t site)
{
	uint32_t node = s->p->sites[site].node;
	struct graph_at at;

	if (s->filter.sites != NULL && !s->filter.sites[site])
		return 0;
	if (node == 0 || node >= s->p->nnodes)
		return !s->filter.stacks
			       ? graph_child(s->w, 0, graph_entry_no_stack(s), false)
			       : 0;
	at = graph_stack(s, node);
	if ((at.flags & GRAPH_AT_IGNORED) != 0 ||
	    (s->filter.needs_focus && (at.flags & GRAPH_AT_FOCUSED) == 0) ||
	    (s->filter.needs_from && (at.flags & GRAPH_AT_BEGUN) == 0))
		return 0;
	return (at.flags & GRAPH_AT_PRUNED) != 0 ? at.prune : at.node;
}

/* What there is without any filter. */
static void
graph_add_unfiltered(struct graph_side *s)
{
	struct graph_query all = *s->q;
	struct values plain;
	bool other =
		filter_blocks(s->q->filter) != NULL; /* they change a stack's figure */

	all.filter = NULL;
	if (other)
		values_load(&plain, s->p, &all);
	else
		plain = s->values;
	for (uint32_t i = 1; i < s->p->nsites; i++) {
		s->unfiltered += plain.v[i];
		s->magnitude += plain.v[i] < 0 ? -plain.v[i] : plain.v[i];
		s->stacks_seen += plain.v[i] != 0;
	}
	if (other)
		values_done(&plain);
}

/* Scales a profile to the total of its base, for the query says so. */
static void
graph_normalize(struct graph_side *s, const struct graph_side *base)
{
	double by = s->unfiltered != 0 ? base->unfiltered / s->unfiltered : 0;

	if (by <= 0)
		return; /* nothing there, on one side or the other */
	for (uint32_t i = 1; i < s->p->nsites; i++) {
		s->values.v[i] *= by;
		if (s->values.var != NULL)
			s->values.var[i] *= by * by;
	}
	s->unfiltered *= by;
	s->magnitude *= by;
}

static void
graph_add_sites(struct graph_side *s)
{
	const struct prof *p = s->p;
	struct graph_work *w = s->w;

	for (uint32_t i = 1; i < p->nsites; i++) {
		double v = s->values.v[i];
		uint32_t node;

		if (v == 0)
			continue; /* not chosen, or all freed: leaves no trace */
		node = graph_site_node(s, i);
		if (node == 0)
			continue;
		s->stacks++;
		s->total += v;
		if (s->node_of_site != NULL)
			s->node_of_site[i] = node;
		if (s->base)
			w->nodes.data[node].was_self += v;
		else
			w->nodes.data[node].self += v;
		if (s->values.var != NULL) {
			w->var.data[node] += s->values.var[i];
			s->var_total += s->values.var[i];
		}
	}
}

static void
graph_side_init(struct graph_side *s, struct graph_work *w, const struct prof *p,
		const struct graph_query *q, struct graph_side *now)
{
	*s = (struct graph_side){.w = w, .p = p, .q = q, .base = now != NULL};
	s->slots = filter_slots(p);
	if (q->frames != NULL)
		s->filter =
			(struct filter_run){.slots = (uint8_t *)xmemdup0(
						    q->frames->flags, s->slots[p->nlocs]),
					    .stacks = true,
					    .drops = true,
					    .needs_focus = q->frames->focus};
	else
		filter_run_init(&s->filter, q->filter, p, s->slots, q->drop_frames);
	values_load(&s->values, p, q);
	s->entries = xcalloc(2 * (size_t)s->slots[p->nlocs], sizeof *s->entries);
	s->modules = xcalloc(p->nmodules, sizeof *s->modules);
	s->names = xcalloc(strtab_count(p->strings), sizeof *s->names);
	s->at = xcalloc(p->nnodes, sizeof *s->at);
	graph_modules(s, now);
}

static void
graph_side_done(struct graph_side *s)
{
	filter_run_done(&s->filter);
	values_done(&s->values);
	free(s->slots);
	free(s->entries);
	free(s->modules);
	free(s->names);
	free(s->at);
	vec_done(&s->climb);
}

static void
graph_work_done(struct graph_work *w)
{
	free(w->children.slots);
	free(w->keys.slots);
	vec_done(&w->key_next);
	vec_done(&w->key_of);
	vec_done(&w->var);
	vec_done(&w->inlined);
	map_done(&w->builds);
	map_done(&w->build_ids);
	map_done(&w->other);
	map_done(&w->starts);
}

void
graph_init(struct graph *ret_graph, const struct prof *p, const struct graph_query *q,
	   const struct prof *base, const struct graph_query *base_q)
{
	struct graph_work w = {.q = q};
	struct graph_side sides[2];
	unsigned n = base != NULL ? 2 : 1;
	struct graph g = {
		.in_bytes = !q->objects, .grain = q->grain, .has_base = base != NULL};

	w.strings = xcalloc(1, sizeof *w.strings);
	vec_add(&w.entries); /* the blanks, and the root */
	vec_push(&w.key_next, 0);
	vec_add(&w.key_of);
	vec_add(&w.nodes);
	vec_push(&w.var, 0);
	vec_push(&w.inlined, 0);
	vec_reserve(&w.nodes,
		    (size_t)p->nnodes + 1); /* what is not used is never touched */
	graph_side_init(&sides[0], &w, p, q, NULL);
	sides[0].node_of_site = xcalloc(p->nsites, sizeof *g.node_of_site);
	if (base != NULL)
		graph_side_init(&sides[1], &w, base, base_q != NULL ? base_q : q,
				&sides[0]);
	for (unsigned i = 0; i < n; i++)
		graph_add_unfiltered(&sides[i]);
	if (q->normalize && base != NULL)
		graph_normalize(&sides[0], &sides[1]);
	for (unsigned i = 0; i < n; i++) {
		graph_add_sites(&sides[i]);
		g.stacks += sides[i].stacks;
		g.stacks_seen += sides[i].stacks_seen;
		g.var_total += sides[i].var_total;
		g.sampled = g.sampled || sides[i].values.var != NULL;
		g.unmatched = i == 0 ? sides[i].filter.unmatched
				     : g.unmatched & sides[i].filter.unmatched;
	}
	g.total = sides[0].total;
	g.unfiltered = sides[0].unfiltered;
	g.magnitude = sides[0].magnitude;
	g.was_magnitude = base != NULL ? sides[1].magnitude : 0;
	g.was_total = base != NULL ? sides[1].total : 0;
	g.was_unfiltered = base != NULL ? sides[1].unfiltered : 0;
	if (sides[0].filter.slots != NULL || (n > 1 && sides[1].filter.slots != NULL))
		graph_drop_unused(&w, sides[0].node_of_site, p->nsites);
	graph_add_up(&w, g.sampled);
	graph_set_apart(&w);
	for (unsigned i = 0; i < n; i++)
		graph_side_done(&sides[i]);
	g.node_of_site = sides[0].node_of_site;
	g.strings = w.strings;
	g.entries = w.entries.data;
	g.nentries = (uint32_t)w.entries.len;
	g.nodes = w.nodes.data;
	g.nnodes = (uint32_t)w.nodes.len;
	g.edges = w.edges.data;
	g.nedges = (uint32_t)w.edges.len;
	graph_work_done(&w);
	*ret_graph = g;
}

void
graph_done(struct graph *g)
{
	if (g->strings != NULL)
		strtab_done(g->strings);
	free(g->strings);
	free(g->entries);
	free(g->nodes);
	free(g->edges);
	free(g->node_of_site);
	*g = (struct graph){0};
}
