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
	const char *given_option; /* the last of these; NULL = none */
	bool kind_given, grain_given, value_given;
	enum view_kind kind;
	enum graph_grain grain;
	enum prof_value value;
	bool objects, by_cum, relative, no_inlines, ascii;
	const char *pattern; /* of --peek and --list */
	const char *file;    /* of --annotate */
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

/* Rows for the option table, in whose struct a struct report_view is at the offset
 * `base`. pprof's spellings are understood beside ours. */
#define REPORT_VIEW_OPTS(base)                                                                     \
	REPORT_VIEW_ROW(base, "tree", NULL,                                                        \
			"Print the tree of calls, from main inwards."),                            \
		REPORT_VIEW_ROW(                                                                   \
			base, "bottom-up", NULL,                                                   \
			"Print the tree of callers, from the allocating function outwards."),      \
		REPORT_VIEW_ROW(                                                                   \
			base, "peek", "RE",                                                        \
			"Print callers and callees of functions that match RE."),                  \
		REPORT_VIEW_ROW(                                                                   \
			base, "list", "RE",                                                        \
			"Print the source of functions that match RE, with figures per "           \
			"line."),                                                                  \
		REPORT_VIEW_ROW(base, "annotate", "FILE",                                          \
				"Print the source file FILE with figures per line."),              \
		REPORT_VIEW_ROW(base, "traces", NULL, "Print every stack."),                       \
		REPORT_VIEW_ROW(base, "tags", NULL,                                                \
				"Print the memory of each label of the profile."),                 \
		REPORT_VIEW_ROW(base, "threads", NULL,                                             \
				"Print the live memory of each thread."),                          \
		REPORT_VIEW_ROW(base, "sizes", NULL,                                               \
				"Print a histogram of block sizes."),                              \
		REPORT_VIEW_ROW(base, "lifetimes", NULL,                                           \
				"Print a histogram of block lifetimes."),                          \
		REPORT_VIEW_ROW(base, "timeline", NULL,                                            \
				"Print the live memory over time."),                               \
		REPORT_VIEW_ROW(base, "graph", NULL,                                               \
				"Print the call graph in graphviz's dot language."),               \
		REPORT_VIEW_ROW(                                                                   \
			base, "svg", "OUT",                                                        \
			"Draw the call graph as SVG with graphviz, or with --timeline "            \
			"its plot."),                                                              \
		REPORT_VIEW_ROW(base, "pdf", "OUT", "Draw the call graph as PDF."),                \
		REPORT_VIEW_ROW(base, "ps", "OUT",                                                 \
				"Draw the call graph as PostScript."),                             \
		REPORT_VIEW_ROW(base, "png", "OUT", "Draw the call graph as PNG."),                \
		REPORT_VIEW_ROW(base, "gif", "OUT", "Draw the call graph as GIF."),                \
		{"flame",                                                                          \
		 0,                                                                                \
		 OPT_STRING,                                                                       \
		 .at = (base),                                                                     \
		 .set = report_set_page,                                                           \
		 .metavar = "OUT",                                                                 \
		 .help = "Write an interactive flame graph as one SVG file."},                     \
		{"html",                                                                           \
		 0,                                                                                \
		 OPT_STRING,                                                                       \
		 .at = (base),                                                                     \
		 .set = report_set_page,                                                           \
		 .metavar = "OUT",                                                                 \
		 .help = "Write one web page with table, flame graph, tree and source."},          \
		REPORT_GRAIN_ROW(base, "functions",                                                \
				 "Add up by function (the default)."),                             \
		REPORT_GRAIN_ROW(base, "filefunctions", "Add up by function and file."),           \
		REPORT_GRAIN_ROW(base, "lines", "Add up by source line."),                         \
		REPORT_GRAIN_ROW(base, "files", "Add up by source file."),                         \
		REPORT_GRAIN_ROW(base, "modules", "Add up by program and library."),               \
		REPORT_GRAIN_ROW(base, "addresses", "Add up by address."),                         \
		REPORT_SWITCH_ROW(base, "no-inlines",                                              \
				  "Count inlined functions as part of their callers."),            \
		{"sample-index",                                                                   \
		 0,                                                                                \
		 OPT_STRING,                                                                       \
		 .at = (base),                                                                     \
		 .set = report_set_value,                                                          \
		 .metavar = "WHAT",                                                                \
		 .help = "Count live, peak, allocated or temporary memory."},                      \
		{"sample_index", 0, OPT_STRING, .at = (base), .set = report_set_value},            \
		{"inuse_space", 0, OPT_NONE, .at = (base), .set = report_set_value},               \
		{"inuse_objects", 0, OPT_NONE, .at = (base), .set = report_set_value},             \
		{"alloc_space", 0, OPT_NONE, .at = (base), .set = report_set_value},               \
		{"alloc_objects", 0, OPT_NONE, .at = (base), .set = report_set_value},             \
		REPORT_SWITCH_ROW(base, "ascii", "Draw with ASCII characters only."),              \
		REPORT_SWITCH_ROW(base, "objects", "Count blocks instead of bytes."),              \
		REPORT_SWITCH_ROW(                                                                 \
			base, "cum",                                                               \
			"Rank by cumulative figures: a function and its callees."),                \
		REPORT_SWITCH_ROW(                                                                 \
			base, "relative",                                                          \
			"Print percentages of the filtered total instead of the whole."),          \
		REPORT_SWITCH_ROW(base, "relative_percentages", NULL),                             \
		REPORT_FILTER_ROW(base, "focus", "RE",                                             \
				  "Keep only stacks with a frame that matches RE."),               \
		REPORT_FILTER_ROW(base, "ignore", "RE",                                            \
				  "Remove stacks with a frame that matches RE."),                  \
		REPORT_FILTER_ROW(base, "hide", "RE", "Remove frames that match RE."),             \
		REPORT_FILTER_ROW(base, "show", "RE",                                              \
				  "Keep only frames that match RE."),                              \
		REPORT_FILTER_ROW(                                                                 \
			base, "show-from", "RE",                                                   \
			"Remove the callers of the outermost frame that matches RE."),             \
		REPORT_FILTER_ROW(base, "show_from", "RE", NULL),                                  \
		REPORT_FILTER_ROW(                                                                 \
			base, "prune-from", "RE",                                                  \
			"Remove the callees of the innermost frame that matches RE."),             \
		REPORT_FILTER_ROW(base, "prune_from", "RE", NULL),                                 \
		REPORT_FILTER_ROW(base, "tagfocus", "TAG",                                         \
				  "Keep only stacks with the label TAG."),                         \
		REPORT_FILTER_ROW(base, "tagignore", "TAG",                                        \
				  "Remove stacks with the label TAG."),                            \
		REPORT_FILTER_ROW(base, "tagshow", "RE",                                           \
				  "Keep only labels that match RE."),                              \
		REPORT_FILTER_ROW(base, "taghide", "RE",                                           \
				  "Remove labels that match RE."),                                 \
		REPORT_FILTER_ROW(base, "tagroot", "KEYS",                                         \
				  "Add the labels KEYS to stacks as outermost frames."),           \
		REPORT_FILTER_ROW(base, "tagleaf", "KEYS",                                         \
				  "Add the labels KEYS to stacks as innermost frames."),           \
		REPORT_FILTER_ROW(base, "thread", "NAME|TID",                                      \
				  "Keep only blocks that this thread allocated."),                 \
		REPORT_FILTER_ROW(                                                                 \
			base, "size", "RANGE",                                                     \
			"Keep only blocks in this range of sizes, such as 1K:64K."),               \
		REPORT_FILTER_ROW(                                                                 \
			base, "age", "RANGE",                                                      \
			"Keep only blocks in this range of ages, such as 10s:5m."),                \
		{"nodecount",                                                                      \
		 0,                                                                                \
		 OPT_U64,                                                                          \
		 .at = (base),                                                                     \
		 .set = report_set_trim,                                                           \
		 .metavar = "N",                                                                   \
		 .help = "Draw at most N nodes of a graph (80)."},                                 \
		{"nodefraction",                                                                   \
		 0,                                                                                \
		 OPT_FLOAT,                                                                        \
		 .at = (base),                                                                     \
		 .set = report_set_trim,                                                           \
		 .metavar = "F",                                                                   \
		 .help = "Drop nodes of a tree or graph below the fraction F of the total "        \
			 "(0.005)."},                                                              \
	{                                                                                          \
		"edgefraction", 0, OPT_FLOAT,                                                      \
			.at = (base), .set = report_set_trim, .metavar = "F",                      \
			.help = "Drop edges of a graph below the fraction F of the total (0.001)." \
	}

/* How the other options of the command shape a view. */
struct report_how {
	const bool *chosen; /* processes */
	struct sites_point point;
	const struct skip_opts *skip;
	bool bytes, all, json, no_pager;
	bool no_sources; /* show no lines of source */
	/* say what the profile is first: nothing was asked for in particular */
	bool about;
	uint32_t rows;
};

/* Compiles the expressions; a message is for usage errors. Call it before anything is
 * loaded. */
int report_view_prepare(struct report_view *v, struct err *e);

/* Makes the view and prints it, or writes the picture. The profile has its names. */
int report_view_print(const struct report_view *v, const struct loaded *l,
		      const struct report_how *how, struct err *e);
void report_view_done(struct report_view *v);

#endif
