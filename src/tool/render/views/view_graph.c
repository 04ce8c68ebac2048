/* SPDX-License-Identifier: MIT */
/* view_graph.c -- the call graph in the language of graphviz's dot.
 *
 * Small entries are left out, as pprof does; calls through them are drawn as dotted edges
 * between those that are left, so nothing hangs in the air that should not. Each node
 * keeps its largest edge, however small that is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

#define VIEW_NODE_FRACTION 0.005
#define VIEW_EDGE_FRACTION 0.001

struct view_dot_edge {
	uint32_t from, to; /* entries */
	double weight;
	bool through; /* something between was left out */
	bool inlined;
	bool kept;
};

struct view_dot {
	const struct view *v;
	uint32_t *order; /* entries that are drawn, largest first */
	uint32_t n, all;
	bool *drawn; /* by entry */
	VEC(struct view_dot_edge) edges;
};

/* Which entries are drawn. */
static void
view_dot_choose(struct view_dot *d)
{
	const struct view *v = d->v;
	uint32_t max = v->o->node_count > 0 ? v->o->node_count : VIEW_NODE_COUNT;

	d->order = xcalloc(v->g->nentries, sizeof *d->order);
	d->drawn = xcalloc(v->g->nentries, sizeof *d->drawn);
	graph_rank(v->g, true, d->order);
	for (uint32_t i = 0; i + 1 < v->g->nentries; i++) {
		const struct graph_entry *x = &v->g->entries[d->order[i]];

		if (x->cum == 0 && x->flat == 0)
			continue;
		d->all++;
		if ((d->n >= max && !v->o->all) ||
		    view_is_small(v, x->cum, VIEW_NODE_FRACTION))
			continue;
		d->order[d->n++] = d->order[i];
		d->drawn[d->order[d->n - 1]] = true;
	}
}

/* Edges between those: each node of the tree asks for its nearest caller that is
 * drawn. */
struct view_dot_walk {
	uint32_t *caller; /* by node: nearest drawn entry at or above it, 0 = none */
	uint32_t *edge;	  /* by node: edge + 1, 0 = none */
	uint32_t *depth;  /* by edge: how often it is on the way */
};

static void
view_dot_find_edges(struct view_dot *d, struct view_dot_walk *w)
{
	const struct graph *g = d->v->g;
	struct map known = {0};

	for (uint32_t i = 1; i < g->nnodes; i++) {
		uint32_t entry = g->nodes[i].entry, from = w->caller[g->nodes[i].parent];
		uint64_t *edge;

		w->caller[i] = d->drawn[entry] ? entry : from;
		if (!d->drawn[entry] || from == 0 || from == entry)
			continue;
		edge = map_add(&known, (uint64_t)from << 32 | entry);
		if (*edge == 0) {
			vec_push(&d->edges,
				 (struct view_dot_edge){.from = from, .to = entry});
			*edge = d->edges.len;
		}
		w->edge[i] = (uint32_t)*edge;
		if (g->nodes[g->nodes[i].parent].entry != from)
			d->edges.data[*edge - 1].through = true;
	}
	map_done(&known);
}

static void
view_dot_add_up(struct view_dot *d, struct view_dot_walk *w)
{
	const struct graph_node *n = d->v->g->nodes;
	uint32_t at = n[0].first_child;

	w->depth = xcalloc(d->edges.len + 1, sizeof *w->depth);
	while (at != 0) {
		if (w->edge[at] != 0 && w->depth[w->edge[at]]++ == 0)
			d->edges.data[w->edge[at] - 1].weight += n[at].total;
		if (n[at].first_child != 0) {
			at = n[at].first_child;
			continue;
		}
		while (at != 0 && n[at].next == 0) {
			w->depth[w->edge[at]]--;
			at = n[at].parent;
		}
		if (at != 0) {
			w->depth[w->edge[at]]--;
			at = n[at].next;
		}
	}
}

static int
view_dot_compare(const void *pa, const void *pb)
{
	const struct view_dot_edge *a = pa, *b = pb;

	if (fabs(a->weight) != fabs(b->weight))
		return fabs(a->weight) > fabs(b->weight) ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void
view_dot_choose_edges(struct view_dot *d)
{
	double least =
		d->v->o->edge_fraction >= 0 ? d->v->o->edge_fraction : VIEW_EDGE_FRACTION;
	bool *reached = xcalloc(d->v->g->nentries, sizeof *reached);

	least *= fabs(view_whole(d->v));
	vec_sort(&d->edges, view_dot_compare);
	for (size_t i = 0; i < d->edges.len; i++) {
		struct view_dot_edge *e = &d->edges.data[i];

		e->kept = e->weight != 0 &&
			  (d->v->o->all || !reached[e->to] || fabs(e->weight) >= least);
		reached[e->to] = true;
	}
	free(reached);
}

static void
view_dot_init(struct view_dot *d, const struct view *v)
{
	struct view_dot_walk w = {0};
	struct map inlined = {0};

	*d = (struct view_dot){.v = v};
	view_dot_choose(d);
	w.caller = xcalloc(v->g->nnodes, sizeof *w.caller);
	w.edge = xcalloc(v->g->nnodes, sizeof *w.edge);
	view_dot_find_edges(d, &w);
	view_dot_add_up(d, &w);
	view_dot_choose_edges(d);
	for (uint32_t i = 0; i < v->g->nedges; i++) {
		const struct graph_edge *e = &v->g->edges[i];

		if (e->inlined)
			*map_add(&inlined, (uint64_t)e->from << 32 | e->to) = 1;
	}
	for (size_t i = 0; i < d->edges.len; i++) {
		struct view_dot_edge *e = &d->edges.data[i];

		e->inlined = !e->through &&
			     map_find(&inlined, (uint64_t)e->from << 32 | e->to) != NULL;
	}
	map_done(&inlined);
	free(w.caller);
	free(w.edge);
	free(w.depth);
}

static void
view_dot_done(struct view_dot *d)
{
	free(d->order);
	free(d->drawn);
	vec_done(&d->edges);
}

/* ---- text ---- */

/* Text inside a quoted string of dot. Long names are broken behind "::". */
static void
view_dot_text(struct buf *out, const char *text, bool broken)
{
	struct buf clean = {0};

	clean_text(&clean, text);
	for (const char *s = buf_str(&clean); *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *s);
		if (broken && s[0] == ':' && s > buf_str(&clean) && s[-1] == ':')
			buf_add_str(out, "\\n");
	}
	buf_done(&clean);
}

