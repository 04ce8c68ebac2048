/* SPDX-License-Identifier: MIT */
/* report_view.h -- the views of `seep report`: from options to what is printed. */
#ifndef SEEP_CLI_REPORT_VIEW_H
#define SEEP_CLI_REPORT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/render/views/view.h"
#include "tool/session/load.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

/* What the options said. */
struct report_view {
	struct graph_filter *filter; /* report_view_prepare compiles these */
	struct re *re;
	bool given; /* a view was asked for, or something that only views have */
	bool kind_given, grain_given, value_given;
	enum view_kind kind;
	enum graph_grain grain;
	enum graph_value value;
	bool objects, by_cum, relative, no_inlines;
	const char *pattern; /* of --peek and --list */
	const char *picture; /* "svg" …: type of picture, NULL = none */
	const char *picture_path;
	const char *flame, *html; /* files to write; NULL = none */
	struct filter_opts filters;
	uint64_t node_count;
	double node_fraction, edge_fraction; /* < 0 = not given */
};

/* Setters of the rows below; `to` is the struct report_view. */
int report_set_view(void *to, const struct opt *o, const struct opt_value *v,
		    struct err *e);
int report_set_page(void *to, const struct opt *o, const struct opt_value *v,
		    struct err *e);
int report_set_grain(void *to, const struct opt *o, const struct opt_value *v,
		     struct err *e);
int report_set_value(void *to, const struct opt *o, const struct opt_value *v,
		     struct err *e);
int report_set_filter(void *to, const struct opt *o, const struct opt_value *v,
		      struct err *e);
int report_set_switch(void *to, const struct opt *o, const struct opt_value *v,
		      struct err *e);
int report_set_trim(void *to, const struct opt *o, const struct opt_value *v,
		    struct err *e);

#define REPORT_VIEW_ROW(base, name_, metavar_, help_)                                    \
	{                                                                                \
		name_, 0, (metavar_) != NULL ? OPT_STRING : OPT_NONE,                    \
			.at = (base), .set = report_set_view, .metavar = (metavar_),     \
			.help = (help_)                                                  \
	}
#define REPORT_GRAIN_ROW(base, name_, help_)                                             \
	{                                                                                \
		name_, 0, OPT_NONE, .at = (base), .set = report_set_grain,               \
				    .help = (help_)                                      \
	}
#define REPORT_FILTER_ROW(base, name_, metavar_, help_)                                  \
	{                                                                                \
		name_, 0, OPT_STRING, .at = (base), .set = report_set_filter,            \
				      .metavar = (metavar_), .help = (help_)             \
	}
#define REPORT_SWITCH_ROW(base, name_, help_)                                            \
	{                                                                                \
		name_, 0, OPT_NONE, .at = (base), .set = report_set_switch,              \
				    .help = (help_)                                      \
	}

