/* SPDX-License-Identifier: MIT */
/* view_plot_svg.c -- live bytes over time as one SVG file that needs nothing else.
 *
 * The same as the plot of a terminal (view_plot_text.c): the largest places stacked, the
 * rest above them, RSS as a line where it fits, marks, and a legend. A figure stands from
 * its point to the next. Names are escaped (flame_text.h). */
#include <stdlib.h>

#include "tool/render/flame/flame_text.h"
#include "tool/render/views/view_plot.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#define VIEW_MS UINT64_C(1000000) /* ns */

enum {
	SVG_WIDE = 960,
	SVG_LEFT = 90,
	SVG_RIGHT = 20,
	SVG_TOP = 50,
	SVG_HIGH = 360, /* of the plot */
	SVG_LINE = 20,	/* of the legend */
	SVG_NAME = 110, /* columns of a name */
};

static const char *const colours[PLOT_LAYERS + 1] = {"#4c78a8", "#f2b84b", "#54a24b",
						     "#b279a2", "#72b7b2", "#bbbbbb"};

static double
x_of(const struct plot *pl, uint64_t ms)
{
	const struct series_axis *a = &pl->o.axis;
	uint64_t first = a->ms[0], length = a->ms[a->n - 1] - first;
	double part =
		length > 0 && ms > first ? (double)(ms - first) / (double)length : 0;

	return SVG_LEFT + (part < 1 ? part : 1) * (SVG_WIDE - SVG_LEFT - SVG_RIGHT);
}

static double
y_of(const struct plot *pl, int64_t bytes)
{
	return SVG_TOP + SVG_HIGH * (1 - (double)bytes / (double)pl->top);
}

/* The upper edge of a layer, in steps: from left to right, or back. */
static void
add_edge(struct buf *out, const struct plot *pl, const int64_t *sums, bool back)
{
	const struct series_axis *a = &pl->o.axis;

	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t k = back ? a->n - 1 - i : i;
		double y = y_of(pl, sums[k]), x = x_of(pl, a->ms[k]);
		double next = x_of(pl, a->ms[k + 1 < a->n ? k + 1 : k]);

		buf_printf(out, "%.1f,%.1f %.1f,%.1f ", back ? next : x, y,
			   back ? x : next, y);
	}
}

static void
add_layers(struct buf *out, const struct plot *pl)
{
	uint32_t n = pl->o.axis.n;
	int64_t *below = xcalloc(n, sizeof *below), *sums = xcalloc(n, sizeof *sums);

	for (uint32_t i = 0; i <= pl->layers; i++) {
		for (uint32_t k = 0; k < n; k++) {
			below[k] = sums[k];
			sums[k] += plot_figure(pl, i, k);
		}
		if (i == pl->layers && !pl->rest)
			break;
		buf_printf(out, "<polygon fill=\"%s\" points=\"",
			   colours[i < pl->layers ? i : PLOT_LAYERS]);
		add_edge(out, pl, sums, false);
		add_edge(out, pl, below, true);
		buf_add_str(out, "\"/>\n");
	}
	free(below);
	free(sums);
}

static void
add_rss(struct buf *out, const struct plot *pl)
{
	buf_add_str(out, "<polyline fill=\"none\" stroke=\"#d62728\" points=\"");
	for (uint32_t k = 0; k < pl->o.axis.n; k++) {
		if (pl->o.rss_kib[k] > 0)
			buf_printf(out, "%.1f,%.1f ", x_of(pl, pl->o.axis.ms[k]),
				   y_of(pl, (int64_t)(pl->o.rss_kib[k] << 10)));
	}
	buf_add_str(out, "\"/>\n");
}

static void
add_text(struct buf *out, double x, double y, const char *anchor, const char *text)
{
	buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	flame_escape(out, text);
	buf_add_str(out, "</text>\n");
}