/* From grey to red as the share goes up; green for what is below nothing. */
static void
view_dot_colour(struct buf *out, double share, bool fill)
{
	double s = fmin(fabs(share), 1);
	int strong = fill ? 238 - (int)(40 * figure_sqrt(s)) : 178 - (int)(160 * s);
	int weak = fill ? 238 : 178;

	if (fill && share > 0)
		buf_printf(out, "#ee%02x%02x", strong, strong);
	else if (share > 0)
		buf_printf(out, "#%02x%02x%02x", weak + (int)(40 * figure_sqrt(s)),
			   strong, strong);
	else
		buf_printf(out, "#%02x%02x%02x", strong, weak, strong);
}

static void
view_dot_node(struct view_dot *d, struct buf *out, uint32_t number)
{
	const struct view *v = d->v;
	const struct graph_entry *x = &v->g->entries[d->order[number]];
	double whole = fabs(view_whole(v)), share = whole > 0 ? x->cum / whole : 0;
	double flat = whole > 0 ? fabs(x->flat) / whole : 0;
	struct buf name = {0};

	graph_entry_text(v->g, x, &name);
	buf_printf(out, "N%u [label=\"", d->order[number]);
	view_dot_text(out, buf_str(&name), name.len > 24);
	buf_printf(out, "\\n%s", view_amount(v, x->flat, 0).s);
	if (x->flat != 0)
		buf_printf(out, " (%s)", view_share(v, x->flat).s);
	if (x->cum != x->flat) {
		buf_printf(out, "\\nof %s", view_amount(v, x->cum, 0).s);
		buf_printf(out, " (%s)", view_share(v, x->cum).s);
	}
	buf_printf(out, "\" id=\"node%u\" fontsize=%.1f shape=box tooltip=\"", number + 1,
		   8 + 24 * figure_sqrt(flat));
	view_dot_text(out, buf_str(&name), false);
	buf_add_str(out, "\" color=\"");
	view_dot_colour(out, share, false);
	buf_add_str(out, "\" fillcolor=\"");
	view_dot_colour(out, share, true);
	buf_add_str(out, "\"]\n");
	buf_done(&name);
}

static void
view_dot_edge(struct view_dot *d, struct buf *out, const struct view_dot_edge *e)
{
	double whole = fabs(view_whole(d->v));
	double share = whole > 0 ? e->weight / whole : 0;

	buf_printf(out, "N%u -> N%u [label=\" %s%s\"", e->from, e->to,
		   view_amount(d->v, e->weight, 0).s, e->inlined ? "\\n (inlined)" : "");
	buf_printf(out, " weight=%d penwidth=%.2f color=\"",
		   1 + (int)(100 * fmin(fabs(share), 1)), 1 + 5 * fmin(fabs(share), 1));
	view_dot_colour(out, share, false);
	buf_printf(out, "\"%s]\n", e->through ? " style=dotted" : "");
}

uint32_t
view_graph(struct buf *out, const struct view *v)
{
	struct view_dot d;

	view_dot_init(&d, v);
	buf_add_str(out, "digraph \"");
	view_dot_text(out, v->o->title != NULL ? v->o->title : "seep", false);
	buf_add_str(out, "\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
	buf_add_str(out, "legend [shape=box fontsize=16 label=\"");
	if (v->o->title != NULL) {
		view_dot_text(out, v->o->title, false);
		buf_add_str(out, "\\l");
	}
	buf_printf(out, "%s of ", view_amount(v, v->g->total, v->g->var_total).s);
	buf_printf(out, "%s\\l%u of %u %ss drawn\\l\"]\n",
		   view_amount(v, v->g->unfiltered, 0).s, d.n, d.all, view_grain_word(v));
	for (uint32_t i = 0; i < d.n; i++)
		view_dot_node(&d, out, i);
	for (size_t i = 0; i < d.edges.len; i++) {
		if (d.edges.data[i].kept)
			view_dot_edge(&d, out, &d.edges.data[i]);
	}
	buf_add_str(out, "}\n");
	view_dot_done(&d);
	return 1;
}

uint32_t
view_graph_json(struct json *j, const struct view *v)
{
	struct view_dot d;

	view_dot_init(&d, v);
	json_member_arr(j, "nodes");
	for (uint32_t i = 0; i < d.n; i++) {
		json_obj(j);
		view_key_number(j, "id", d.order[i]);
		view_entry_figures(v, j, d.order[i]);
		view_entry_members(v, j, d.order[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_member_arr(j, "edges");
	for (size_t i = 0; i < d.edges.len; i++) {
		const struct view_dot_edge *e = &d.edges.data[i];

		if (!e->kept)
			continue;
		json_obj(j);
		view_key_number(j, "from", e->from);
		view_key_number(j, "to", e->to);
		view_key_number(j, "weight", e->weight);
		json_member_bool(j, "through_others", e->through);
		json_obj_end(j);
	}
	json_arr_end(j);
	view_dot_done(&d);
	return 1;
}
