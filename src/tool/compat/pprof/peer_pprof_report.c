/* SPDX-License-Identifier: MIT */
/* peer_pprof_report.c -- one report of the pprof personality: from options to what is
 * printed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/graph/tagframes.h"
#include "tool/analyze/sites/value.h"
#include "tool/compat/compat.h"
#include "tool/compat/jeprof/peer_tables.h"
#include "tool/compat/pprof/peer_pprof.h"
#include "tool/compat/pprof/peer_pprof_graph.h"
#include "tool/compat/pprof/peer_pprof_raw.h"
#include "tool/format/format_save.h"
#include "tool/render/figure.h"
#include "tool/render/flame/pages.h"
#include "tool/render/report/report.h"
#include "tool/render/views/view.h"
#include "tool/session/graphviz.h"
#include "tool/session/names/source.h"
#include "tool/session/out_file.h"
#include "tool/sym/demangle.h"
#include "tool/util/clean.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

struct pprof_job {
	const struct pprof_loaded *l;
	struct pprof_args *a;
	struct pprof_loaded tagged; /* profiles of our own; zeroed: there are none */
	struct graph_query q;
	struct graph g;
	struct graph_filter *filter;
	struct re *re;
	struct pprof_opts o;
	struct buf out;
};

/* ---- what is counted ---- */

/* Heap profiles in text have two columns only when nothing tells them from four: no
 * others, or the same again. */
static bool
pprof_two_columns(const struct prof *p)
{
	int64_t live = 0, all = 0;

	if (strcmp(prof_text(p, p->format), "pprof") == 0 || p->columns == PROF_HAS_ALL)
		return false;
	for (uint32_t i = 1; i < p->nsites; i++) {
		live += p->sites[i].live_blocks;
		all += (int64_t)p->sites[i].allocs;
	}
	return (p->columns & PROF_HAS_ALLOCS) == 0 || live == all;
}

/* Numbers count the columns as the file has them. */
static int
pprof_index_number(const struct prof *p, unsigned long n, struct graph_query *q,
		   struct err *e)
{
	bool allocs = (p->columns & PROF_HAS_ALLOCS) != 0 && !pprof_two_columns(p);
	bool live = (p->columns & PROF_HAS_LIVE) != 0;
	unsigned long columns = 2ul * (allocs + live);

	if (n >= columns)
		return err_set(e, -EINVAL, "sample_index %lu: the profile has %lu", n,
			       columns);
	q->objects = n % 2 == 0;
	q->value = allocs && n < 2 ? PROF_ALLOCATED : PROF_LIVE;
	return 0;
}

static int
pprof_choose_value(struct pprof_job *j, struct err *e)
{
	const struct prof *p = j->l->p;
	char *end = NULL;
	unsigned long n;
	int r;

	if (j->a->index == NULL || j->a->index[0] == '\0') {
		j->q.value = value_default(p, &j->q.objects);
		return 0;
	}
	n = strtoul(j->a->index, &end, 10);
	if (*end == '\0')
		r = pprof_index_number(p, n, &j->q, e);
	else
		r = value_parse(j->a->index, &j->q.value, &j->q.objects, e);
	return r < 0 ? r : value_check(p, &j->q, e);
}

/* The column's name, as the file would have it. */
static const char *
pprof_type(const struct pprof_job *j)
{
	static const char *const names[][2] = {
		[PROF_LIVE] = {"inuse_space", "inuse_objects"},
		[PROF_PEAK] = {"peak_space", "peak_objects"},
		[PROF_ALLOCATED] = {"alloc_space", "alloc_objects"},
		[PROF_TEMPORARY] = {"temporary_space", "temporary_objects"},
	};
	const struct prof *p = j->l->p;

	if (j->q.value == PROF_LIVE && pprof_two_columns(p))
		return j->q.objects ? "objects" : "space";
	return names[j->q.value][j->q.objects];
}

static enum graph_grain
pprof_grain(const struct pprof_args *a)
{
	if (a->what == PPROF_LIST)
		return GRAPH_LINES;
	return a->grain;
}

/* Shares are of everything, unless of what the filters leave. */
static double
pprof_whole(const struct pprof_job *j)
{
	const struct pprof_loaded *l = j->l;

	if (j->a->relative)
		return fabs(j->g.total - j->g.was_total);
	if (j->a->diff_base != NULL && l->base != NULL)
		return pprof_total(l->base, l->base->nsites, j->q.value, j->q.objects);
	if (l->both != NULL)
		return pprof_total(l->both, l->nsites, j->q.value, j->q.objects);
	return pprof_total(l->p, l->p->nsites, j->q.value, j->q.objects);
}

static const char *
pprof_file(const struct pprof_loaded *l)
{
	const struct prof *p = l->p;

	if (l->exe != NULL)
		return l->exe;
	if (p->nmodules > 1 && p->modules[1].path != 0)
		return prof_text(p, p->modules[1].path);
	return NULL;
}

