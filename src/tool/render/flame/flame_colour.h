/* SPDX-License-Identifier: MIT */
/* flame_colour.h -- the colours of a flame graph, as tables that picture and script
 * share.
 *
 * Every entry of a graph has a place in two tables: by module, where each module has a
 * hue of its own in four shades as long as hues last, and by name. Differences have a
 * third table, from blue over grey to red. All of it is decided here, once; the script in
 * the file only looks it up. */
#ifndef SEEP_RENDER_FLAME_COLOUR_H
#define SEEP_RENDER_FLAME_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/graph.h"

enum {
	FLAME_SHADES = 4,
	FLAME_HUES = 13, /* the last is the grey of frames in no module */
	FLAME_MODULE_COLOURS = FLAME_HUES * FLAME_SHADES,
	FLAME_NAME_COLOURS = 96, /* four families of hues of 24 each: see themes */
	FLAME_DIFF_STEPS = 16,	 /* each way */
};

struct flame_rgb {
	char css[8]; /* "#rrggbb" */
};

struct flame_colours {
	struct flame_rgb by_module[FLAME_MODULE_COLOURS];
	struct flame_rgb by_name[FLAME_NAME_COLOURS];
	struct flame_rgb diff[2 * FLAME_DIFF_STEPS + 1]; /* most shrunk first */
	uint8_t *module_of; /* for every entry, in by_module */
	uint8_t *name_of;   /* and in by_name */
	bool several_modules;
};

/* `theme` is one of flame_themes, or NULL. Free with flame_colours_done. */
void flame_colours_init(struct flame_colours *ret_colours, const struct graph *g,
			const char *theme);
void flame_colours_done(struct flame_colours *c);

/* Place in diff[] of a change, when the largest of all is `most`. */
unsigned flame_diff_step(double change, double most, bool negate);

#endif
