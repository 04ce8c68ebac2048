/* SPDX-License-Identifier: MIT */
/* pages.h -- the files of --flame and --html: a profile, or the difference of two, for a
 * browser. */
#ifndef SEEP_RENDER_PAGES_H
#define SEEP_RENDER_PAGES_H

#include <stdbool.h>

#include "tool/analyze/graph/graph.h"
#include "tool/util/buf.h"

/* One or both of them; "-" is standard output. */
struct pages {
	const char *flame, *html; /* NULL = not asked for */
	const char *title;
	const char *notes; /* a line for the foot: what was lost; NULL or "" = none */
	bool callers;	 /* the flame graph is merged from the innermost frame outwards */
	bool one_figure; /* the page has the figure asked for only, else all there are */
};

/* Appends the flame graph of p, which has its names, to `out`. `base` and `base_q` as for
 * graph_init. */
void pages_flame(struct buf *out, const struct pages *pg, const struct prof *p,
		 const struct graph_query *q, const struct prof *base,
		 const struct graph_query *base_q);

/* The same for the page. */
void pages_html(struct buf *out, const struct pages *pg, const struct prof *p,
		const struct graph_query *q, const struct prof *base,
		const struct graph_query *base_q);

#endif