static void
pprof_fill_opts(struct pprof_job *j)
{
	bool trim = j->a->trim && j->a->what != PPROF_PEEK && j->a->what != PPROF_LIST;
	bool table = j->a->what == PPROF_TOP;

	j->o = (struct pprof_opts){
		.by_cum = j->a->cum,
		.drop_negative = j->a->drop_negative,
		.compact = j->a->compact,
		.node_fraction = trim ? j->a->node_fraction : 0,
		.edge_fraction = trim ? j->a->edge_fraction : 0,
		.node_count = !trim		 ? 0
			      : j->a->nodes >= 0 ? (uint64_t)j->a->nodes
			      : table		 ? 0
						 : VIEW_NODE_COUNT,
		.total = pprof_whole(j),
		.ratio = j->a->divide_by != 0 ? 1 / j->a->divide_by : 1,
		.unit = j->a->unit,
		.type = pprof_type(j),
		.file = pprof_file(j->l),
		.filters = &j->a->filters,
		.in_bytes = !j->q.objects,
	};
}

/* ---- reports ---- */

static int
pprof_report_table(struct pprof_job *j, struct err *e)
{
	struct pprof_graph x;
	uint32_t met = 1;

	pprof_graph_init(&x, &j->g, &j->o);
	if (j->a->what == PPROF_TOP)
		pprof_top(&j->out, j->l->p, &x);
	else
		met = pprof_tree(&j->out, j->l->p, &x, j->re);
	pprof_graph_done(&x);
	if (met == 0 && j->re != NULL)
		return err_set(e, -ENOENT, "no matches found for regexp: %s",
			       j->a->pattern);
	return 0;
}

static int
pprof_report_list(struct pprof_job *j, struct err *e)
{
	struct source *source = source_new(j->l->p);
	uint32_t met = pprof_list(&j->out, &j->g, &j->o, j->re, source_line, source);

	source_free(source);
	if (met == 0)
		return err_set(e, -ENOENT, "no matches found for regexp: %s",
			       j->a->pattern);
	return 0;
}

static int
pprof_report_proto(struct pprof_job *j, struct err *e)
{
	struct emit_out out = {.buf = &j->out};

	if (j->filter != NULL || j->l->base != NULL)
		return err_set(e, -ENOTSUP,
			       "-proto writes the profile as it is: no filters and "
			       "no base go with it");
	if (j->a->output == NULL && isatty(STDOUT_FILENO))
		return err_set(e, -EINVAL, "-proto is not for a terminal: see -output");
	return format_save(j->l->p, "pprof", NULL, &out, e);
}

static int
pprof_report_callgrind(struct pprof_job *j, struct err *e)
{
	struct jeprof_rules rules = {.full_name = demangle_full};
	struct prof *p = j->l->both != NULL ? j->l->both : j->l->p;
	struct jeprof_frames f;
	double *figures;

	if (j->filter != NULL)
		return err_set(e, -ENOTSUP, "-callgrind has no filters here");
	figures =
		jeprof_figures(p, j->l->both != NULL ? j->l->nsites : p->nsites,
			       j->q.value == PROF_ALLOCATED ? PROF_ALLOCATED : PROF_LIVE,
			       j->q.objects, j->a->drop_negative);
	jeprof_frames_init(&f, p, &rules);
	peer_callgrind(&j->out, &f, figures);
	jeprof_frames_done(&f);
	free(figures);
	return 0;
}

/* The graph has figures of both; a picture shows what has come. */
static void
pprof_report_subtract(struct pprof_job *j)
{
	struct graph *g = &j->g;

	for (uint32_t i = 0; i < g->nentries; i++) {
		g->entries[i].flat -= g->entries[i].was_flat;
		g->entries[i].cum -= g->entries[i].was_cum;
	}
	for (uint32_t i = 0; i < g->nnodes; i++) {
		g->nodes[i].self -= g->nodes[i].was_self;
		g->nodes[i].total -= g->nodes[i].was_total;
	}
	for (uint32_t i = 0; i < g->nedges; i++)
		g->edges[i].weight -= g->edges[i].was_weight;
	g->total -= g->was_total;
	g->unfiltered -= g->was_unfiltered;
	g->magnitude = j->o.total;
}

static void
pprof_report_graph(struct pprof_job *j)
{
	/* Nodes and edges are cut by what passed the filters, not by everything. */
	double part = j->g.unfiltered != 0 ? fabs(j->g.total / j->g.unfiltered) : 1;
	struct view_opts o = {.node_fraction = j->o.node_fraction * part,
			      .edge_fraction = j->o.edge_fraction * part,
			      .node_count = (uint32_t)j->o.node_count,
			      .title = j->o.file != NULL ? j->o.file : j->l->source};
	struct view v = {.p = j->l->p, .g = &j->g, .q = &j->q, .o = &o};

	if (j->l->both != NULL)
		pprof_report_subtract(j);
	view_text(&j->out, VIEW_GRAPH, &v);
}

