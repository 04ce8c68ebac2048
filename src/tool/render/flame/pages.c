/* SPDX-License-Identifier: MIT */
/* pages.c -- see pages.h. */
#include "tool/render/flame/pages.h"

#include <string.h>

#include "tool/analyze/sites/value.h"
#include "tool/render/flame/flame.h"
#include "tool/render/flame/html_page.h"
#include "tool/render/report/report.h"

void
pages_flame(struct buf *out, const struct pages *pg, const struct prof *p,
	    const struct graph_query *q, const struct prof *base,
	    const struct graph_query *base_q)
{
	struct flame_opts o = {.title = pg->title,
			       .what = value_names[q->value],
			       .notes = pg->notes,
			       .callers = pg->callers};
	struct graph_query without_edges = *q;
	struct graph g;

	if (o.notes != NULL && o.notes[0] == '\0')
		o.notes = NULL;
	without_edges.no_edges = true;
	graph_init(&g, p, &without_edges, base, base_q);
	flame_svg(out, &g, &o);
	graph_done(&g);
}

void
pages_html(struct buf *out, const struct pages *pg, const struct prof *p,
	   const struct graph_query *q, const struct prof *base,
	   const struct graph_query *base_q)
{
	struct html_opts o = {.title = pg->title,
			      .notes = &pg->notes,
			      .nnotes = pg->notes != NULL && pg->notes[0] != '\0',
			      .one_figure = pg->one_figure};
	struct report_opts what = {
		.opening = true, .chosen = q->chosen, .point = q->point};
	struct buf opening = {0};

	/* Profiles of other tools and comparisons have no verdict. */
	if (base == NULL && p->format == 0)
		report_text(&opening, p, &what);
	if (opening.len > 0)
		o.opening = buf_str(&opening);
	html_page(out, p, q, base, base_q, &o);
	buf_done(&opening);
}
