/* SPDX-License-Identifier: MIT */
/* view_traces.c -- every stack by itself, largest first: figure, labels, frames. */
#include <math.h>
#include <stdlib.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/value.h"
#include "tool/render/views/view_impl.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct view_traces {
	const struct view *v;
	struct values values;
	VEC(uint32_t) sites; /* of the graph, largest first */
	uint32_t *labels;    /* rows of prof.labels by site; see starts */
	uint32_t *starts;
	bool processes; /* there are several */
	char **lines;	/* of every entry, once it was written */
};

static int
view_site_compare(const void *pa, const void *pb, void *ctx)
{
	const double *v = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (fabs(v[a]) != fabs(v[b]))
		return fabs(v[a]) > fabs(v[b]) ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void
view_traces_labels(struct view_traces *t, const struct prof *p)
{
	t->starts = xcalloc((size_t)p->nsites + 2, sizeof *t->starts);
	t->labels = xcalloc(p->nlabels, sizeof *t->labels);
	for (uint32_t i = 0; i < p->nlabels; i++)
		t->starts[p->labels[i].site + 2]++;
	for (uint32_t i = 2; i < p->nsites + 2; i++)
		t->starts[i] += t->starts[i - 1];
	for (uint32_t i = 0; i < p->nlabels; i++)
		t->labels[t->starts[p->labels[i].site + 1]++] = i;
}

static void
view_traces_init(struct view_traces *t, const struct view *v)
{
	const struct prof *p = v->p;
	uint32_t first = 0;

	*t = (struct view_traces){.v = v};
	t->lines = xcalloc(v->g->nentries, sizeof *t->lines);
	values_load(&t->values, p, v->q);
	view_traces_labels(t, p);
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (v->g->node_of_site[i] == 0)
			continue;
		vec_push(&t->sites, i);
		t->processes =
			t->processes || (first != 0 && p->sites[i].process != first);
		first = p->sites[i].process;
	}
	if (t->sites.len > 1)
		qsort_r(t->sites.data, t->sites.len, sizeof *t->sites.data,
			view_site_compare, t->values.v);
}

static void
view_traces_done(struct view_traces *t)
{
	for (uint32_t i = 0; i < t->v->g->nentries; i++)
		free(t->lines[i]);
	free(t->lines);
	values_done(&t->values);
	vec_done(&t->sites);
	free(t->labels);
	free(t->starts);
}

static void
view_trace_labels(const struct view_traces *t, struct buf *out, uint32_t site)
{
	const struct prof *p = t->v->p;

	for (uint32_t i = t->starts[site]; i < t->starts[site + 1]; i++) {
		const struct prof_label *l = &p->labels[t->labels[i]];

		if (!filter_shows_tag(t->v->q->filter, prof_text(p, l->key)))
			continue;
		buf_add_str(out, "  ");
		clean_text(out, prof_text(p, l->key));
		buf_add_char(out, '=');
		if (l->text != 0)
			clean_text(out, prof_text(p, l->text));
		else
			buf_printf(out, "%lld", (long long)l->number);
	}
}

/* A frame; the same entry is the same line wherever it stands. */
static const char *
view_trace_line(const struct view_traces *t, uint32_t entry)
{
	struct buf b = {0};

	if (t->lines[entry] == NULL) {
		buf_add_str(&b, "    ");
		view_name(t->v, &b, 0, entry);
		buf_add_char(&b, '\n');
		t->lines[entry] = buf_take(&b);
	}
	return t->lines[entry];
}

static void
view_trace(const struct view_traces *t, struct buf *out, uint32_t site)
{
	const struct view *v = t->v;
	uint32_t process = v->p->sites[site].process;
	double var = t->values.var != NULL ? t->values.var[site] : 0;

	figure_right(out, view_amount(v, t->values.v[site], var).s, 10);
	buf_add_str(out, "  ");
	figure_right(out, view_share(v, t->values.v[site]).s, 6);
	if (t->processes) {
		buf_add_str(out, "  ");
		clean_text(out, choose_process_name(v->p, process).s);
		buf_printf(out, " (%u)", v->p->processes[process].pid);
	}
	view_trace_labels(t, out, site);
	buf_add_char(out, '\n');
	for (uint32_t n = v->g->node_of_site[site]; n != 0; n = v->g->nodes[n].parent)
		buf_add_str(out, view_trace_line(t, v->g->nodes[n].entry));
}

uint32_t
view_traces(struct buf *out, const struct view *v)
{
	struct view_traces t;
	uint32_t rows;
	double rest = 0;

	view_traces_init(&t, v);
	rows = view_limit(v, (uint32_t)t.sites.len);
	for (uint32_t i = 0; i < rows; i++)
		view_trace(&t, out, t.sites.data[i]);
	for (size_t i = rows; i < t.sites.len; i++)
		rest += t.values.v[t.sites.data[i]];
	view_more(v, out, t.sites.len - rows, "stack", rest);
	view_traces_done(&t);
	return 1;
}

static void
view_trace_json_labels(const struct view_traces *t, struct json *j, uint32_t site)
{
	const struct prof *p = t->v->p;

	json_member_arr(j, "labels");
	for (uint32_t i = t->starts[site]; i < t->starts[site + 1]; i++) {
		const struct prof_label *l = &p->labels[t->labels[i]];

		if (!filter_shows_tag(t->v->q->filter, prof_text(p, l->key)))
			continue;
		json_obj(j);
		view_key_str(j, "key", prof_text(p, l->key));
		if (l->text != 0) {
			view_key_str(j, "text", prof_text(p, l->text));
		} else {
			view_key_number(j, "number", (double)l->number);
			view_key_str(j, "unit",
				     l->unit != 0 ? prof_text(p, l->unit) : NULL);
		}
		json_obj_end(j);
	}
	json_arr_end(j);
}

uint32_t
view_traces_json(struct json *j, const struct view *v)
{
	struct view_traces t;
	size_t n;

	view_traces_init(&t, v);
	n = v->o->rows > 0 && v->o->rows < t.sites.len ? v->o->rows : t.sites.len;
	json_member_arr(j, "rows");
	for (size_t i = 0; i < n; i++) {
		uint32_t site = t.sites.data[i];

		json_obj(j);
		view_key_number(j, "value", t.values.v[site]);
		if (t.values.var != NULL)
			view_key_error(v, j, "error", t.values.var[site]);
		view_key_number(j, "pid", v->p->processes[v->p->sites[site].process].pid);
		view_trace_json_labels(&t, j, site);
		json_member_arr(j, "stack");
		for (uint32_t k = v->g->node_of_site[site]; k != 0;
		     k = v->g->nodes[k].parent)
			json_u64(j, v->g->nodes[k].entry - 1);
		json_arr_end(j);
		json_obj_end(j);
	}
	json_arr_end(j);
	view_json_entries(v, j);
	view_traces_done(&t);
	return 1;
}
