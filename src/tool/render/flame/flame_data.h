/* SPDX-License-Identifier: MIT */
/* flame_data.h -- what the scripts in SVG and page draw from, as one JSON text.
 *
 * Columns instead of objects: a tree of 60,000 boxes is read by a browser in some 20 ms.
 * Names are cleaned (flame_text.h) and stand once in a table of strings at the end; < > &
 * are escaped, so that the text may stand inside <script>. The layout is described in
 * ui/tree.js, its reader. */
#ifndef SEEP_RENDER_FLAME_DATA_H
#define SEEP_RENDER_FLAME_DATA_H

#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/render/flame/flame_colour.h"
#include "tool/render/flame/flame_tree.h"
#include "tool/util/buf.h"
#include "tool/util/json.h"
#include "tool/util/map.h"

struct flame_data {
	struct json j;
	struct strtab strings; /* cleaned */
};

/* Begins the text, an object, with the colours. */
void flame_data_init(struct flame_data *d, struct buf *out,
		     const struct flame_colours *c);
/* Ends it, with the strings. */
void flame_data_done(struct flame_data *d);

/* Id of a text, cleaned. */
uint32_t flame_data_str(struct flame_data *d, const char *text);

/* A member with a cleaned text; NULL is left out. */
void flame_data_text(struct flame_data *d, const char *key, const char *text);

/* A figure: whole where it is whole, else to a thousandth. */
void flame_data_number(struct flame_data *d, double x);

struct flame_view {
	const char *what, *count_name; /* as in struct flame_opts */
	const struct flame_colours *colours;
	struct flame_tree down, up;
	uint32_t max_rows; /* entries to list besides those of boxes: the largest */
};

/* One view, as an object, where a value is due. *ret_place (may be NULL) is where each
 * entry of the graph is in it, UINT32_MAX = it is not; to be freed. */
void flame_data_view(struct flame_data *d, const struct graph *g,
		     const struct flame_view *v, uint32_t **ret_place);

#endif
