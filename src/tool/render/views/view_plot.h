/* SPDX-License-Identifier: MIT */
/* view_plot.h -- live bytes of the largest places over time: for a terminal, as SVG, and
 * in JSON. */
#ifndef SEEP_RENDER_VIEW_PLOT_H
#define SEEP_RENDER_VIEW_PLOT_H

#include <stdbool.h>

#include "tool/analyze/sites/overtime.h"
#include "tool/render/views/view_impl.h"

enum {
	PLOT_LAYERS = 5, /* places that are drawn by themselves */
	PLOT_JSON_ROWS = 100,
};

/* What there is to plot. Its own graph has all that was ever allocated, line by line
 * unless another grain was asked for. */
struct plot {
	struct graph g;
	struct graph_query q;
	struct view v;
	struct overtime o;
	/* What is drawn: the first rows, and the others together as layer number
	 * `layers`. */
	uint32_t layers;
	bool rest;	 /* there are others */
	int64_t *others; /* what they had */
	int64_t *rss_bytes;
	bool has_rss, rss; /* some of it is known; and it fits on the scale */
	int64_t top;	   /* of the scale, at least 1 */
};

void plot_init(struct plot *ret, const struct view *v);
void plot_done(struct plot *pl);
bool plot_has_points(const struct plot *pl);

/* Height of a layer; nothing where it is not known. And of all. */
int64_t plot_figure(const struct plot *pl, uint32_t layer, uint32_t point);
int64_t plot_sum(const struct plot *pl, uint32_t point);

/* Bytes as the user wants them. */
struct fmt_str plot_amount(const struct plot *pl, int64_t bytes);

/* Marks of the chosen processes, in the order of time on the axis. Returns how many; the
 * caller frees *ret. */
struct plot_mark {
	uint64_t ms;
	const struct prof_mark *m;
};

uint32_t plot_marks(const struct plot *pl, struct plot_mark **ret);

/* Appends a plot, as wide as the terminal or 80 columns. False: there are no points. As
 * an SVG file: plot_svg in view.h. */
bool plot_text(struct buf *out, const struct view *v);

/* "series": points, rows and marks, as a member of an open object. */
void plot_json(struct json *j, const struct view *v);

#endif
