/* SPDX-License-Identifier: MIT */
/* view.c -- the table of views, their first line, and how they write figures and
 * names. */
#include "tool/render/views/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tool/analyze/sites/value.h"
#include "tool/render/report/report.h"
#include "tool/render/views/view_impl.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

#define VIEW_MINUS "\xe2\x88\x92"
#define VIEW_CUT "\xe2\x80\xa6"
#define VIEW_LEAST_ERROR 0.0005

enum {
	VIEW_NAMELESS = 5, /* modules without names that are told of */
	VIEW_BAR = 30,	   /* columns of the longest bar */
};

const char *const view_names[VIEW_KINDS] = {
	[VIEW_TOP] = "top",
	[VIEW_TREE] = "tree",
	[VIEW_BOTTOM_UP] = "bottom_up",
	[VIEW_PEEK] = "peek",
	[VIEW_LIST] = "list",
	[VIEW_ANNOTATE] = "annotate",
	[VIEW_TRACES] = "traces",
	[VIEW_TAGS] = "tags",
	[VIEW_THREADS] = "threads",
	[VIEW_SIZES] = "sizes",
	[VIEW_LIFETIMES] = "lifetimes",
	[VIEW_TIMELINE] = "timeline",
	[VIEW_GRAPH] = "graph",
};

static const struct {
	uint32_t (*text)(struct buf *out, const struct view *v);
	uint32_t (*json)(struct json *j, const struct view *v);
} views[VIEW_KINDS] = {
	[VIEW_TOP] = {view_top, view_top_json},
	[VIEW_TREE] = {view_tree, view_tree_json},
	[VIEW_BOTTOM_UP] = {view_bottom_up, view_bottom_up_json},
	[VIEW_PEEK] = {view_peek, view_peek_json},
	[VIEW_LIST] = {view_list, view_list_json},
	[VIEW_ANNOTATE] = {view_list, view_list_json},
	[VIEW_TRACES] = {view_traces, view_traces_json},
	[VIEW_TAGS] = {view_tags, view_tags_json},
	[VIEW_THREADS] = {view_threads, view_threads_json},
	[VIEW_SIZES] = {view_sizes, view_sizes_json},
	[VIEW_LIFETIMES] = {view_lifetimes, view_lifetimes_json},
	[VIEW_TIMELINE] = {view_timeline, view_timeline_json},
	[VIEW_GRAPH] = {view_graph, view_graph_json},
};

/* ---- figures ---- */

struct figure_str
view_amount(const struct view *v, double x, double var)
{
	const char *sign = x < 0 && llround(x) != 0 ? VIEW_MINUS : "";
	int64_t n = llround(x < 0 ? -x : x);
	struct figure_str f, plain;
	long long error;

	if (figure_sqrt(var) < VIEW_LEAST_ERROR * (double)n)
		var = 0; /* would be written as 0.000 */
	error = llround(figure_sqrt(var));
	if (v->o->bytes && error > 0)
		snprintf(plain.s, sizeof plain.s, "%" PRId64 " \xc2\xb1 %lld", n, error);
	else if (v->o->bytes)
		snprintf(plain.s, sizeof plain.s, "%" PRId64, n);
	else if (v->g->in_bytes)
		plain = figure_bytes(n, var, false);
	else
		plain = figure_count(n, var);
	/* Whole numbers are for programs: a minus that they can read. */
	snprintf(f.s, sizeof f.s, "%s%.100s", v->o->bytes && sign[0] != '\0' ? "-" : sign,
		 plain.s);
	return f;
}

void
view_bar(struct buf *out, double x, double most, bool ascii)
{
	int n = most > 0 && x > 0 ? (int)ceil(x / most * VIEW_BAR) : 0;

	while (n-- > 0)
		buf_add_str(out, ascii ? "#" : "\xe2\x96\x88");
}

double
view_whole(const struct view *v)
{
	return v->o->relative ? v->g->total : v->g->magnitude;
}

