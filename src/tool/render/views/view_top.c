/* SPDX-License-Identifier: MIT */
/* view_top.c -- a row for each entry: what it allocated itself, and with all it called.
 *
 * Ranked by flat, or by cum. No entry is left out because it is small in the other
 * column. */
#include <stdlib.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/x.h"

struct view_widths {
	size_t flat, flat_share, cum, cum_share;
};

static size_t
view_wider(size_t width, const char *text)
{
	size_t n = figure_width(text);

	return n > width ? n : width;
}

/* Entries in order, without those that have no figure at all. Returns how many. */
static uint32_t
view_ranked(const struct view *v, uint32_t *order)
{
	uint32_t n = 0;

	graph_rank(v->g, v->o->by_cum, order);
	for (uint32_t i = 0; i + 1 < v->g->nentries; i++) {
		const struct graph_entry *x = &v->g->entries[order[i]];

		if (x->flat != 0 || x->cum != 0)
			order[n++] = order[i];
	}
	return n;
}

static void
view_top_row(const struct view *v, struct buf *out, const struct view_widths *w,
	     uint32_t entry)
{
	const struct graph_entry *x = &v->g->entries[entry];
	size_t from = out->len;

	figure_right(out, view_amount(v, x->flat, x->var_flat).s, w->flat);
	buf_add_str(out, "  ");
	figure_right(out, view_share(v, x->flat).s, w->flat_share);
	buf_add_str(out, "  ");
	figure_right(out, view_amount(v, x->cum, x->var_cum).s, w->cum);
	buf_add_str(out, "  ");
	figure_right(out, view_share(v, x->cum).s, w->cum_share);
	buf_add_str(out, "  ");
	view_name(v, out, from, entry);
	if (x->inlined)
		buf_add_str(out, " (inlined)");
	buf_add_char(out, '\n');
}

uint32_t
view_top(struct buf *out, const struct view *v)
{
	uint32_t *order = xcalloc(v->g->nentries, sizeof *order);
	uint32_t n = view_ranked(v, order), rows = view_limit(v, n);
	struct view_widths w = {8, 6, 8, 6};
	double rest = 0;

	for (uint32_t i = 0; i < rows; i++) {
		const struct graph_entry *x = &v->g->entries[order[i]];

		w.flat = view_wider(w.flat, view_amount(v, x->flat, x->var_flat).s);
		w.flat_share = view_wider(w.flat_share, view_share(v, x->flat).s);
		w.cum = view_wider(w.cum, view_amount(v, x->cum, x->var_cum).s);
		w.cum_share = view_wider(w.cum_share, view_share(v, x->cum).s);
	}
	if (rows > 0) {
		figure_right(out, "flat", w.flat);
		figure_right(out, "flat %", w.flat_share + 2);
		figure_right(out, "cum", w.cum + 2);
		figure_right(out, "cum %", w.cum_share + 2);
		buf_printf(out, "  %s\n", view_grain_word(v));
	}
	for (uint32_t i = 0; i < rows; i++)
		view_top_row(v, out, &w, order[i]);
	for (uint32_t i = rows; i < n; i++)
		rest += v->g->entries[order[i]].flat;
	view_more(v, out, n - rows, view_grain_word(v), rest);
	free(order);
	return 1;
}

uint32_t
view_top_json(struct json *j, const struct view *v)
{
	uint32_t *order = xcalloc(v->g->nentries, sizeof *order);
	uint32_t n = view_ranked(v, order);

	if (v->o->rows > 0 && n > v->o->rows)
		n = v->o->rows;
	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < n; i++) {
		json_obj(j);
		view_entry_figures(v, j, order[i]);
		view_entry_members(v, j, order[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
	free(order);
	return 1;
}
