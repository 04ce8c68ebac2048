/* SPDX-License-Identifier: MIT */
/* graphviz.h -- pictures of a graph, drawn by graphviz's dot where it is installed. */
#ifndef SEEP_CLI_GRAPHVIZ_H
#define SEEP_CLI_GRAPHVIZ_H

#include "util/buf.h"
#include "util/err.h"

/* Has `dot` draw the graph as `type` ("svg", "pdf" …) and writes the picture to `path`, "-" for
 * standard output. -ENOENT when there is no dot. */
int graphviz_draw(const struct buf *graph, const char *type, const char *path,
		  struct err *e);

#endif
