/* SPDX-License-Identifier: MIT */
/* r->c -- the views of `seep report`: from options to what is printed. */
#include "tool/cli/report_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/graph/tagframes.h"
#include "tool/analyze/sites/value.h"
#include "tool/cli/page_files.h"
#include "tool/cli/term/pager.h"
#include "tool/render/about_line.h"
#include "tool/render/figure.h"
#include "tool/render/report/report.h"
#include "tool/session/graphviz.h"
#include "tool/session/names/source.h"
#include "tool/session/out_file.h"
#include "tool/sym/demangle.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

/* ---- options ---- */

static const struct {
	const char *option;
	enum view_kind kind;
} report_views[] = {
	{"top", VIEW_TOP},
	{"tree", VIEW_TREE},
	{"bottom-up", VIEW_BOTTOM_UP},
	{"peek", VIEW_PEEK},
	{"list", VIEW_LIST},
	{"annotate", VIEW_ANNOTATE},
	{"traces", VIEW_TRACES},
	{"tags", VIEW_TAGS},
	{"threads", VIEW_THREADS},
	{"sizes", VIEW_SIZES},
	{"lifetimes", VIEW_LIFETIMES},
	{"timeline", VIEW_TIMELINE},
	{"graph", VIEW_GRAPH},
	{"svg", VIEW_GRAPH},
	{"pdf", VIEW_GRAPH},
	{"ps", VIEW_GRAPH},
	{"png", VIEW_GRAPH},
	{"gif", VIEW_GRAPH},
};

static int
report_view_second(const char *first, const char *second, struct err *e)
{
	return err_set(e, -EINVAL, "--%s and --%s: one view at a time", first, second);
}

/* --timeline and --svg go together, in any order: the plot as a picture. */
static bool
report_plots(struct report_view *r, const char *option, const char *path)
{
	bool svg = strcmp(option, "svg") == 0;

	if (svg && r->kind_given && r->kind == VIEW_TIMELINE && r->picture == NULL) {
		r->picture = "svg";
		r->picture_path = path;
		return true;
	}
	if (strcmp(option, "timeline") != 0 || !r->kind_given || r->kind != VIEW_GRAPH ||
	    r->picture == NULL || strcmp(r->picture, "svg") != 0)
		return false;
	r->kind = VIEW_TIMELINE;
	return true;
}

int
report_set_view(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;
	size_t i = 0;

	while (strcmp(report_views[i].option, o->name) != 0)
		i++;
	if (report_plots(r, o->name, v->text))
		return 0;
	if (r->kind_given && (r->kind != report_views[i].kind || v->text != NULL))
		return report_view_second(r->picture != NULL ? r->picture
							     : view_names[r->kind],
					  o->name, e);
	r->given = r->kind_given = true;
	r->given_option = o->name;
	r->kind = report_views[i].kind;
	if (r->kind == VIEW_PEEK || r->kind == VIEW_LIST)
		r->pattern = v->text;
	if (r->kind == VIEW_ANNOTATE)
		r->file = v->text;
	if (r->kind == VIEW_GRAPH && v->text != NULL) {
		r->picture = o->name;
		r->picture_path = v->text;
	}
	return 0;
}

int
report_set_page(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;

	if (r->flame != NULL || r->html != NULL)
		return report_view_second(r->flame != NULL ? "flame" : "html", o->name,
					  e);
	r->given = true;
	r->given_option = o->name;
	if (strcmp(o->name, "flame") == 0)
		r->flame = v->text;
	else
		r->html = v->text;
	return 0;
}

int
report_set_grain(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;
	static const char *const names[] = {
		[GRAPH_FUNCTIONS] = "functions", [GRAPH_FILEFUNCTIONS] = "filefunctions",
		[GRAPH_FILES] = "files",	 [GRAPH_LINES] = "lines",
		[GRAPH_ADDRESSES] = "addresses", [GRAPH_MODULES] = "modules",
	};
	unsigned i = 0;

	(void)v;
	while (strcmp(names[i], o->name) != 0)
		i++;
	if (r->grain_given && r->grain != i)
		return err_set(e, -EINVAL, "--%s: --%s was given already", o->name,
			       names[r->grain]);
	r->given = r->grain_given = true;
	r->given_option = o->name;
	r->grain = i;
	return 0;
}

int
report_set_value(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;

	r->given = r->value_given = true;
	r->given_option = o->name;
	return value_parse(v->text != NULL ? v->text : o->name, &r->value, &r->objects,
			   e);
}

int
report_set_filter(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;
	char name[16] = "";
	unsigned i = 0;

	(void)e;
	for (; o->name[i] != '\0'; i++)
		name[i] = o->name[i] == '-' ? '_' : o->name[i];
	for (i = 0; strcmp(filter_names[i], name) != 0;)
		i++;
	r->given = true;
	r->given_option = o->name;
	r->filters.of[i] = v->text;
	return 0;
}

