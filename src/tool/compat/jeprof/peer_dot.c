/* SPDX-License-Identifier: MIT */
/* peer_dot.c -- the call graph as jeprof gives it to graphviz.
 *
 * The largest nodes by |cum|; of the edges between them, the largest, but every node
 * keeps its largest way in. Names are escaped: they come from files that anyone may have
 * made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/render/figure.h"
#include "tool/util/x.h"

struct peer_edge {
	uint32_t from, to; /* entries */
	double value;
};

struct peer_dot {
	struct buf *out;
	const struct jeprof_stacks *s;
	const struct peer_unit *u;
	const struct peer_dot_opts *o;
	uint32_t *rank;
	uint32_t *number; /* of an entry's node, 0 = it has none */
	uint32_t *met;	  /* jeprof_number: between equal edges */
	uint32_t nodes;
	double node_limit, edge_limit;
	struct map at; /* pair of entries -> edge + 1 */
	VEC(struct peer_edge) edges;
};

/* In a string of dot's; with `lines`, blanks and :: end a line. */
static void
peer_dot_text(struct buf *out, const char *text, bool lines)
{
	struct buf b = {0};

	clean_text(&b, text);
	for (const char *s = buf_str(&b); *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			buf_printf(out, "\\%c", *s);
		else if (lines && *s == ' ')
			buf_add_str(out, "\\n");
		else if (lines && s[0] == ':' && s[1] == ':')
			buf_add_str(out, "\\n"), s++;
		else
			buf_add_char(out, *s);
	}
	buf_done(&b);
}

static void
peer_dot_head(struct peer_dot *d)
{
	struct buf *b = d->out;

	buf_add_str(b, "digraph \"");
	peer_dot_text(b, d->o->program, false);
	buf_add_str(b, "; ");
	peer_figure(b, d->u, d->s->g.unfiltered, false);
	buf_printf(b, " %s\" {\n", peer_unit_name(d->u));
	if (d->o->page)
		buf_add_str(b, "size=\"8,11\"\n");
	buf_add_str(b, "node [width=0.375,height=0.25];\n"
		       "Legend [shape=box,fontsize=24,shape=plaintext,label=\"");
	peer_dot_text(b, d->o->program, false);
	buf_printf(b, "\\lTotal %s: ", peer_unit_name(d->u));
	peer_figure(b, d->u, d->s->g.unfiltered, false);
	buf_add_str(b, "\\lFocusing on: ");
	peer_figure(b, d->u, d->s->g.total, false);
	buf_add_str(b, "\\lDropped nodes with <= ");
	peer_figure(b, d->u, d->node_limit, false);
	buf_printf(b, " abs(%s)\\lDropped edges with <= ", peer_unit_name(d->u));
	peer_figure(b, d->u, d->edge_limit, false);
	buf_printf(b, " %s\\l\"];\n", peer_unit_name(d->u));
}

static void
peer_dot_node(struct peer_dot *d, uint32_t entry)
{
	const struct graph_entry *r = &d->s->g.entries[entry];
	double total = d->s->g.total, size = 8;
	struct buf *b = d->out;

	if (total > 0)
		size = 8 + 50.0 * sqrt(fabs(r->flat / total));
	buf_printf(b, "N%u [label=\"", d->number[entry]);
	peer_dot_text(b, jeprof_text(d->s, entry), true);
	buf_add_str(b, "\\n");
	peer_figure(b, d->u, r->flat, false);
	buf_add_str(b, " (");
	peer_percent(b, r->flat, total);
	buf_add_char(b, ')');
	if (r->flat != r->cum) {
		buf_add_str(b, "\\rof ");
		peer_figure(b, d->u, r->cum, false);
		buf_add_str(b, " (");
		peer_percent(b, r->cum, total);
		buf_add_char(b, ')');
	}
	buf_printf(b, "\\r\",shape=box,fontsize=%.1f%s];\n", size,
		   !d->o->heapcheck || r->flat == 0 ? ""
		   : r->flat > 0		    ? ",style=filled,fillcolor=gray"
						    : ",peripheries=3");
}

static void
peer_dot_count(struct peer_dot *d, uint32_t from, uint32_t to, double value)
{
	uint64_t *at;

	if (d->number[from] == 0 || d->number[to] == 0)
		return;
	at = map_add(&d->at, (uint64_t)from << 32 | to);
	if (*at == 0) {
		vec_push(&d->edges, (struct peer_edge){.from = from, .to = to});
		*at = d->edges.len;
	}
	d->edges.data[*at - 1].value += value;
}