/* Rows for the option table, in whose struct a struct report_view is at the offset `base`. pprof's spellings are understood beside ours. */
#define REPORT_VIEW_OPTS(base)                                                           \
	REPORT_VIEW_ROW(base, "tree", NULL, "Show calls as a tree, outermost first."),   \
		REPORT_VIEW_ROW(base, "bottom-up", NULL,                                 \
				"Show what allocates, and who called it."),              \
		REPORT_VIEW_ROW(base, "peek", "RE",                                      \
				"Show callers and callees of functions like RE."),       \
		REPORT_VIEW_ROW(base, "list", "RE",                                      \
				"Show the source of functions like RE with figures."),   \
		REPORT_VIEW_ROW(base, "traces", NULL, "Show every stack."),              \
		REPORT_VIEW_ROW(base, "tags", NULL, "Show labels and what they hold."),  \
		REPORT_VIEW_ROW(base, "threads", NULL, "Show what each thread holds."),  \
		REPORT_VIEW_ROW(base, "sizes", NULL, "Show how large the blocks are."),  \
		REPORT_VIEW_ROW(base, "lifetimes", NULL, "Show how long blocks lived."), \
		REPORT_VIEW_ROW(base, "timeline", NULL,                                  \
				"Show what was held, and when."),                        \
		REPORT_VIEW_ROW(base, "graph", NULL, "Print the call graph for dot."),   \
		REPORT_VIEW_ROW(base, "svg", "OUT", "Draw it with graphviz."),           \
		REPORT_VIEW_ROW(base, "pdf", "OUT", "The same as PDF."),                 \
		REPORT_VIEW_ROW(base, "ps", "OUT", "The same as PostScript."),           \
		REPORT_VIEW_ROW(base, "png", "OUT", "The same as PNG."),                 \
		REPORT_VIEW_ROW(base, "gif", "OUT", "The same as GIF."),                 \
		{"flame",                                                                \
		 0,                                                                      \
		 OPT_STRING,                                                             \
		 .at = (base),                                                           \
		 .set = report_set_page,                                                 \
		 .metavar = "OUT",                                                       \
		 .help = "Write a flame graph, one interactive SVG file."},              \
		{"html",                                                                 \
		 0,                                                                      \
		 OPT_STRING,                                                             \
		 .at = (base),                                                           \
		 .set = report_set_page,                                                 \
		 .metavar = "OUT",                                                       \
		 .help = "Write one page: table, flame graph, tree, source."},           \
		REPORT_GRAIN_ROW(base, "functions", "Count by function (the usual)."),   \
		REPORT_GRAIN_ROW(base, "filefunctions", "Count by function and file."),  \
		REPORT_GRAIN_ROW(base, "lines", "Count by source line."),                \
		REPORT_GRAIN_ROW(base, "files", "Count by source file."),                \
		REPORT_GRAIN_ROW(base, "modules", "Count by program and library."),      \
		REPORT_GRAIN_ROW(base, "addresses", "Count by address."),                \
		REPORT_SWITCH_ROW(base, "no-inlines",                                    \
				  "Count inlined code in its caller."),                  \
		{"sample-index",                                                         \
		 0,                                                                      \
		 OPT_STRING,                                                             \
		 .at = (base),                                                           \
		 .set = report_set_value,                                                \
		 .metavar = "WHAT",                                                      \
		 .help = "Count live, peak, allocated or temporary memory."},            \
		{"sample_index", 0, OPT_STRING, .at = (base), .set = report_set_value},  \
		{"inuse_space", 0, OPT_NONE, .at = (base), .set = report_set_value},     \
		{"inuse_objects", 0, OPT_NONE, .at = (base), .set = report_set_value},   \
		{"alloc_space", 0, OPT_NONE, .at = (base), .set = report_set_value},     \
		{"alloc_objects", 0, OPT_NONE, .at = (base), .set = report_set_value},   \
		REPORT_SWITCH_ROW(base, "objects", "Count blocks instead of bytes."),    \
		REPORT_SWITCH_ROW(base, "cum", "Rank by what callees allocated too."),   \
		REPORT_SWITCH_ROW(base, "relative",                                      \
				  "Give shares of what passed the filters."),            \
		REPORT_SWITCH_ROW(base, "relative_percentages", NULL),                   \
		REPORT_FILTER_ROW(base, "focus", "RE",                                   \
				  "Only stacks with a frame like RE."),                  \
		REPORT_FILTER_ROW(base, "ignore", "RE",                                  \
				  "No stacks with a frame like RE."),                    \
		REPORT_FILTER_ROW(base, "hide", "RE", "Leave out frames like RE."),      \
		REPORT_FILTER_ROW(base, "show", "RE", "Leave out all other frames."),    \
		REPORT_FILTER_ROW(base, "show-from", "RE",                               \
				  "Leave out callers of the outermost frame like RE."),  \
		REPORT_FILTER_ROW(base, "show_from", "RE", NULL),                        \
		REPORT_FILTER_ROW(base, "prune-from", "RE",                              \
				  "Leave out what the innermost frame like RE calls."),  \
		REPORT_FILTER_ROW(base, "prune_from", "RE", NULL),                       \
		REPORT_FILTER_ROW(base, "tagfocus", "TAG",                               \
				  "Only stacks with this label."),                       \
		REPORT_FILTER_ROW(base, "tagignore", "TAG",                              \
				  "No stacks with this label."),                         \
		REPORT_FILTER_ROW(base, "tagshow", "RE", "Show only labels like RE."),   \
		REPORT_FILTER_ROW(base, "taghide", "RE", "Do not show labels like RE."), \
		REPORT_FILTER_ROW(base, "tagroot", "KEYS",                               \
				  "Make labels of these names callers of stacks."),      \
		REPORT_FILTER_ROW(base, "tagleaf", "KEYS",                               \
				  "Make labels of these names callees of stacks."),      \
		REPORT_FILTER_ROW(base, "thread", "NAME|TID",                            \
				  "Only blocks of these threads."),                      \
		REPORT_FILTER_ROW(base, "size", "RANGE",                                 \
				  "Only blocks of 1K:64K bytes."),                       \
		REPORT_FILTER_ROW(base, "age", "RANGE", "Only blocks 10s:5m old."),      \
		{"nodecount",                                                            \
		 0,                                                                      \
		 OPT_U64,                                                                \
		 .at = (base),                                                           \
		 .set = report_set_trim,                                                 \
		 .metavar = "N",                                                         \
		 .help = "Draw at most N nodes of a graph (80)."},                       \
		{"nodefraction",                                                         \
		 0,                                                                      \
		 OPT_FLOAT,                                                              \
		 .at = (base),                                                           \
		 .set = report_set_trim,                                                 \
		 .metavar = "F",                                                         \
		 .help = "Leave out parts of a tree or graph below F (0.005)."},         \
	{                                                                                \
		"edgefraction", 0, OPT_FLOAT,                                            \
			.at = (base), .set = report_set_trim, .metavar = "F",            \
			.help = "Leave out edges of a graph below F (0.001)."            \
	}

/* How the other options of the command shape a view. */
struct report_how {
	const bool *chosen; /* processes */
	struct sites_point point;
	const struct skip_opts *skip;
	bool bytes, all, json, no_pager;
	bool no_sources; /* show no lines of source */
	bool about; /* say what the profile is first: nothing was asked for in particular */
	uint32_t rows;
};

/* Compiles the expressions; a message is for usage errors. Call it before anything is loaded. */
int report_view_prepare(struct report_view *v, struct err *e);

/* Makes the view and prints it, or writes the picture. The profile has its names. */
int report_view_print(const struct report_view *v, const struct loaded *l,
		      const struct report_how *how, struct err *e);
void report_view_done(struct report_view *v);

#endif
