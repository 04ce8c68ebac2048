/* SPDX-License-Identifier: MIT */
/* view_plot.c -- what is plotted over time, and the same as JSON. See view_plot.h. */
#include "tool/render/views/view_plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum { RSS_MOST = 4 }; /* so much higher than what is live it may be to be drawn */

bool
plot_has_points(const struct plot *pl)
{
	return pl->o.axis.n > 1 && pl->o.nrows > 0;
}

int64_t
plot_figure(const struct plot *pl, uint32_t layer, uint32_t point)
{
	int64_t x =
		layer < pl->layers ? pl->o.rows[layer].live[point] : pl->others[point];

	return x > 0 ? x : 0; /* nor what is not known */
}

int64_t
plot_sum(const struct plot *pl, uint32_t point)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i <= pl->layers; i++)
		sum += plot_figure(pl, i, point);
	return sum;
}

struct fmt_str
plot_amount(const struct plot *pl, int64_t bytes)
{
	struct fmt_str f;

	if (!pl->v.o->bytes)
		return fmt_size((uint64_t)bytes);
	snprintf(f.s, sizeof f.s, "%" PRId64, bytes);
	return f;
}

/* What is drawn, and on which scale. */
static void
prepare(struct plot *pl)
{
	const struct overtime *o = &pl->o;
	int64_t rss = 0;

	pl->layers = o->nrows < PLOT_LAYERS ? o->nrows : PLOT_LAYERS;
	pl->rest = o->nrows > pl->layers;
	pl->others = xcalloc(o->axis.n + 1u, sizeof *pl->others);
	pl->rss_bytes = xcalloc(o->axis.n + 1u, sizeof *pl->rss_bytes);
	overtime_rest(o, pl->layers, pl->others);
	for (uint32_t k = 0; k < o->axis.n; k++) {
		int64_t sum = plot_sum(pl, k);

		pl->rss_bytes[k] = (int64_t)(o->rss_kib[k] << 10);
		pl->top = sum > pl->top ? sum : pl->top;
		rss = pl->rss_bytes[k] > rss ? pl->rss_bytes[k] : rss;
	}
	pl->top = pl->top > 0 ? pl->top : 1;
	pl->has_rss = rss > 0;
	pl->rss = rss > 0 && rss / RSS_MOST <= pl->top;
	if (pl->rss && rss > pl->top)
		pl->top = rss;
}

void
plot_init(struct plot *ret, const struct view *v)
{
	struct plot pl = {.q = *v->q, .v = *v};

	pl.q.value = PROF_ALLOCATED;
	pl.q.objects = false;
	pl.q.no_edges = true;
	*ret = pl;
	graph_init(&ret->g, v->p, &ret->q, NULL, NULL);
	overtime_init(&ret->o, v->p, v->q->chosen, &ret->g);
	ret->v.g = &ret->g;
	ret->v.q = &ret->q;
	prepare(ret);
}

void
plot_done(struct plot *pl)
{
	free(pl->others);
	free(pl->rss_bytes);
	overtime_done(&pl->o);
	graph_done(&pl->g);
}

static int
compare(const void *a, const void *b)
{
	const struct plot_mark *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->m < y->m ? -1 : x->m > y->m;
}

uint32_t
plot_marks(const struct plot *pl, struct plot_mark **ret)
{
	const struct prof *p = pl->v.p;
	struct plot_mark *marks = xcalloc(p->nmarks + 1u, sizeof *marks);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nmarks; i++) {
		const struct prof_mark *m = &p->marks[i];
		uint64_t ns = p->processes[m->process].start_ns;

		if ((pl->q.chosen != NULL && !pl->q.chosen[m->process]) ||
		    ns < pl->o.axis.start_ns)
			continue;
		marks[n++] = (struct plot_mark){
			.ms = (ns - pl->o.axis.start_ns) / 1000000 + m->ms, .m = m};
	}
	if (n > 1)
		qsort(marks, n, sizeof *marks, compare);
	*ret = marks;
	return n;
}

/* ---- JSON ---- */

static void
json_figures(struct json *j, const char *key, const int64_t *figures, uint32_t n)
{
	json_member_arr(j, key);
	for (uint32_t i = 0; i < n; i++) {
		if (figures[i] == PROF_UNKNOWN)
			json_null(j);
		else
			json_i64(j, figures[i]);
	}
	json_arr_end(j);
}

static void
json_points(struct json *j, const struct overtime *o)
{
	json_member_arr(j, "ms");
	for (uint32_t i = 0; i < o->axis.n; i++)
		json_u64(j, o->axis.ms[i]);
	json_arr_end(j);
	json_figures(j, "live_bytes", o->live, o->axis.n);
	json_member_arr(j, "rss_bytes");
	for (uint32_t i = 0; i < o->axis.n; i++) {
		if (o->rss_kib[i] > 0)
			json_u64(j, o->rss_kib[i] << 10);
		else
			json_null(j);
	}
	json_arr_end(j);
}

static void
json_rows(struct json *j, const struct plot *pl)
{
	const struct view_opts *opts = pl->v.o;
	uint32_t most = opts->rows > 0 ? opts->rows
			: opts->all    ? UINT32_MAX
				       : PLOT_JSON_ROWS;
	const struct overtime *o = &pl->o;
	uint32_t n = o->nrows < most ? o->nrows : most;
	int64_t *rest = xcalloc(o->axis.n + 1u, sizeof *rest);

	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < n; i++) {
		json_obj(j);
		view_entry_members(&pl->v, j, o->rows[i].entry);
		json_member_i64(j, "highest_bytes", o->rows[i].highest);
		json_figures(j, "live_bytes", o->rows[i].live, o->axis.n);
		json_obj_end(j);
	}
	json_arr_end(j);
	overtime_rest(o, n, rest);
	json_member_u64(j, "rows_not_listed", o->nrows - n);
	json_figures(j, "not_listed_bytes", rest, o->axis.n);
	free(rest);
}

void
plot_json(struct json *j, const struct view *v)
{
	struct plot_mark *marks;
	struct plot pl;
	uint32_t n;

	plot_init(&pl, v);
	json_member_obj(j, "series");
	json_points(j, &pl.o);
	json_rows(j, &pl);
	n = plot_marks(&pl, &marks);
	json_member_arr(j, "marks");
	for (uint32_t i = 0; i < n; i++) {
		json_obj(j);
		view_key_str(j, "name", prof_text(v->p, marks[i].m->name));
		json_member_u64(j, "pid", v->p->processes[marks[i].m->process].pid);
		json_member_u64(j, "ms", marks[i].ms);
		json_member_i64(j, "live_bytes", marks[i].m->live_bytes);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
	free(marks);
	plot_done(&pl);
}
