/* SPDX-License-Identifier: MIT */
/* graphviz.h -- pictures of a graph, drawn by graphviz's dot where it is installed. */
#ifndef SEEP_SESSION_GRAPHVIZ_H
#define SEEP_SESSION_GRAPHVIZ_H

#include "tool/util/buf.h"
#include "tool/util/err.h"

struct graphviz {
	const char *type;   /* of dot's own: "svg", "ps2" … */
	const char *option; /* that asked for it: "--svg", for messages */
	const char
		*text; /* option that prints the graph itself, for whoever has no dot */
	const char *path; /* of the picture; "-" = standard output */
};

/* Has `dot` draw the graph and writes the picture. -ENOENT when there is no dot. */
int graphviz_draw(const struct buf *graph, const struct graphviz *g, struct err *e);

#endif