static void
pprof_report_comments(struct pprof_job *j)
{
	const char *at = prof_text(j->l->p, j->l->p->comments), *end;

	do {
		char *line;

		end = strchrnul(at, '\n');
		line = xmemdup0(at, (size_t)(end - at));
		clean_text(&j->out, line);
		buf_add_char(&j->out, '\n');
		free(line);
		at = end + 1;
	} while (*end != '\0');
}

static int
pprof_report_make(struct pprof_job *j, struct err *e)
{
	if (j->l->both != NULL && (j->a->what == PPROF_TRACES ||
				   j->a->what == PPROF_TAGS || j->a->what == PPROF_RAW))
		return err_set(e, -ENOTSUP,
			       "-traces, -tags and -raw know no base here; -top, -tree, "
			       "-peek, -list and the graphs do");
	switch (j->a->what) {
	case PPROF_TOP:
	case PPROF_TREE:
	case PPROF_PEEK:
		return pprof_report_table(j, e);
	case PPROF_LIST:
		return pprof_report_list(j, e);
	case PPROF_TRACES:
		pprof_traces(&j->out, j->l->p, &j->g, &j->q, &j->o);
		return 0;
	case PPROF_TAGS:
		pprof_tags(&j->out, j->l->p, &j->g, &j->q, &j->o);
		return 0;
	case PPROF_COMMENTS:
		pprof_report_comments(j);
		return 0;
	case PPROF_RAW:
		pprof_raw(&j->out, j->l->p, pprof_two_columns(j->l->p));
		return 0;
	case PPROF_PROTO:
		return pprof_report_proto(j, e);
	case PPROF_CALLGRIND:
		return pprof_report_callgrind(j, e);
	default:
		pprof_report_graph(j);
		return 0;
	}
}

/* ---- where it goes ---- */

/* A name for a picture that must not go to a terminal: profile001.svg, or the next that
 * is free. To be freed. */
static char *
pprof_free_name(const char *ending)
{
	for (unsigned i = 1; i < 1000; i++) {
		char *name = xasprintf("profile%03u.%s", i, ending);

		if (access(name, F_OK) != 0)
			return name;
		free(name);
	}
	return xasprintf("profile.%s", ending);
}

static int
pprof_write(struct pprof_job *j, struct err *e)
{
	char *own = NULL;
	const char *path = j->a->output;
	int r = 0;

	if (path == NULL && j->a->picture != NULL && isatty(STDOUT_FILENO))
		path = own = pprof_free_name(j->a->picture);
	if (path != NULL && out_check_log(path, e) < 0) {
		free(own);
		return -EEXIST;
	}
	if (path != NULL)
		fprintf(stderr, "Generating report in %s\n", path);
	if (j->a->picture != NULL && j->a->what == PPROF_DOT) {
		char option[8];
		struct graphviz g = {
			.type = strcmp(j->a->picture, "ps") == 0 ? "ps2" : j->a->picture,
			.option = option,
			.text = "-dot",
			.path = path != NULL ? path : "-"};

		snprintf(option, sizeof option, "-%s", j->a->picture);
		r = graphviz_draw(&j->out, &g, e);
	} else if (path != NULL) {
		FILE *f = fopen(path, "we");

		if (f == NULL) {
			r = err_sys(e, -errno, "%s: cannot write", path);
		} else {
			fwrite(buf_str(&j->out), 1, j->out.len, f);
			if (fclose(f) != 0)
				r = err_sys(e, -errno, "%s: cannot write", path);
		}
	} else {
		fwrite(buf_str(&j->out), 1, j->out.len,
		       j->a->what == PPROF_PROTO ? clean_raw() : stdout);
	}
	free(own);
	return r;
}

/* Filters that met nothing, in pprof's words. */
static void
pprof_say_unmatched(const struct pprof_job *j)
{
	static const char *const names[FILTER_OPTIONS] = {
		[FILTER_FOCUS] = "Focus",	  [FILTER_IGNORE] = "Ignore",
		[FILTER_HIDE] = "Hide",		  [FILTER_SHOW] = "Show",
		[FILTER_SHOW_FROM] = "ShowFrom",  [FILTER_TAGFOCUS] = "TagFocus",
		[FILTER_TAGIGNORE] = "TagIgnore",
	};

	for (unsigned i = 0; i < FILTER_OPTIONS; i++) {
		if ((j->g.unmatched & 1u << i) != 0 && names[i] != NULL)
			fprintf(stderr, "%s expression matched no samples\n", names[i]);
	}
}

/* ---- labels as frames ---- */