/* Every call of every stack: also those of a function by itself, as often as they
 * come. */
static void
peer_dot_find_edges(struct peer_dot *d)
{
	const struct graph *g = &d->s->g;

	for (uint32_t i = 1; i < g->nnodes; i++) {
		const struct graph_node *n = &g->nodes[i];

		if (n->parent != 0)
			peer_dot_count(d, g->nodes[n->parent].entry, n->entry, n->total);
	}
}

static int
peer_edge_order(const void *a, const void *b, void *ctx)
{
	const struct peer_edge *x = a, *y = b;
	const uint32_t *met = ctx;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->from != y->from)
		return met[x->from] < met[y->from] ? -1 : 1;
	return (met[x->to] > met[y->to]) - (met[x->to] < met[y->to]);
}

static void
peer_dot_edge(struct peer_dot *d, const struct peer_edge *x)
{
	double share = d->s->g.total != 0 ? fabs(3 * (x->value / d->s->g.total)) : 0;
	double width = (share > 1 ? 1 : share) * 2;
	double weight = pow(fabs(x->value), 0.7);
	const char *name = jeprof_text(d->s, x->to);

	if (width < 1 && d->o->wide_edges)
		width = 1;
	buf_printf(d->out, "N%u -> N%u [label=", d->number[x->from], d->number[x->to]);
	peer_figure(d->out, d->u, x->value, false);
	buf_printf(d->out, ", weight=%.0f, style=\"setlinewidth(%f)%s\"];\n",
		   trunc(weight > 100000 ? 100000 : weight), width,
		   strstr(name, "(inline)") != NULL ? ",dashed" : "");
}

static void
peer_dot_edges(struct peer_dot *d)
{
	uint64_t *in = xcalloc(d->s->g.nentries, sizeof *in);
	uint64_t *out = xcalloc(d->s->g.nentries, sizeof *out);

	if (d->edges.len > 1)
		qsort_r(d->edges.data, d->edges.len, sizeof *d->edges.data,
			peer_edge_order, d->met);
	for (size_t i = 0; i < d->edges.len; i++) {
		const struct peer_edge *x = &d->edges.data[i];

		if (in[x->to] > 0 &&
		    (fabs(x->value) <= d->edge_limit || in[x->to] >= d->o->max_degree ||
		     out[x->from] >= d->o->max_degree))
			continue;
		in[x->to]++;
		out[x->from]++;
		peer_dot_edge(d, x);
	}
	free(in);
	free(out);
}

bool
peer_dot(struct buf *out, struct buf *remark, const struct jeprof_stacks *s,
	 const struct peer_unit *u, const struct peer_dot_opts *o)
{
	struct peer_dot d = {.out = out, .s = s, .u = u, .o = o};
	uint32_t n = s->g.nentries - 1;

	d.node_limit = trunc(o->node_fraction * s->g.total);
	d.edge_limit = trunc(o->edge_fraction * s->g.total);
	d.rank = xcalloc(s->g.nentries, sizeof *d.rank);
	d.number = xcalloc(s->g.nentries, sizeof *d.number);
	d.met = jeprof_number(s);
	graph_rank(&s->g, GRAPH_BY_CUM, d.rank);
	while (d.nodes < n && d.nodes < o->node_count &&
	       fabs(s->g.entries[d.rank[d.nodes]].cum) > d.node_limit)
		d.nodes++;
	if (d.nodes > 0 && (d.node_limit > 0 || d.edge_limit > 0)) {
		buf_add_str(remark, "Dropping nodes with <= ");
		peer_figure(remark, u, d.node_limit, false);
		buf_printf(remark, " %s; edges with <= ", peer_unit_name(u));
		peer_figure(remark, u, d.edge_limit, false);
		buf_printf(remark, " abs(%s)\n", peer_unit_name(u));
	}
	if (d.nodes > 0) {
		peer_dot_head(&d);
		for (uint32_t i = 0; i < d.nodes; i++) {
			d.number[d.rank[i]] = i + 1;
			peer_dot_node(&d, d.rank[i]);
		}
		peer_dot_find_edges(&d);
		peer_dot_edges(&d);
		buf_add_str(out, "}\n");
	}
	free(d.rank);
	free(d.number);
	free(d.met);
	map_done(&d.at);
	vec_done(&d.edges);
	return d.nodes > 0;
}
