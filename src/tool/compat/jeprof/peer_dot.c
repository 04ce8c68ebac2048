/* SPDX-License-Identifier: MIT */
/* peer_dot.c -- the call graph as jeprof gives it to graphviz.
 *
 * The largest nodes by |cum|; of the edges between them, the largest, but every node keeps its
 * largest way in. Names are escaped: they come from files that anyone may have made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/render/figure.h"
#include "tool/util/x.h"

struct peer_edge {
	uint32_t from, to; /* rows */
	double value;
};

struct peer_dot {
	struct buf *out;
	struct peer_stacks *s;
	const struct peer_unit *u;
	const struct peer_dot_opts *o;
	uint32_t *rank;
	uint32_t *number; /* of a row's node, 0 = it has none */
	uint32_t nodes;
	double node_limit, edge_limit;
	struct map at; /* pair of rows -> edge + 1 */
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
	peer_figure(b, d->u, d->s->total, false);
	buf_printf(b, " %s\" {\n", peer_unit_name(d->u));
	if (d->o->page)
		buf_add_str(b, "size=\"8,11\"\n");
	buf_add_str(b, "node [width=0.375,height=0.25];\n"
		       "Legend [shape=box,fontsize=24,shape=plaintext,label=\"");
	peer_dot_text(b, d->o->program, false);
	buf_printf(b, "\\lTotal %s: ", peer_unit_name(d->u));
	peer_figure(b, d->u, d->s->total, false);
	buf_add_str(b, "\\lFocusing on: ");
	peer_figure(b, d->u, d->s->shown, false);
	buf_add_str(b, "\\lDropped nodes with <= ");
	peer_figure(b, d->u, d->node_limit, false);
	buf_printf(b, " abs(%s)\\lDropped edges with <= ", peer_unit_name(d->u));
	peer_figure(b, d->u, d->edge_limit, false);
	buf_printf(b, " %s\\l\"];\n", peer_unit_name(d->u));
}

static void
peer_dot_node(struct peer_dot *d, uint32_t row)
{
	const struct peer_row *r = &d->s->rows.data[row];
	double total = d->s->shown, size = 8;
	struct buf *b = d->out;

	if (total > 0)
		size = 8 + 50.0 * sqrt(fabs(r->flat / total));
	buf_printf(b, "N%u [label=\"", d->number[row]);
	peer_dot_text(b, strtab_str(&d->s->text, r->name), true);
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

/* Every call of every stack. */
static void
peer_dot_find_edges(struct peer_dot *d)
{
	struct peer_stacks *s = d->s;
	bool own = s->grain == PEER_ADDRESSES || s->show_addresses;
	uint32_t *rows = xcalloc(s->syms.len, sizeof *rows);

	for (size_t i = 0; i < s->stacks.len; i++) {
		const struct peer_stack *k = &s->stacks.data[i];
		uint32_t before = 0;

		for (uint32_t f = 0; f < k->nframes; f++) {
			uint32_t loc = s->frames.data[k->frames + f];
			const struct peer_loc *l = &s->locs[loc];

			for (uint32_t j = 0; j < l->nsyms; j++) {
				uint32_t row = rows[l->syms + j];

				if (f == 0 && own && k->leaf)
					row = peer_row_of(s, loc, j, true);
				else if (row == 0)
					row = rows[l->syms + j] =
						peer_row_of(s, loc, j, false);
				if (before != 0)
					peer_dot_count(d, row, before, k->value);
				before = row;
			}
		}
	}
	free(rows);
}

static int
peer_edge_order(const void *a, const void *b)
{
	const struct peer_edge *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void
peer_dot_edge(struct peer_dot *d, const struct peer_edge *x)
{
	double share = d->s->shown != 0 ? fabs(3 * (x->value / d->s->shown)) : 0;
	double width = (share > 1 ? 1 : share) * 2;
	double weight = pow(fabs(x->value), 0.7);
	const char *name = strtab_str(&d->s->text, d->s->rows.data[x->to].name);

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
	uint64_t *in = xcalloc(d->s->rows.len, sizeof *in);
	uint64_t *out = xcalloc(d->s->rows.len, sizeof *out);

	vec_sort(&d->edges, peer_edge_order);
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
peer_dot(struct buf *out, struct buf *remark, struct peer_stacks *s,
	 const struct peer_unit *u, const struct peer_dot_opts *o)
{
	struct peer_dot d = {.out = out, .s = s, .u = u, .o = o};
	uint32_t n = (uint32_t)s->rows.len - 1;

	d.node_limit = trunc(o->node_fraction * s->shown);
	d.edge_limit = trunc(o->edge_fraction * s->shown);
	d.rank = xcalloc(s->rows.len, sizeof *d.rank);
	d.number = xcalloc(s->rows.len, sizeof *d.number);
	peer_rank(s, true, true, d.rank);
	while (d.nodes < n && d.nodes < o->node_count &&
	       fabs(s->rows.data[d.rank[d.nodes]].cum) > d.node_limit)
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
	map_done(&d.at);
	vec_done(&d.edges);
	return d.nodes > 0;
}
