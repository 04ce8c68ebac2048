/* SPDX-License-Identifier: MIT */
/* view_list.c -- the source of functions, or of files, with what each line allocated.
 *
 * Lines of one function in one file are a listing; code of it that comes from another
 * file is a listing of its own. Of a file, all lines are one listing; a line that two
 * functions have is there twice. Lines around those with figures are shown where there is
 * source. */
#include <stdlib.h>
#include <string.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/re.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct view_listing {
	uint32_t from, to; /* of view_lines.entries */
	double flat, cum, var_flat;
};

struct view_lines {
	const struct view *v;
	VEC(uint32_t) entries;		   /* that match, by function, file and line */
	VEC(struct view_listing) listings; /* largest first */
};

/* Whether `path` is `file`, or ends in it behind a slash. */
static bool
view_is_file(const char *path, const char *file)
{
	size_t n = strlen(path), m = strlen(file);

	return m <= n && strcmp(path + n - m, file) == 0 &&
	       (m == n || path[n - m - 1] == '/');
}

static bool
view_list_matches(const struct view *v, const struct graph_entry *x)
{
	if (v->o->file != NULL)
		return x->file != 0 &&
		       view_is_file(graph_text(v->g, x->file), v->o->file);
	return !x->no_name && x->function != 0 &&
	       (re_matches(v->o->re, graph_text(v->g, x->function)) ||
		(x->linkage != 0 && re_matches(v->o->re, graph_text(v->g, x->linkage))));
}

