/* SPDX-License-Identifier: MIT */
/* html_page.c -- the data of the page, and the page around it (ui/page.html).
 *
 * Every figure that the profile has is a view of its own, in bytes and in objects, and
 * they share one table of strings. */
#include "tool/render/flame/html_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/sites/value.h"
#include "tool/render/flame/flame_data.h"
#include "tool/render/flame/flame_text.h"
#include "tool/render/ui_parts.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	MAX_VIEWS = 2 * PROF_VALUES,
	MAX_ROWS = 20000, /* functions in the table */
	MAX_LINES = 5000, /* lines of source */
};

static const double least_share = 0.1 / 1200; /* a tenth of a pixel on a usual screen */

struct page {
	const struct prof *p, *base;
	const struct graph_query *q, *base_q;
	const struct html_opts *o;
	struct flame_data data;
	struct strtab places; /* "file:line" */
	struct map texts;     /* of places -> string of data */
};

/* ---- source ---- */

static uint32_t
place_id(struct page *pg, const char *file, uint32_t line, bool add)
{
	struct buf b = {0};
	uint32_t id = 0;

	buf_printf(&b, "%s:%" PRIu32, file, line);
	if (add)
		id = strtab_add(&pg->places, buf_str(&b));
	else
		strtab_find(&pg->places, buf_str(&b), b.len, &id);
	buf_done(&b);
	return id;
}

static void
collect_texts(struct page *pg, const struct prof *p)
{
	for (uint32_t i = 0; p != NULL && i < p->nframes; i++) {
		const struct prof_frame *f = &p->frames[i];
		uint64_t *text;

		if (f->source == 0 || f->line == 0 || f->file == 0)
			continue;
		text = map_add(&pg->texts,
			       place_id(pg, prof_text(p, f->file), f->line, true));
		if (*text == 0)
			*text = flame_data_str(&pg->data, prof_text(p, f->source));
	}
}

struct line_rows VEC_BODY(uint32_t);

/* Entries that are lines of a file, the largest first. */
static void
choose_lines(const struct graph *g, struct line_rows *ret)
{
	uint32_t *rank = xcalloc(g->nentries + 1, sizeof *rank);

	graph_rank(g, true, rank);
	for (uint32_t i = 0; i + 1 < g->nentries && ret->len < MAX_LINES; i++) {
		if (g->entries[rank[i]].line != 0 && g->entries[rank[i]].file != 0)
			vec_push(ret, rank[i]);
	}
	free(rank);
}

enum line_column { LINE_NAME, LINE_FILE, LINE_NUMBER, LINE_TEXT };

static uint32_t
line_value(struct page *pg, const struct graph *g, uint32_t entry, enum line_column what)
{
	const struct graph_entry *x = &g->entries[entry];
	uint64_t *text;

	switch (what) {
	case LINE_NAME:
		return flame_data_str(&pg->data, graph_text(g, x->function));
	case LINE_FILE:
		return flame_data_str(&pg->data, graph_text(g, x->file));
	case LINE_NUMBER:
		return x->line;
	case LINE_TEXT:
		break;
	}
	text = map_find(&pg->texts, place_id(pg, graph_text(g, x->file), x->line, false));
	return text != NULL ? (uint32_t)*text : 0;
}

static double
line_figure(const struct graph_entry *x, int which)
{
	return which == 0   ? x->flat
	       : which == 1 ? x->cum
	       : which == 2 ? x->was_flat
			    : x->was_cum;
}

static void
lines(struct page *pg, const struct graph *g)
{
	static const char *const keys[] = {"name", "file", "line", "text"};
	static const char *const figures[] = {"flat", "cum", "wasFlat", "wasCum"};
	struct json *j = &pg->data.j;
	struct line_rows rows = {0};

	choose_lines(g, &rows);
	json_obj(j);
	for (int c = 0; c < 4; c++) {
		json_member_arr(j, keys[c]);
		for (size_t i = 0; i < rows.len; i++)
			json_u64(j, line_value(pg, g, rows.data[i], (enum line_column)c));
		json_arr_end(j);
	}
	for (int c = 0; c < (g->has_base ? 4 : 2); c++) {
		json_member_arr(j, figures[c]);
		for (size_t i = 0; i < rows.len; i++)
			flame_data_number(&pg->data,
					  line_figure(&g->entries[rows.data[i]], c));
		json_arr_end(j);
	}
	json_obj_end(j);
	vec_done(&rows);
}

/* ---- views ---- */

static void
page_graph(const struct page *pg, const struct graph_query *as, enum graph_grain grain,
	   struct graph *ret)
{
	struct graph_query q = *pg->q, base_q = pg->base_q != NULL ? *pg->base_q : *pg->q;

	q.value = base_q.value = as->value;
	q.objects = base_q.objects = as->objects;
	q.grain = base_q.grain = grain;
	q.no_edges = base_q.no_edges = true;
	graph_init(ret, pg->p, &q, pg->base, pg->base != NULL ? &base_q : NULL);
}

static void
add_view(struct page *pg, const struct graph_query *as, const struct graph *g,
	 const struct flame_colours *c)
{
	struct flame_view v = {
		.what = value_names[as->value], .colours = c, .max_rows = MAX_ROWS};
	struct json *j = &pg->data.j;
	struct graph by_line;

	flame_tree_down(&v.down, g, least_share, false);
	flame_tree_up(&v.up, g, least_share, false);
	json_obj(j);
	json_key(j, "of");
	flame_data_view(&pg->data, g, &v, NULL);
	page_graph(pg, as, GRAPH_LINES, &by_line);
	json_key(j, "lines");
	lines(pg, &by_line);
	json_obj_end(j);
	graph_done(&by_line);
	flame_tree_done(&v.down);
	flame_tree_done(&v.up);
}

