/* SPDX-License-Identifier: MIT */
/* flame_data.c -- a graph and its boxes as columns of JSON.
 *
 * Entry 0 is the root. Then come the entries that boxes need, then the largest of the
 * others as far as the table goes; how many were left is said. */
#include "tool/render/flame/flame_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/flame/flame_text.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

static void
colours(struct json *j, const char *key, const struct flame_rgb *c, size_t n)
{
	json_member_arr(j, key);
	for (size_t i = 0; i < n; i++)
		json_str(j, c[i].css);
	json_arr_end(j);
}

void
flame_data_init(struct flame_data *d, struct buf *out, const struct flame_colours *c)
{
	*d = (struct flame_data){0};
	json_init(&d->j, out);
	d->j.html = true;
	json_obj(&d->j);
	json_member_obj(&d->j, "colours");
	colours(&d->j, "module", c->by_module, FLAME_MODULE_COLOURS);
	colours(&d->j, "name", c->by_name, FLAME_NAME_COLOURS);
	colours(&d->j, "diff", c->diff, 2 * FLAME_DIFF_STEPS + 1);
	json_obj_end(&d->j);
}

void
flame_data_done(struct flame_data *d)
{
	json_member_arr(&d->j, "strings");
	for (uint32_t i = 0; i < strtab_count(&d->strings); i++)
		json_str(&d->j, strtab_str(&d->strings, i));
	json_arr_end(&d->j);
	json_obj_end(&d->j);
	strtab_done(&d->strings);
}

uint32_t
flame_data_str(struct flame_data *d, const char *text)
{
	struct buf b = {0};
	uint32_t id;

	flame_clean(&b, text, FLAME_NAME_BYTES);
	id = strtab_add(&d->strings, buf_str(&b));
	buf_done(&b);
	return id;
}

void
flame_data_text(struct flame_data *d, const char *key, const char *text)
{
	struct buf b = {0};

	if (text == NULL)
		return;
	flame_clean(&b, text, 0);
	json_member_str(&d->j, key, buf_str(&b));
	buf_done(&b);
}

void
flame_data_number(struct flame_data *d, double x)
{
	if (x == (double)(int64_t)x && fabs(x) < 1e15)
		json_i64(&d->j, (int64_t)x);
	else
		json_f64(&d->j, fabs(x) < 1e12 ? floor(x * 1000 + 0.5) / 1000 : x);
}

static void
member(struct flame_data *d, const char *key, double x)
{
	json_key(&d->j, key);
	flame_data_number(d, x);
}

/* ---- entries ---- */

struct places {
	uint32_t *of;	/* entry of the graph -> place, UINT32_MAX = none */
	uint32_t *list; /* place -> entry */
	uint32_t n;
};

static void
place(struct places *p, uint32_t entry)
{
	if (p->of[entry] != UINT32_MAX)
		return;
	p->of[entry] = p->n;
	p->list[p->n++] = entry;
}

static void
places_init(struct places *p, const struct graph *g, const struct flame_view *v)
{
	uint32_t n = g->nentries > 0 ? g->nentries : 1;
	uint32_t *rank = xcalloc(n, sizeof *rank);

	p->of = xcalloc(n, sizeof *p->of);
	p->list = xcalloc(n, sizeof *p->list);
	p->n = 0;
	memset(p->of, 0xff, n * sizeof *p->of);
	place(p, 0);
	for (uint32_t i = 0; i < v->down.nboxes; i++)
		place(p, v->down.boxes[i].entry);
	for (uint32_t i = 0; i < v->up.nboxes; i++)
		place(p, v->up.boxes[i].entry);
	for (int by_cum = 0; by_cum < 2 && v->max_rows > 0; by_cum++) {
		graph_rank(g, by_cum, rank);
		for (uint32_t i = 0; i + 1 < n && i < v->max_rows; i++)
			place(p, rank[i]);
	}
	free(rank);
}

enum column { NAME, FILE_NAME, LINE, MODULE, BY_MODULE, BY_NAME };

static uint32_t
column_value(struct flame_data *d, const struct graph *g, const struct flame_view *v,
	     uint32_t entry, enum column what)
{
	const struct graph_entry *x = &g->entries[entry];
	struct buf b = {0};
	uint32_t id = 0;

	switch (what) {
	case NAME:
		if (entry == 0)
			return flame_data_str(d, "all");
		graph_entry_text(g, x, &b);
		id = flame_data_str(d, buf_str(&b));
		buf_done(&b);
		return id;
	case FILE_NAME:
		return flame_data_str(d, graph_text(g, x->file));
	case LINE:
		return x->line;
	case MODULE:
		return flame_data_str(d, file_last_part(graph_text(g, x->module)));
	case BY_MODULE:
		return v->colours->module_of[entry];
	case BY_NAME:
		break;
	}
	return v->colours->name_of[entry];
}