static int
view_line_compare(const void *pa, const void *pb, void *ctx)
{
	const struct view *v = ctx;
	const struct graph_entry *a = &v->g->entries[*(const uint32_t *)pa];
	const struct graph_entry *b = &v->g->entries[*(const uint32_t *)pb];

	if (v->o->file != NULL && a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (v->o->file != NULL && a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->linkage != b->linkage)
		return a->linkage < b->linkage ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static bool
view_same_listing(const struct view *v, const struct graph_entry *a,
		  const struct graph_entry *b)
{
	if (v->o->file != NULL)
		return a->file == b->file;
	return a->function == b->function && a->linkage == b->linkage &&
	       a->file == b->file && a->module == b->module;
}

static int
view_listing_compare(const void *pa, const void *pb)
{
	const struct view_listing *a = pa, *b = pb;
	double x = a->cum < 0 ? -a->cum : a->cum, y = b->cum < 0 ? -b->cum : b->cum;

	if (x != y)
		return x > y ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/* Adds to each listing what passed through any of its lines, once a stack. */
static void
view_list_cum(struct view_lines *l)
{
	const struct graph *g = l->v->g;
	uint32_t *of = xcalloc(g->nentries, sizeof *of); /* listing + 1 of an entry */
	/* On the way; [0] is of all others, and only counts down. */
	uint32_t *depth = xcalloc(l->listings.len + 1, sizeof *depth);
	uint32_t at = g->nodes[0].first_child;

	for (uint32_t i = 0; i < l->listings.len; i++) {
		for (uint32_t k = l->listings.data[i].from; k < l->listings.data[i].to;
		     k++)
			of[l->entries.data[k]] = i + 1;
	}
	while (at != 0) {
		uint32_t in = of[g->nodes[at].entry];

		if (in != 0 && depth[in]++ == 0)
			l->listings.data[in - 1].cum += g->nodes[at].total;
		if (g->nodes[at].first_child != 0) {
			at = g->nodes[at].first_child;
			continue;
		}
		while (at != 0 && g->nodes[at].next == 0) {
			depth[of[g->nodes[at].entry]]--;
			at = g->nodes[at].parent;
		}
		if (at != 0) {
			depth[of[g->nodes[at].entry]]--;
			at = g->nodes[at].next;
		}
	}
	free(of);
	free(depth);
}

static void
view_lines_init(struct view_lines *l, const struct view *v)
{
	const struct graph *g = v->g;

	*l = (struct view_lines){.v = v};
	for (uint32_t i = 1; i < g->nentries; i++) {
		if (view_list_matches(v, &g->entries[i]))
			vec_push(&l->entries, i);
	}
	if (l->entries.len > 1)
		qsort_r(l->entries.data, l->entries.len, sizeof *l->entries.data,
			view_line_compare, (void *)v);
	for (uint32_t i = 0; i < l->entries.len; i++) {
		const struct graph_entry *x = &g->entries[l->entries.data[i]];
		struct view_listing *last;

		if (i == 0 ||
		    !view_same_listing(v, x, &g->entries[l->entries.data[i - 1]])) {
			last = vec_add(&l->listings);
			last->from = i;
		}
		last = vec_last(&l->listings);
		last->to = i + 1;
		last->flat += x->flat;
		last->var_flat += x->var_flat;
	}
	view_list_cum(l);
	vec_sort(&l->listings, view_listing_compare);
}

static void
view_lines_done(struct view_lines *l)
{
	vec_done(&l->entries);
	vec_done(&l->listings);
}

static const char *
view_line_text(const struct view *v, const struct graph_entry *x, uint32_t line)
{
	if (v->o->source == NULL || x->file == 0)
		return NULL;
	return v->o->source(v->o->source_ctx, graph_text(v->g, x->file), line);
}

static void
view_source_line(const struct view *v, struct buf *out, const struct graph_entry *x,
		 uint32_t line, bool figures)
{
	const char *text = view_line_text(v, x, line);
	size_t from = out->len;

	if (!figures && text == NULL)
		return;
	figure_right(out, figures && x->flat != 0 ? view_amount(v, x->flat, 0).s : ".",
		     12);
	buf_add_str(out, "  ");
	figure_right(out, figures && x->cum != 0 ? view_amount(v, x->cum, 0).s : ".", 12);
	buf_printf(out, "  %6u  ", line);
	for (; text != NULL && (*text == '\t' || *text == ' '); text++)
		buf_add_str(out, *text == '\t' ? "        " : " ");
	if (text != NULL)
		view_words(v, out, from, text);
	while (out->len > from && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add_char(out, '\n');
}

/* The lines of a listing with those around them; gaps have a line of their own. */
static void
view_listing_lines(struct view_lines *l, struct buf *out, const struct view_listing *x)
{
	const struct graph *g = l->v->g;
	uint32_t shown = 0; /* last line written */

	for (uint32_t i = x->from; i < x->to; i++) {
		const struct graph_entry *e = &g->entries[l->entries.data[i]];
		uint32_t next = i + 1 < x->to ? g->entries[l->entries.data[i + 1]].line
					      : UINT32_MAX;
		uint32_t from = e->line > VIEW_CONTEXT ? e->line - VIEW_CONTEXT : 1;

		if (e->line == 0)
			continue;
		if (shown != 0 && from > shown + 1)
			buf_printf(out, "%38s\n", "...");
		for (uint32_t k = from > shown ? from : shown + 1; k < e->line; k++)
			view_source_line(l->v, out, e, k, false);
		view_source_line(l->v, out, e, e->line, true);
		for (shown = e->line; shown < e->line + VIEW_CONTEXT && shown + 1 < next;)
			view_source_line(l->v, out, e, ++shown, false);
	}
}

static void
view_listing_text(struct view_lines *l, struct buf *out, const struct view_listing *x)
{
	const struct view *v = l->v;
	const struct graph_entry *first = &v->g->entries[l->entries.data[x->from]];
	bool lines = v->g->entries[l->entries.data[x->to - 1]].line != 0;
	size_t from = out->len;

	if (v->o->file == NULL) {
		view_words(v, out, from, graph_text(v->g, first->function));
		buf_add_str(out, "   ");
	}
	view_words(v, out, from,
		   graph_text(v->g, first->file != 0 ? first->file : first->module));
	buf_printf(out, "\n  flat %s (%s)", view_amount(v, x->flat, x->var_flat).s,
		   view_share(v, x->flat).s);
	buf_printf(out, "   cum %s (%s)%s\n", view_amount(v, x->cum, 0).s,
		   view_share(v, x->cum).s,
		   lines ? "" : "   (no lines: built without -g)");
	if (!lines)
		return;
	buf_printf(out, "%12s  %12s  %6s\n", "flat", "cum", "line");
	view_listing_lines(l, out, x);
}

uint32_t
view_list(struct buf *out, const struct view *v)
{
	struct view_lines l;
	uint32_t n, rows;

	view_lines_init(&l, v);
	n = (uint32_t)l.listings.len;
	rows = view_limit(v, n);
	for (uint32_t i = 0; i < rows; i++)
		view_listing_text(&l, out, &l.listings.data[i]);
	if (rows < n)
		buf_printf(out, "# %u more match (--all)\n", n - rows);
	view_lines_done(&l);
	return n;
}

uint32_t
view_list_json(struct json *j, const struct view *v)
{
	struct view_lines l;
	uint32_t n;

	view_lines_init(&l, v);
	n = (uint32_t)l.listings.len;
	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < n; i++) {
		const struct view_listing *x = &l.listings.data[i];
		const struct graph_entry *first = &v->g->entries[l.entries.data[x->from]];

		json_obj(j);
		if (v->o->file == NULL)
			view_key_str(j, "function", graph_text(v->g, first->function));
		view_key_str(j, "file",
			     first->file != 0 ? graph_text(v->g, first->file) : NULL);
		view_key_number(j, "flat", x->flat);
		view_key_number(j, "cum", x->cum);
		json_member_arr(j, "lines");
		for (uint32_t k = x->from; k < x->to; k++) {
			const struct graph_entry *e = &v->g->entries[l.entries.data[k]];

			json_obj(j);
			view_key_number(j, "line", e->line);
			view_key_number(j, "flat", e->flat);
			view_key_number(j, "cum", e->cum);
			view_key_str(j, "source", view_line_text(v, e, e->line));
			json_obj_end(j);
		}
		json_arr_end(j);
		json_obj_end(j);
	}
	json_arr_end(j);
	view_lines_done(&l);
	return n;
}