/* The figures to show, the one asked for first. */
static size_t
choose_figures(const struct page *pg, struct graph_query ret[MAX_VIEWS])
{
	size_t n = 0;

	ret[n++] = *pg->q;
	if (pg->o->one_figure)
		return n;
	for (int i = 0; i < 2 * PROF_VALUES; i++) {
		struct graph_query q = *pg->q;

		q.value = (enum prof_value)(i / 2);
		q.objects = i % 2 != 0;
		if (q.value == pg->q->value && q.objects == pg->q->objects)
			continue;
		if (value_check(pg->p, &q, NULL) == 0 &&
		    (pg->base == NULL || value_check(pg->base, &q, NULL) == 0))
			ret[n++] = q;
	}
	return n;
}

static void
options(struct page *pg, bool by_module)
{
	struct json *j = &pg->data.j;
	static const char *const no[] = {"callers", "byName", "negate"};

	flame_data_text(&pg->data, "subtitle", pg->o->subtitle);
	json_member_obj(j, "options");
	flame_data_text(&pg->data, "width", "max");
	json_member_bool(j, "inverted", true);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
		json_member_bool(j, no[i], false);
	}
	json_member_bool(j, "byModule", by_module);
	json_obj_end(j);
	json_member_arr(j, "notes");
	for (size_t i = 0; i < pg->o->nnotes; i++) {
		struct buf clean = {0};

		flame_clean(&clean, pg->o->notes[i], 0);
		json_str(j, buf_str(&clean));
		buf_done(&clean);
	}
	json_arr_end(j);
}

static void
data(struct page *pg, struct buf *out)
{
	struct graph_query figures[MAX_VIEWS];
	size_t n = choose_figures(pg, figures);

	for (size_t i = 0; i < n; i++) {
		struct flame_colours c;
		struct graph g;

		page_graph(pg, &figures[i], pg->q->grain, &g);
		flame_colours_init(&c, &g, NULL);
		if (i == 0) {
			flame_data_init(&pg->data, out, &c);
			collect_texts(pg, pg->p);
			collect_texts(pg, pg->base);
			options(pg, c.several_modules);
			json_member_arr(&pg->data.j, "views");
		}
		/* A figure of which there is none at all is no view. */
		if (i == 0 || g.total != 0 || g.was_total != 0)
			add_view(pg, &figures[i], &g, &c);
		graph_done(&g);
		flame_colours_done(&c);
	}
	json_arr_end(&pg->data.j);
	flame_data_done(&pg->data);
}

/* ---- the page around it ---- */

/* The terms and texts of a list; a label that repeats is printed once. */
static void
opening(struct buf *out, const char *lines)
{
	const char *last = "";
	size_t last_len = 0;

	for (const char *s = lines, *end; s != NULL && s[0] != '\0';
	     s = end + (end[0] != '\0')) {
		size_t label = strcspn(s, "\t\n");
		struct buf line = {0}, clean = {0};

		end = s + strcspn(s, "\n");
		if (s[label] != '\t')
			continue;
		if (label != last_len || memcmp(s, last, label) != 0) {
			buf_add_str(out, "<dt>");
			buf_add(out, s, label);
			buf_add_str(out, "</dt>");
		}
		last = s;
		last_len = label;
		buf_add(&line, s + label + 1, (size_t)(end - s) - label - 1);
		flame_clean(&clean, buf_str(&line), 0);
		buf_add_str(out, "<dd>");
		flame_escape(out, buf_str(&clean));
		buf_add_str(out, "</dd>\n");
		buf_done(&line);
		buf_done(&clean);
	}
}

static void
fill_in(struct page *pg, struct buf *out, const char *word, size_t n)
{
	const char *title = pg->o->title != NULL ? pg->o->title : "Heap profile";

	if (n == 5 && memcmp(word, "TITLE", n) == 0)
		flame_escape(out, title);
	else if (n == 7 && memcmp(word, "OPENING", n) == 0)
		opening(out, pg->o->opening);
	else if (n == 6 && memcmp(word, "SCRIPT", n) == 0)
		buf_add_str(out, ui_page_js_hash);
	else if (n == 5 && memcmp(word, "STYLE", n) == 0)
		buf_add_str(out, ui_page_css_hash);
	else if (n == 3 && memcmp(word, "CSS", n) == 0)
		buf_add_str(out, ui_page_css);
	else if (n == 2 && memcmp(word, "JS", n) == 0)
		buf_add_str(out, ui_page_js);
	else if (n == 4 && memcmp(word, "DATA", n) == 0)
		data(pg, out);
}

void
html_page(struct buf *out, const struct prof *p, const struct graph_query *q,
	  const struct prof *base, const struct graph_query *base_q,
	  const struct html_opts *o)
{
	static const struct html_opts none = {0};
	struct page pg = {.p = p, .q = q, .base = base, .base_q = base_q};
	const char *at = ui_page_html, *mark;

	pg.o = o != NULL ? o : &none;
	/* The template has no @ but in pairs around a word. */
	while ((mark = strchr(at, '@')) != NULL) {
		size_t n = strcspn(mark + 1, "@");

		buf_add(out, at, (size_t)(mark - at));
		fill_in(&pg, out, mark + 1, n);
		at = mark + n + 2;
	}
	buf_add_str(out, at);
	strtab_done(&pg.places);
	map_done(&pg.texts);
}
