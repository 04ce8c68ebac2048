/* SPDX-License-Identifier: MIT */
/* view.h -- the views of `seep report`: one aggregate, drawn in many ways.
 *
 * Each view is one row of a table: how it is written for people, and how as JSON
 * (docs/json.md). Text begins with one line that says what is counted and how much of it
 * is shown; lines that begin with # are remarks. On a terminal names are cut to its width
 * and small rows are left out, with a line that says so; in a pipe nothing ever is but
 * where a limit was asked for. Nothing is printed, read or looked up here: text goes to a
 * buffer, source lines come from the caller. */
#ifndef SEEP_RENDER_VIEW_H
#define SEEP_RENDER_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

struct re;

enum view_kind {
	VIEW_TOP = 0,	/* a row for each entry: flat, cum */
	VIEW_TREE,	/* from the outermost frame inwards */
	VIEW_BOTTOM_UP, /* from what allocates outwards */
	VIEW_PEEK,	/* callers and callees of what matches */
	VIEW_LIST,	/* source with figures beside the lines */
	VIEW_ANNOTATE,	/* the same of whole files */
	VIEW_TRACES,	/* every stack */
	VIEW_TAGS,	/* labels */
	VIEW_THREADS,
	VIEW_SIZES,
	VIEW_LIFETIMES, /* how long blocks lived */
	VIEW_TIMELINE,	/* what was held, and when */
	VIEW_GRAPH,	/* for graphviz's dot */
	VIEW_KINDS,
};

enum {
	VIEW_ROWS = 50,	      /* of a table on a terminal */
	VIEW_NODE_COUNT = 80, /* of a graph, as pprof has it */
	VIEW_CONTEXT = 5,     /* source lines before and after those with figures */
};

/* Text of a source line with its indentation, or NULL. Borrowed until the next call. */
typedef const char *view_source(void *ctx, const char *file, uint32_t line);

struct view_opts {
	const struct term *term; /* colours and width; NULL = plain */
	bool ascii;		 /* the locale is not UTF-8 */
	bool bytes;		 /* whole numbers */
	bool all;		 /* leave nothing out */
	bool by_cum;		 /* rank by cum */
	bool relative; /* shares of what passed the filters, not of everything */
	uint32_t rows; /* at most; 0 = as suits */
	/* of a tree or graph: smaller ones are left out; < 0 = as suits */
	double node_fraction;
	double edge_fraction;
	uint32_t node_count; /* of a graph; 0 = VIEW_NODE_COUNT */
	const struct re *re; /* of VIEW_PEEK and VIEW_LIST */
	const char *file;    /* of VIEW_ANNOTATE: the path, or its last parts */
	const char *pattern; /* the same as text */
	view_source *source; /* NULL = there is none */
	void *source_ctx;
	const struct filter_opts *filters; /* as given, for the first line; NULL = none */
	const char *title;		   /* of a graph; NULL = none */
};

/* What is shown: `q` made `g` from `p`. VIEW_LIST and VIEW_TRACES need GRAPH_LINES,
 * VIEW_PEEK and VIEW_GRAPH need edges. */
struct view {
	const struct prof *p;
	const struct graph *g;
	const struct graph_query *q;
	const struct view_opts *o;
};

extern const char *const view_names[VIEW_KINDS]; /* "top" …, as in JSON */

/* Appends a line about a profile of another tool: format, when it was taken, how it was
 * sampled, and the sums that it has; and its remarks. */
void view_about(struct buf *out, const struct view *v);

/* Appends the view. The number of rows that matched `re`, where there is one, else 1: 0
 * is for the caller to report. */
uint32_t view_text(struct buf *out, enum view_kind kind, const struct view *v);
uint32_t view_json(struct buf *out, enum view_kind kind, const struct view *v);

/* The plot of VIEW_TIMELINE as an SVG file. False: there is nothing to plot. */
bool plot_svg(struct buf *out, const struct view *v);

#endif