static void
entry_columns(struct flame_data *d, const struct graph *g, const struct flame_view *v,
	      const struct places *p)
{
	static const char *const keys[] = {"name",   "file",	 "line",
					   "module", "byModule", "byName"};

	for (size_t c = 0; c < sizeof keys / sizeof *keys; c++) {
		json_member_arr(&d->j, keys[c]);
		for (uint32_t i = 0; i < p->n; i++)
			json_u64(&d->j,
				 column_value(d, g, v, p->list[i], (enum column)c));
		json_arr_end(&d->j);
	}
}

static void
entry_figures(struct flame_data *d, const struct graph *g, const char *key, int which,
	      const struct places *p)
{
	json_member_arr(&d->j, key);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct graph_entry *x = &g->entries[p->list[i]];
		const double of[] = {x->flat, x->cum, x->was_flat, x->was_cum, 0, 0};

		if (which < 4)
			flame_data_number(d, of[which]);
		else
			flame_data_number(
				d, figure_sqrt(which == 4 ? x->var_flat : x->var_cum));
	}
	json_arr_end(&d->j);
}

static void
entries(struct flame_data *d, const struct graph *g, const struct flame_view *v,
	const struct places *p)
{
	static const char *const keys[] = {"flat",   "cum",	"wasFlat",
					   "wasCum", "errFlat", "errCum"};

	json_member_obj(&d->j, "entries");
	entry_columns(d, g, v, p);
	for (int k = 0; k < 6; k++) {
		if ((k >= 2 && k < 4 && !g->has_base) || (k >= 4 && !g->sampled))
			continue;
		entry_figures(d, g, keys[k], k, p);
	}
	json_obj_end(&d->j);
}

/* ---- boxes ---- */

static double
box_figure(const struct flame_box *b, int which)
{
	switch (which) {
	case 0:
		return b->total;
	case 1:
		return b->self;
	case 2:
		return b->was_total;
	case 3:
		return b->was_self;
	default:
		return b->width[which - 4];
	}
}

static void
box_column(struct flame_data *d, const struct flame_tree *t, const char *key, int which)
{
	json_member_arr(&d->j, key);
	for (uint32_t i = 0; i < t->nboxes; i++)
		flame_data_number(d, box_figure(&t->boxes[i], which));
	json_arr_end(&d->j);
}

/* Widths are the totals unless some figure is below nothing. */
static bool
widths_differ(const struct flame_tree *t)
{
	for (uint32_t i = 0; i < t->nboxes; i++) {
		const struct flame_box *b = &t->boxes[i];

		if (fabs(b->width[FLAME_BY_NOW] - b->total) > 0.001 * fabs(b->total) ||
		    fabs(b->width[FLAME_BY_WAS] - b->was_total) >
			    0.001 * fabs(b->was_total))
			return true;
	}
	return false;
}

static void
tree(struct flame_data *d, const struct graph *g, const char *key,
     const struct flame_tree *t, const struct places *p)
{
	json_member_obj(&d->j, key);
	json_member_arr(&d->j, "entry");
	for (uint32_t i = 0; i < t->nboxes; i++)
		json_u64(&d->j, p->of[t->boxes[i].entry]);
	json_arr_end(&d->j);
	json_member_arr(&d->j, "depth");
	for (uint32_t i = 0; i < t->nboxes; i++)
		json_u64(&d->j, t->boxes[i].depth);
	json_arr_end(&d->j);
	box_column(d, t, "total", 0);
	box_column(d, t, "self", 1);
	if (g->has_base) {
		box_column(d, t, "was", 2);
		box_column(d, t, "wasSelf", 3);
		box_column(d, t, "byMax", 4 + FLAME_BY_MAX);
	}
	if (widths_differ(t)) {
		box_column(d, t, "byNow", 4 + FLAME_BY_NOW);
		if (g->has_base)
			box_column(d, t, "byWas", 4 + FLAME_BY_WAS);
	}
	member(d, "leftOut", (double)t->left_out);
	json_obj_end(&d->j);
}

void
flame_data_view(struct flame_data *d, const struct graph *g, const struct flame_view *v,
		uint32_t **ret_place)
{
	const char *unit = g->in_bytes ? "bytes" : "objects";
	struct places p;

	places_init(&p, g, v);
	json_obj(&d->j);
	flame_data_text(d, "what", v->what != NULL ? v->what : "");
	flame_data_text(d, "unit", v->count_name != NULL ? v->count_name : unit);
	json_member_bool(&d->j, "base", g->has_base);
	json_member_bool(&d->j, "sampled", g->sampled);
	member(d, "total", g->total);
	member(d, "was", g->was_total);
	member(d, "err", figure_sqrt(g->var_total));
	member(d, "stacks", (double)g->stacks);
	member(d, "notListed", g->nentries > p.n ? g->nentries - p.n : 0);
	entries(d, g, v, &p);
	tree(d, g, "down", &v->down, &p);
	tree(d, g, "up", &v->up, &p);
	json_obj_end(&d->j);
	free(p.list);
	if (ret_place != NULL)
		*ret_place = p.of;
	else
		free(p.of);
}