static struct prof *
pprof_tag(const struct pprof_args *a, const struct prof *p, unsigned *unmatched)
{
	struct tagframes t = {.root = a->tagroot,
			      .leaf = a->tagleaf,
			      .text = pprof_label_frame,
			      .drop = true};
	struct prof *copy;

	if (p == NULL)
		return NULL;
	copy = prof_new();
	prof_merge(copy, p);
	*unmatched &= tagframes_add(copy, &t);
	return copy;
}

/* The profiles with -tagroot and -tagleaf in their stacks, in place of the others: those
 * are as they were loaded for the next report. */
static void
pprof_take_tagged(struct pprof_job *j)
{
	unsigned unmatched = TAGFRAMES_NO_ROOT | TAGFRAMES_NO_LEAF;

	if ((j->a->tagroot == NULL || *j->a->tagroot == '\0') &&
	    (j->a->tagleaf == NULL || *j->a->tagleaf == '\0'))
		return;
	j->tagged = *j->l;
	j->tagged.p = pprof_tag(j->a, j->l->p, &unmatched);
	j->tagged.base = pprof_tag(j->a, j->l->base, &unmatched);
	if (j->tagged.base != NULL) {
		j->tagged.both = prof_new();
		prof_merge(j->tagged.both, j->tagged.p);
		prof_merge(j->tagged.both, j->tagged.base);
	}
	if ((unmatched & TAGFRAMES_NO_ROOT) != 0)
		fputs("TagRoot expression matched no samples\n", stderr);
	if ((unmatched & TAGFRAMES_NO_LEAF) != 0)
		fputs("TagLeaf expression matched no samples\n", stderr);
	j->l = &j->tagged;
}

/* ---- all of it ---- */

static int
pprof_prepare(struct pprof_job *j, struct err *e)
{
	int r = filter_new(&j->a->filters, &j->filter, e);

	if (r == 0 && j->a->pattern != NULL)
		r = re_new(j->a->pattern, &j->re, e);
	if (r == 0)
		r = pprof_choose_value(j, e);
	if (r < 0)
		return r;
	pprof_take_tagged(j);
	j->q.filter = j->filter;
	j->q.grain = pprof_grain(j->a);
	j->q.no_inlines = j->a->no_inlines;
	j->q.integers = true;
	j->q.merge_names = true;
	j->q.drop_frames = !j->a->all_frames;
	graph_init(&j->g, j->l->p, &j->q, j->l->base, NULL);
	pprof_fill_opts(j);
	return 0;
}

static void
pprof_job_done(struct pprof_job *j)
{
	graph_done(&j->g);
	prof_free(j->tagged.p);
	if (j->tagged.base != NULL)
		prof_free(j->tagged.both);
	prof_free(j->tagged.base);
	filter_free(j->filter);
	re_free(j->re);
	buf_done(&j->out);
}

int
pprof_report(struct pprof_loaded *l, struct err *e)
{
	struct pprof_job j = {.l = l, .a = l->args};
	int r = pprof_prepare(&j, e);

	if (r == 0) {
		pprof_say_unmatched(&j);
		r = pprof_report_make(&j, e);
	}
	if (r == 0)
		r = pprof_write(&j, e);
	pprof_job_done(&j);
	return r;
}

int
pprof_report_text(struct pprof_loaded *l, enum pprof_what what, struct buf *out,
		  struct err *e)
{
	struct pprof_job j = {.l = l, .a = l->args};
	int r;

	l->args->what = what;
	r = pprof_prepare(&j, e);
	if (r == 0)
		r = pprof_report_make(&j, e);
	if (r == 0)
		buf_add(out, j.out.data, j.out.len);
	pprof_job_done(&j);
	return r;
}

int
pprof_report_page(struct pprof_loaded *l, struct buf *out, struct err *e)
{
	struct pprof_job j = {.l = l, .a = l->args};
	struct report_opts all = {0};
	struct buf notes = {0};
	struct pages page;
	int r;

	l->args->what = PPROF_NOTHING;
	r = pprof_prepare(&j, e);
	if (r == 0) {
		report_remarks(&notes, l->p, &all);
		page = (struct pages){.title = j.o.file != NULL ? j.o.file : l->source,
				      .notes = buf_str(&notes),
				      .one_figure = l->args->index != NULL};
		pages_html(out, &page, j.l->p, &j.q, j.l->base, NULL);
	}
	buf_done(&notes);
	pprof_job_done(&j);
	return r;
}

int
pprof_welcome(struct pprof_loaded *l, struct err *e)
{
	struct pprof_job j = {.l = l, .a = l->args};
	int r = pprof_prepare(&j, e);

	if (r == 0) {
		pprof_head(&j.out, l->p, &j.o);
		fputs(buf_str(&j.out), stdout);
	}
	pprof_job_done(&j);
	return r;
}
