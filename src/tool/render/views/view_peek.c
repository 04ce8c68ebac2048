/* SPDX-License-Identifier: MIT */
/* view_peek.c -- who calls a function and what it calls, with what passed that way. */
#include <math.h>
#include <stdlib.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct view_edges VEC_BODY(const struct graph_edge *);

static int
view_edge_compare(const void *pa, const void *pb)
{
	const struct graph_edge *a = *(const struct graph_edge *const *)pa;
	const struct graph_edge *b = *(const struct graph_edge *const *)pb;

	if (fabs(a->weight) != fabs(b->weight))
		return fabs(a->weight) > fabs(b->weight) ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* Edges into an entry, or out of it, largest first. */
static void
view_edges_of(const struct view *v, uint32_t entry, bool in, struct view_edges *ret)
{
	ret->len = 0;
	for (uint32_t i = 0; i < v->g->nedges; i++) {
		const struct graph_edge *e = &v->g->edges[i];

		if ((in ? e->to : e->from) == entry)
			vec_push(ret, e);
	}
	vec_sort(ret, view_edge_compare);
}

/* Entries that match, in rank order. */
static uint32_t
view_peek_find(const struct view *v, uint32_t *order)
{
	uint32_t n = 0;

	graph_rank(v->g, true, order);
	for (uint32_t i = 0; i + 1 < v->g->nentries; i++) {
		if (view_matches(v, order[i]))
			order[n++] = order[i];
	}
	return n;
}

static void
view_peek_edges(const struct view *v, struct buf *out, const struct view_edges *edges,
		bool in, double cum)
{
	for (size_t i = 0; i < edges->len; i++) {
		const struct graph_edge *e = edges->data[i];
		size_t from = out->len;

		buf_add_str(out, "    ");
		figure_right(out, view_amount(v, e->weight, 0).s, 12);
		buf_add_str(out, "  ");
		/* Shares are of the function looked at. */
		figure_right(out, view_share_of(e->weight, cum).s, 6);
		buf_add_str(out, "  ");
		view_name(v, out, from, in ? e->from : e->to);
		if (e->inlined)
			buf_add_str(out, in ? " (inlined into it)" : " (inlined)");
		buf_add_char(out, '\n');
	}
}

static void
view_peek_one(const struct view *v, struct buf *out, uint32_t entry)
{
	const struct graph_entry *x = &v->g->entries[entry];
	struct view_edges edges = {0};
	size_t from = out->len;

	view_name(v, out, from, entry);
	if (x->file != 0 && v->g->grain == GRAPH_FUNCTIONS) {
		buf_add_str(out, "   ");
		view_words(v, out, from, graph_text(v->g, x->file));
	}
	buf_printf(out, "\n  flat %s (%s)", view_amount(v, x->flat, x->var_flat).s,
		   view_share(v, x->flat).s);
	buf_printf(out, "   cum %s (%s)\n", view_amount(v, x->cum, x->var_cum).s,
		   view_share(v, x->cum).s);
	view_edges_of(v, entry, true, &edges);
	if (edges.len > 0)
		buf_add_str(out, "  called by\n");
	view_peek_edges(v, out, &edges, true, x->cum);
	view_edges_of(v, entry, false, &edges);
	if (edges.len > 0)
		buf_add_str(out, "  calls\n");
	view_peek_edges(v, out, &edges, false, x->cum);
	vec_done(&edges);
}

uint32_t
view_peek(struct buf *out, const struct view *v)
{
	uint32_t *order = xcalloc(v->g->nentries, sizeof *order);
	uint32_t n = view_peek_find(v, order), rows = view_limit(v, n);

	for (uint32_t i = 0; i < rows; i++)
		view_peek_one(v, out, order[i]);
	if (rows < n)
		buf_printf(out, "# %u more match (--all)\n", n - rows);
	free(order);
	return n;
}

static void
view_peek_json_edges(const struct view *v, struct json *j, uint32_t entry, bool in)
{
	struct view_edges edges = {0};

	view_edges_of(v, entry, in, &edges);
	json_member_arr(j, in ? "callers" : "callees");
	for (size_t i = 0; i < edges.len; i++) {
		const struct graph_edge *e = edges.data[i];

		json_obj(j);
		view_key_number(j, "weight", e->weight);
		view_entry_members(v, j, in ? e->from : e->to);
		json_obj_end(j);
	}
	json_arr_end(j);
	vec_done(&edges);
}

uint32_t
view_peek_json(struct json *j, const struct view *v)
{
	uint32_t *order = xcalloc(v->g->nentries, sizeof *order);
	uint32_t n = view_peek_find(v, order);

	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < n; i++) {
		json_obj(j);
		view_entry_figures(v, j, order[i]);
		view_entry_members(v, j, order[i]);
		view_peek_json_edges(v, j, order[i], true);
		view_peek_json_edges(v, j, order[i], false);
		json_obj_end(j);
	}
	json_arr_end(j);
	free(order);
	return n;
}