struct figure_str
view_share_of(double x, double whole)
{
	struct figure_str f;

	snprintf(f.s, sizeof f.s, "%s%s", x < 0 && llround(x) != 0 ? VIEW_MINUS : "",
		 fmt_percent((uint64_t)llround(fabs(x)), (uint64_t)llround(fabs(whole)))
			 .s);
	return f;
}

struct figure_str
view_share(const struct view *v, double x)
{
	return view_share_of(x, view_whole(v));
}

bool
view_is_small(const struct view *v, double x, double usual_fraction)
{
	double least = v->o->node_fraction >= 0 ? v->o->node_fraction : usual_fraction;

	if (v->o->all)
		return false;
	return fabs(x) < least * fabs(view_whole(v));
}

uint32_t
view_limit(const struct view *v, uint32_t n)
{
	uint32_t max = UINT32_MAX;

	if (v->o->rows > 0)
		max = v->o->rows;
	else if (!v->o->all && v->o->term != NULL && v->o->term->tty)
		max = VIEW_ROWS;
	return n < max ? n : max;
}

/* ---- text ---- */

/* Columns left on the line that begins at `from`; SIZE_MAX when there is no limit. */
static size_t
view_room(const struct view *v, const struct buf *out, size_t from)
{
	unsigned columns = v->o->term != NULL ? v->o->term->columns : 0;
	size_t used = figure_width(buf_str(out) + from);

	if (columns < 40)
		return SIZE_MAX;
	return used + 20 < columns ? columns - used : 20;
}

/* Appends as much of the text as `room` columns take. */
static void
view_cut(struct buf *out, const char *s, size_t room)
{
	size_t at = 0;

	if (figure_width(s) <= room) {
		buf_add_str(out, s);
		return;
	}
	for (size_t n = 0; s[at] != '\0' && n + 1 < room; n++) {
		do
			at++;
		while (((unsigned char)s[at] & 0xc0) == 0x80);
	}
	buf_add(out, s, at);
	buf_add_str(out, VIEW_CUT);
}

void
view_words(const struct view *v, struct buf *out, size_t from, const char *text)
{
	size_t room = view_room(v, out, from);
	struct buf whole = {0};

	clean_text(&whole, text);
	view_cut(out, buf_str(&whole), room);
	buf_done(&whole);
}

void
view_name(const struct view *v, struct buf *out, size_t from, uint32_t entry)
{
	size_t room = view_room(v, out, from);
	struct buf text = {0}, shown = {0};

	graph_entry_text(v->g, &v->g->entries[entry], &text);
	figure_function(&shown, buf_str(&text), room);
	if (v->o->term != NULL)
		buf_add_str(out, term_on(v->o->term, TERM_NAME));
	view_cut(out, buf_str(&shown), room);
	if (v->o->term != NULL)
		buf_add_str(out, term_off(v->o->term));
	buf_done(&text);
	buf_done(&shown);
}

void
view_more(const struct view *v, struct buf *out, uint64_t n, const char *what,
	  double value)
{
	if (n == 0)
		return;
	buf_printf(out, "# %s more %s%s, %s (--all)\n", fmt_count(n).s, what,
		   n == 1 ? "" : "s", view_amount(v, value, 0).s);
}

const char *
view_grain_word(const struct view *v)
{
	static const char *const words[] = {
		[GRAPH_FUNCTIONS] = "function", [GRAPH_FILEFUNCTIONS] = "function",
		[GRAPH_FILES] = "file",		[GRAPH_LINES] = "line",
		[GRAPH_ADDRESSES] = "address",	[GRAPH_MODULES] = "module",
	};

	return words[v->g->grain];
}

bool
view_matches(const struct view *v, uint32_t entry)
{
	const struct graph_entry *x = &v->g->entries[entry];
	struct buf b = {0};
	bool met;

	graph_entry_text(v->g, x, &b);
	met = re_matches(v->o->re, buf_str(&b)) ||
	      (x->file != 0 && re_matches(v->o->re, graph_text(v->g, x->file))) ||
	      (x->linkage != 0 && re_matches(v->o->re, graph_text(v->g, x->linkage)));
	buf_done(&b);
	return met;
}

