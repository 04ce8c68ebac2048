/* SPDX-License-Identifier: MIT */
/* flame.h -- a graph as a flame graph: one SVG file that needs nothing beside it.
 *
 * Opened in a browser it can be searched, zoomed, turned over, asked for callers instead
 * of callees, and used from the keyboard; shown where no script runs (a README, a mail)
 * it is the same picture. With a base, red grew and blue shrank, and stacks that are gone
 * keep their place. Nothing is fetched, and names out of foreign files are text wherever
 * they stand. */
#ifndef SEEP_RENDER_FLAME_H
#define SEEP_RENDER_FLAME_H

#include <stdbool.h>

#include "tool/analyze/graph/graph.h"
#include "tool/util/buf.h"

/* How wide a box is when there is a base; without one it is what is there now. */
enum flame_width {
	FLAME_BY_MAX =
		0, /* the larger of before and after, stack by stack: nothing is hidden */
	FLAME_BY_NOW,
	FLAME_BY_WAS,
	FLAME_WIDTHS,
};

enum flame_colour {
	FLAME_AUTO = 0, /* by module when there are several, else by name */
	FLAME_BY_MODULE,
	FLAME_BY_NAME,
};

struct flame_opts {
	const char *title;    /* NULL = "Flame graph" */
	const char *subtitle; /* NULL = the total in words */
	const char *what;     /* which figure: "live", "allocated"; NULL = not said */
	const char *notes;    /* a line under the picture; NULL = none */
	/* "samples": plain counts of these; NULL = as the graph says */
	const char *count_name;
	const char *name_type; /* NULL = "Function" */
	/* colours by name in the fashion of one of flame_themes; NULL = warm */
	const char *theme;
	const char *font;  /* NULL = the reader's own */
	unsigned font_px;  /* 0 = 12 */
	unsigned width_px; /* 0 = 1200, and as wide as the window where a script runs */
	unsigned frame_px; /* height of a box, 0 = 17 */
	double min_px;	   /* narrower boxes are left out and counted; 0 = 0.1 */
	enum flame_colour colour;
	enum flame_width width;
	bool inverted; /* callers on top, as icicles */
	bool callers;  /* merged from the innermost frame outwards */
	bool by_name;  /* neighbours in alphabetical order, else largest first */
	bool negate;   /* red and blue the other way round */
};

/* Names of themes, ended by NULL. */
extern const char *const flame_themes[];

/* Appends the file. `o` may be NULL. */
void flame_svg(struct buf *out, const struct graph *g, const struct flame_opts *o);

#endif
