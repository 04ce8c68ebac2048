/* SPDX-License-Identifier: MIT */
/* html_page.h -- a profile, or the difference of two, as one HTML page that needs nothing
 * beside it.
 *
 * Four views over the same data: a table of functions, a flame graph, a tree of calls,
 * and lines of source as far as their text is in the profile. The page fetches nothing,
 * and its policy (Content-Security-Policy) would not let it: only the one script and
 * style that seep was built with may run. The trees are cut to what can be seen, so that
 * large profiles open at once; what was left out is counted in the page. */
#ifndef SEEP_RENDER_HTML_PAGE_H
#define SEEP_RENDER_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"

struct html_opts {
	const char *title; /* NULL = "Heap profile" */
	/* lines of a label, a tab and a text, shown first; NULL = none */
	const char *opening;
	const char *subtitle;	  /* before the total: program, host, time; NULL = none */
	const char *const *notes; /* lines for the foot: what was lost or not covered */
	size_t nnotes;
	/* only the figure that was asked for; else all that the profile has */
	bool one_figure;
};

/* Appends the page. `q` and, when there is a `base`, `base_q` are as for graph_init
 * (base_q may be NULL); grain functions or finer is what the page is made for. `o` may be
 * NULL. */
void html_page(struct buf *out, const struct prof *p, const struct graph_query *q,
	       const struct prof *base, const struct graph_query *base_q,
	       const struct html_opts *o);

#endif