static const char *
view_value_word(const struct view *v)
{
	static const char *const words[PROF_VALUES] = {
		[PROF_LIVE] = "live",
		[PROF_PEAK] = "at the peak",
		[PROF_ALLOCATED] = "allocated",
		[PROF_TEMPORARY] = "temporary",
	};

	if (v->q->value != PROF_LIVE)
		return words[v->q->value];
	switch (v->q->point.at) {
	case SITES_AT_PEAK:
		return "at the peak";
	case SITES_AT_EXIT:
		return "at exit";
	case SITES_AT_MARK:
		return "at the mark";
	default:
		return words[PROF_LIVE];
	}
}

static void
view_filters(const struct view *v, struct buf *out)
{
	for (unsigned i = 0; v->o->filters != NULL && i < FILTER_OPTIONS; i++) {
		if (v->o->filters->of[i] == NULL || v->o->filters->of[i][0] == '\0')
			continue;
		buf_printf(out, VIEW_SEP "%s=", filter_names[i]);
		clean_text(out, v->o->filters->of[i]);
	}
}

/* The first line, and what can be said against the filters. */
static void
view_head(const struct view *v, struct buf *out)
{
	const struct graph *g = v->g;
	const struct term *t = v->o->term;

	buf_printf(out, "%s%s%s  %s", t != NULL ? term_on(t, TERM_BOLD) : "",
		   view_value_word(v), t != NULL ? term_off(t) : "",
		   view_amount(v, g->total, g->var_total).s);
	if (!g->in_bytes)
		buf_add_str(out, llround(g->total) == 1 ? " block" : " blocks");
	else if (v->o->bytes)
		buf_add_str(out, " bytes");
	if (g->total != g->unfiltered)
		buf_printf(out, " of %s (%s)", view_amount(v, g->unfiltered, 0).s,
			   view_share_of(g->total, g->unfiltered).s);
	buf_printf(out, " in %s", fmt_count(g->stacks).s);
	if (g->stacks != g->stacks_seen)
		buf_printf(out, " of %s", fmt_count(g->stacks_seen).s);
	buf_printf(out, " stack%s", g->stacks_seen == 1 ? "" : "s");
	if (v->q->point.at == SITES_AT_MARK) {
		buf_add_str(out, VIEW_SEP "mark ");
		clean_text(out, v->q->point.mark);
	}
	view_filters(v, out);
	buf_add_char(out, '\n');
	for (unsigned i = 0; v->o->filters != NULL && i < FILTER_OPTIONS; i++) {
		if ((g->unmatched >> i & 1) == 0)
			continue;
		buf_printf(out, "# --%s ", filter_names[i]);
		clean_text(out, v->o->filters->of[i]);
		buf_add_str(out, " matched nothing\n");
	}
}

/* Why there are addresses in place of names. */
static void
view_nameless(const struct view *v, struct buf *out)
{
	const struct prof *p = v->p;
	bool *met = xcalloc(strtab_count(v->g->strings), sizeof *met);
	unsigned told = 0;
	uint32_t id;

	for (uint32_t i = 1; i < v->g->nentries; i++) {
		if (v->g->entries[i].no_name)
			met[v->g->entries[i].module] = true;
	}
	for (uint32_t i = 1; i < p->nmodules && told < VIEW_NAMELESS; i++) {
		const char *path = prof_text(p, p->modules[i].path);

		if (p->modules[i].why_no_names == 0 ||
		    !strtab_find(v->g->strings, path, strlen(path), &id) || !met[id])
			continue;
		buf_add_str(out, "# no names in ");
		clean_text(out, file_base(path));
		buf_add_str(out, ": ");
		clean_text(out, prof_text(p, p->modules[i].why_no_names));
		buf_add_char(out, '\n');
		told++;
	}
	free(met);
}

uint32_t
view_text(struct buf *out, enum view_kind kind, const struct view *v)
{
	size_t from = out->len;
	uint32_t met;

	if (kind != VIEW_GRAPH)
		view_head(v, out);
	met = views[kind].text(out, v);
	if (kind != VIEW_GRAPH && v->g->grain != GRAPH_FILES &&
	    v->g->grain != GRAPH_MODULES)
		view_nameless(v, out);
	if (v->o->ascii && kind != VIEW_GRAPH)
		figure_to_ascii(out, from);
	return met;
}