int
report_set_switch(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;

	(void)v, (void)e;
	r->given = true;
	r->given_option = o->name;
	if (strcmp(o->name, "objects") == 0)
		r->objects = true;
	else if (strcmp(o->name, "cum") == 0)
		r->by_cum = true;
	else if (strcmp(o->name, "no-inlines") == 0)
		r->no_inlines = true;
	else if (strcmp(o->name, "ascii") == 0)
		r->ascii = true;
	else
		r->relative = true;
	return 0;
}

int
report_set_trim(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_view *r = to;

	r->given = true;
	r->given_option = o->name;
	if (strcmp(o->name, "nodecount") == 0) {
		r->node_count = v->u64;
		return 0;
	}
	if (v->f64 < 0 || v->f64 > 1)
		return err_set(e, -EINVAL, "--%s %s: not a share between 0 and 1",
			       o->name, v->text);
	if (strcmp(o->name, "nodefraction") == 0)
		r->node_fraction = v->f64;
	else
		r->edge_fraction = v->f64;
	return 0;
}

/* ---- the view ---- */

/* One view at a time, and no file that is not seep's own in its way. A flame graph may be
 * drawn from the bottom up. */
static int
report_view_check(const struct report_view *r, struct err *e)
{
	const char *page = r->flame != NULL ? "flame" : r->html != NULL ? "html" : NULL;

	if (page != NULL && r->kind_given && r->kind != VIEW_BOTTOM_UP)
		return report_view_second(page, view_names[r->kind], e);
	if (r->picture != NULL && out_check(r->picture_path, r->picture, e) < 0)
		return -EEXIST;
	return pages_check(r->flame, r->html, e);
}

int
report_view_prepare(struct report_view *v, struct err *e)
{
	int r = report_view_check(v, e);

	if (r == 0)
		r = filter_new(&v->filters, &v->filter, e);
	if (r == 0 && v->pattern != NULL) {
		r = re_new(v->pattern, &v->re, e);
		if (r < 0)
			return err_wrap(e, r, "--%s",
					v->kind == VIEW_PEEK ? "peek" : "list");
	}
	return r;
}

void
report_view_done(struct report_view *v)
{
	filter_free(TAKE(v->filter));
	re_free(TAKE(v->re));
}

static void
report_query(const struct report_view *r, const struct loaded *l,
	     const struct report_how *how, struct graph_query *ret_query)
{
	struct graph_query q = {.value = r->value,
				.objects = r->objects,
				.chosen = how->chosen,
				.point = how->point,
				.filter = r->filter,
				.grain = r->grain,
				.no_inlines = r->no_inlines,
				.full_name = demangle_full};
	bool objects = false;

	if (!r->value_given) {
		q.value = value_default(l->p, &objects);
		q.objects = q.objects || objects;
	}
	/* What is freed is not live: all that was ever allocated counts. */
	if (r->kind == VIEW_LIFETIMES && !r->value_given &&
	    prof_has_value(l->p, PROF_ALLOCATED))
		q.value = PROF_ALLOCATED;
	if (r->kind == VIEW_LIST || r->kind == VIEW_ANNOTATE ||
	    ((r->kind == VIEW_TRACES || r->kind == VIEW_TIMELINE) && !r->grain_given))
		q.grain = GRAPH_LINES;
	q.no_edges = r->kind != VIEW_PEEK && r->kind != VIEW_GRAPH;
	*ret_query = q;
}

/* A title says which moment it is about. To be freed. */
static char *
report_title(const struct view *v)
{
	const struct sites_point *at = &v->q->point;

	switch (at->at) {
	case SITES_AT_PEAK:
		return xasprintf("%s at the peak", v->o->title);
	case SITES_AT_EXIT:
		return xasprintf("%s when exit began", v->o->title);
	case SITES_AT_MARK:
		return xasprintf("%s at mark %s", v->o->title, at->mark);
	default:
		return xstrdup(v->o->title);
	}
}

/* The files of --flame and --html. */
static int
report_pages(const struct report_view *r, const struct view *v, struct err *e)
{
	struct report_opts ro = {.chosen = v->q->chosen};
	char *title = report_title(v);
	struct pages pages = {.flame = r->flame,
			      .html = r->html,
			      .title = title,
			      .callers = r->kind == VIEW_BOTTOM_UP,
			      .one_figure = r->value_given};
	struct buf notes = {0};
	int status;

	report_remarks(&notes, v->p, &ro);
	pages.notes = buf_str(&notes);
	status = pages_write(&pages, v->p, v->q, NULL, NULL, e);
	free(title);
	buf_done(&notes);
	return status;
}

/* No function matches: of a file without names none could. */
static int
view_not_found(const struct report_view *r, const struct prof *p, struct err *e)
{
	const char *option = r->kind == VIEW_PEEK ? "peek" : "list";

	for (uint32_t i = 1; i < p->nmodules; i++) {
		const char *path = prof_text(p, p->modules[i].path);

		if (p->modules[i].why_no_names != 0)
			return err_set(
				e, -ENOENT,
				"--%s %s: no function like that; no names in %s: %s",
				option, r->pattern, file_base(path),
				prof_text(p, p->modules[i].why_no_names));
	}
	return err_set(e, -ENOENT, "--%s %s: no function like that", option, r->pattern);
}

