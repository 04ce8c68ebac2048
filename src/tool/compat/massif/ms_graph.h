/* SPDX-License-Identifier: MIT */
/* ms_graph.h -- the curve of massif's snapshots as ms_print draws it in text. */
#ifndef SEEP_COMPAT_MS_GRAPH_H
#define SEEP_COMPAT_MS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

struct ms_shot {
	double time;
	uint64_t total; /* bytes */
	bool tree;
	bool peak;
};

struct ms_graph {
	const struct ms_shot *shots;
	uint32_t nshots;  /* at least 1 */
	const char *unit; /* of times: "i", "ms", "B" or "s" */
	unsigned width, height;
};

/* Appends the graph with its axes and their labels; false when the unit is none of
 * these. */
bool ms_graph_draw(struct buf *out, const struct ms_graph *g);

#endif