/* ---- JSON ---- */

void
view_key_number(struct json *j, const char *key, double x)
{
	json_key(j, key);
	if (x == floor(x) && fabs(x) < 9007199254740992.0)
		json_i64(j, (int64_t)x);
	else
		json_f64(j, x);
}

void
view_key_str(struct json *j, const char *key, const char *s)
{
	json_member_str(j, key, s);
}

void
view_key_error(const struct view *v, struct json *j, const char *key, double var)
{
	if (!v->g->sampled)
		return;
	json_member_f64(j, key, figure_sqrt(var));
}

void
view_entry_members(const struct view *v, struct json *j, uint32_t entry)
{
	const struct graph_entry *x = &v->g->entries[entry];
	struct buf b = {0};

	graph_entry_text(v->g, x, &b);
	view_key_str(j, "name", buf_str(&b));
	buf_done(&b);
	if (x->function != 0 && !x->no_name)
		view_key_str(j, "function", graph_text(v->g, x->function));
	if (x->linkage != 0)
		view_key_str(j, "full_name", graph_text(v->g, x->linkage));
	if (x->file != 0)
		view_key_str(j, "file", graph_text(v->g, x->file));
	if (x->line != 0)
		view_key_number(j, "line", x->line);
	if (x->module != 0)
		view_key_str(j, "module", graph_text(v->g, x->module));
	if (x->address != 0)
		view_key_number(j, "address", (double)x->address);
	if (x->inlined) {
		json_member_bool(j, "inlined", true);
	}
}

void
view_entry_figures(const struct view *v, struct json *j, uint32_t entry)
{
	const struct graph_entry *x = &v->g->entries[entry];

	view_key_number(j, "flat", x->flat);
	view_key_number(j, "cum", x->cum);
	view_key_error(v, j, "flat_error", x->var_flat);
	view_key_error(v, j, "cum_error", x->var_cum);
}

void
view_json_entries(const struct view *v, struct json *j)
{
	json_member_arr(j, "entries");
	for (uint32_t i = 1; i < v->g->nentries; i++) {
		json_obj(j);
		view_entry_members(v, j, i);
		view_entry_figures(v, j, i);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
view_json_head(const struct view *v, struct json *j, enum view_kind kind)
{
	const struct graph *g = v->g;

	view_key_number(j, "seep_json", JSON_SCHEMA);
	view_key_str(j, "view", view_names[kind]);
	view_key_str(j, "format",
		     v->p->format != 0 ? prof_text(v->p, v->p->format) : "seep");
	view_key_str(j, "value", value_names[v->q->value]);
	view_key_str(j, "unit", g->in_bytes ? "bytes" : "blocks");
	view_key_str(j, "by", view_grain_word(v));
	view_key_number(j, "total", g->total);
	view_key_error(v, j, "total_error", g->var_total);
	view_key_number(j, "unfiltered_total", g->unfiltered);
	view_key_number(j, "stacks", (double)g->stacks);
	json_member_obj(j, "filters");
	for (unsigned i = 0; v->o->filters != NULL && i < FILTER_OPTIONS; i++) {
		if (v->o->filters->of[i] != NULL)
			view_key_str(j, filter_names[i], v->o->filters->of[i]);
	}
	json_obj_end(j);
	json_member_arr(j, "unmatched");
	for (unsigned i = 0; i < FILTER_OPTIONS; i++) {
		if ((g->unmatched >> i & 1) != 0)
			json_str(j, filter_names[i]);
	}
	json_arr_end(j);
}

uint32_t
view_json(struct buf *out, enum view_kind kind, const struct view *v)
{
	struct json j;
	uint32_t met;

	json_init(&j, out);
	json_obj(&j);
	view_json_head(v, &j, kind);
	met = views[kind].json(&j, v);
	json_obj_end(&j);
	buf_add_char(out, '\n');
	return met;
}