static int
report_plot_write(const struct report_view *r, const struct view *v, struct err *e)
{
	struct buf out = {0};
	int status = 0;

	if (!plot_svg(&out, v))
		status = err_set(e, -ENODATA,
				 "--svg: there is nothing to plot: %s does not say what "
				 "was live when",
				 v->o->title);
	else if (strcmp(r->picture_path, "-") == 0)
		status = pager_print(&out, true, e);
	else
		status = file_write(r->picture_path, out.data, out.len, e);
	if (status == 0 && strcmp(r->picture_path, "-") != 0)
		cmd_wrote(r->picture_path);
	buf_done(&out);
	return status;
}

static int
report_view_write(const struct report_view *r, struct buf *out, const struct view *v,
		  const struct report_how *how, struct err *e)
{
	struct report_opts notes = {.chosen = how->chosen, .bytes = how->bytes};
	uint32_t met;

	if (r->kind == VIEW_TIMELINE && r->picture != NULL && !how->json)
		return report_plot_write(r, v, e);
	if (how->json) {
		met = view_json(out, r->kind, v);
	} else {
		if (r->kind != VIEW_GRAPH)
			about_line(out, v->p, how->chosen, v->o->title, v->o->term);
		if (how->about)
			view_about(out, v);
		met = view_text(out, r->kind, v);
		if (r->kind != VIEW_GRAPH) {
			size_t from = out->len;

			report_remarks(out, v->p, &notes);
			if (v->o->ascii)
				figure_to_ascii(out, from);
		}
	}
	if (met == 0 && r->kind == VIEW_ANNOTATE)
		return err_set(e, -ENOENT,
			       "--annotate %s: no line of that file; --files lists all",
			       r->file);
	if (met == 0)
		return view_not_found(r, v->p, e);
	if (r->picture != NULL && !how->json) {
		char option[8];
		struct graphviz g = {.type = r->picture,
				     .option = option,
				     .text = "--graph",
				     .path = r->picture_path};

		snprintf(option, sizeof option, "--%s", r->picture);
		if (graphviz_draw(out, &g, e) < 0)
			return e->code;
		cmd_wrote(r->picture_path);
		return 0;
	}
	return pager_print(out, how->no_pager || how->json || r->kind == VIEW_GRAPH, e);
}

/* --tagroot and --tagleaf: frames are skipped now, for the new ones will stand around
 * them. Returns bits of graph.unmatched. */
static uint32_t
report_tag(const struct report_view *r, struct prof *p, struct skip **skip)
{
	const struct filter_opts *o = &r->filters;
	struct tagframes t = {.root = o->of[FILTER_TAGROOT],
			      .leaf = o->of[FILTER_TAGLEAF],
			      .skip = *skip};
	struct skip_opts all = {.off = true};
	unsigned unmatched;

	if (t.root == NULL && t.leaf == NULL)
		return 0;
	unmatched = tagframes_add(p, &t);
	skip_free(*skip);
	*skip = skip_new(p, &all);
	return ((unmatched & TAGFRAMES_NO_ROOT) != 0 ? 1u << FILTER_TAGROOT : 0) |
	       ((unmatched & TAGFRAMES_NO_LEAF) != 0 ? 1u << FILTER_TAGLEAF : 0);
}

int
report_view_print(const struct report_view *r, const struct loaded *l,
		  const struct report_how *how, struct err *e)
{
	struct skip *skip = skip_new(l->p, how->skip);
	bool lines = r->kind == VIEW_LIST || r->kind == VIEW_ANNOTATE;
	struct source *source = lines ? source_new(l->p) : NULL;
	struct term term;
	struct view_opts o = {
		.term = &term,
		.ascii = r->ascii || !report_locale_is_utf8(),
		.bytes = how->bytes,
		.all = how->all,
		.by_cum = r->by_cum,
		.relative = r->relative,
		.file = r->file,
		.rows = how->rows == 0 && how->about && !how->all ? REPORT_ROWS
								  : how->rows,
		.node_fraction = r->node_fraction,
		.edge_fraction = r->edge_fraction,
		.node_count =
			r->node_count > UINT32_MAX ? UINT32_MAX : (uint32_t)r->node_count,
		.re = r->re,
		.pattern = r->pattern,
		.source = source != NULL && !how->no_sources ? source_line : NULL,
		.source_ctx = source,
		.filters = &r->filters,
		.title = l->name};
	struct graph_query q;
	struct graph g = {0};
	struct buf out = {0};
	uint32_t unmatched = report_tag(r, l->p, &skip);
	int status;

	term_init(&term, STDOUT_FILENO);
	report_query(r, l, how, &q);
	q.skip = skip;
	status = value_check(l->p, &q, e);
	if (status == 0) {
		struct view v = {.p = l->p, .g = &g, .q = &q, .o = &o};

		if (r->flame != NULL || r->html != NULL) {
			status = report_pages(r, &v, e);
		} else {
			graph_init(&g, l->p, &q, NULL, NULL);
			g.unmatched |= unmatched;
			status = report_view_write(r, &out, &v, how, e);
		}
	}
	graph_done(&g);
	buf_done(&out);
	source_free(source);
	skip_free(skip);
	return status;
}
