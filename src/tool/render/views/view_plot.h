/* SPDX-License-Identifier: MIT */
/* view_plot.h -- live bytes of places over time. */
#ifndef SEEP_RENDER_VIEW_PLOT_H
#define SEEP_RENDER_VIEW_PLOT_H

#include "tool/analyze/sites/overtime.h"
#include "tool/render/views/view_impl.h"

enum { PLOT_JSON_ROWS = 100 };

/* What there is to plot. Its own graph has all that was ever allocated, line by line
 * unless another grain was asked for. */
struct plot {
	struct graph g;
	struct graph_query q;
	struct view v;
	struct overtime o;
};

void plot_init(struct plot *ret, const struct view *v);
void plot_done(struct plot *pl);

/* Marks of the chosen processes, in the order of time on the axis. Returns how many; the
 * caller frees *ret. */
struct plot_mark {
	uint64_t ms;
	const struct prof_mark *m;
};

uint32_t plot_marks(const struct plot *pl, struct plot_mark **ret);

/* "series": points, rows and marks, as a member of an open object. */
void plot_json(struct json *j, const struct view *v);

#endif