static void
add_axes(struct buf *out, const struct plot *pl)
{
	const struct series_axis *a = &pl->o.axis;
	uint64_t first = a->ms[0], length = a->ms[a->n - 1] - first;

	for (int i = 0; i <= 4; i++) {
		int64_t bytes = pl->top / 4 * i + pl->top % 4 * i / 4;
		uint64_t ms = first + length * (uint64_t)i / 4;
		double y = y_of(pl, bytes);

		buf_printf(out,
			   "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
			   "stroke=\"#888\" stroke-width=\"%s\"/>\n",
			   SVG_LEFT, SVG_WIDE - SVG_RIGHT, y, y, i == 0 ? "1" : "0.3");
		add_text(out, SVG_LEFT - 8, y + 4, "end", plot_amount(pl, bytes).s);
		add_text(out, x_of(pl, ms), SVG_TOP + SVG_HIGH + 18,
			 i == 0	  ? "start"
			 : i == 4 ? "end"
				  : "middle",
			 fmt_duration(ms * VIEW_MS).s);
	}
}

/* Lines from above to below, with their names at the top. */
static void
add_marks(struct buf *out, const struct plot *pl)
{
	struct plot_mark *marks;
	uint32_t n = plot_marks(pl, &marks);

	for (uint32_t i = 0; i < n; i++) {
		double x = x_of(pl, marks[i].ms);
		struct buf name = {0};

		buf_printf(out,
			   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
			   "stroke=\"#333\" stroke-dasharray=\"3 3\"/>\n",
			   x, x, SVG_TOP - 4, SVG_TOP + SVG_HIGH);
		buf_add_char(&name, '@');
		flame_cut(&name, prof_text(pl->v.p, marks[i].m->name), 40);
		add_text(out, x, SVG_TOP - 8, "middle", buf_str(&name));
		buf_done(&name);
	}
	free(marks);
}

static void
add_legend_row(struct buf *out, const struct plot *pl, double y, const char *colour,
	       const int64_t *figures, const char *name)
{
	int64_t highest = 0, last = figures[pl->o.axis.n - 1];
	struct buf cut = {0};

	for (uint32_t k = 0; k < pl->o.axis.n; k++)
		highest = figures[k] > highest ? figures[k] : highest;
	if (colour != NULL)
		buf_printf(out,
			   "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"14\" "
			   "fill=\"%s\"/>\n",
			   SVG_LEFT, y - 11, colour);
	add_text(out, SVG_LEFT + 110, y, "end", plot_amount(pl, highest).s);
	add_text(out, SVG_LEFT + 200, y, "end",
		 last == PROF_UNKNOWN ? "-" : plot_amount(pl, last > 0 ? last : 0).s);
	flame_cut(&cut, name, SVG_NAME);
	add_text(out, SVG_LEFT + 215, y, "start", buf_str(&cut));
	buf_done(&cut);
}

static void
add_legend(struct buf *out, const struct plot *pl)
{
	double y = SVG_TOP + SVG_HIGH + 45;

	add_text(out, SVG_LEFT + 110, y, "end", "highest");
	add_text(out, SVG_LEFT + 200, y, "end", "last");
	for (uint32_t i = 0; i < pl->layers; i++) {
		struct buf name = {0};

		graph_entry_text(&pl->g, &pl->g.entries[pl->o.rows[i].entry], &name);
		add_legend_row(out, pl, y += SVG_LINE, colours[i], pl->o.rows[i].live,
			       buf_str(&name));
		buf_done(&name);
	}
	if (pl->rest)
		add_legend_row(
			out, pl, y += SVG_LINE, colours[PLOT_LAYERS], pl->others,
			figure_things(pl->o.nrows - pl->layers, 0, "other place").s);
	add_legend_row(out, pl, y += SVG_LINE, NULL, pl->o.live, "total");
	if (pl->has_rss)
		add_legend_row(out, pl, y + SVG_LINE, pl->rss ? "#d62728" : NULL,
			       pl->rss_bytes,
			       pl->rss ? "RSS" : "RSS, too high to be drawn");
}

bool
plot_svg(struct buf *out, const struct view *v)
{
	struct plot pl;
	int high;

	plot_init(&pl, v);
	if (!plot_has_points(&pl)) {
		plot_done(&pl);
		return false;
	}
	high = SVG_TOP + SVG_HIGH + 60 + SVG_LINE * ((int)pl.layers + 3);
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		   SVG_WIDE, high, SVG_WIDE, high);
	if (v->o->title != NULL)
		add_text(out, SVG_LEFT, 20, "start", v->o->title);
	add_layers(out, &pl);
	if (pl.rss)
		add_rss(out, &pl);
	add_axes(out, &pl);
	add_marks(out, &pl);
	add_legend(out, &pl);
	buf_add_str(out, "</svg>\n");
	plot_done(&pl);
	return true;
}
