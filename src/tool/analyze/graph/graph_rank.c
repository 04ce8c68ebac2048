/* SPDX-License-Identifier: MIT */
/* graph_rank.c -- entries in order, and as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/graph/graph_impl.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

const char *
graph_text(const struct graph *g, uint32_t id)
{
	return strtab_str(g->strings, id);
}

/* "function", or what stands for it, and " file:line". */
static void
graph_add_line(const struct strtab *t, const struct graph_entry *x, struct buf *out)
{
	buf_add_str(out, strtab_str(t, x->function));
	if (x->file == 0)
		return;
	buf_printf(out, " %s", file_base(strtab_str(t, x->file)));
	if (x->line != 0)
		buf_printf(out, ":%" PRIu32, x->line);
}

void
graph_plain_text(const struct strtab *t, enum graph_grain grain,
		 const struct graph_entry *x, struct buf *out)
{
	switch (grain) {
	case GRAPH_FUNCTIONS:
		buf_add_str(out, strtab_str(t, x->function));
		return;
	case GRAPH_FILES:
	case GRAPH_MODULES:
		if (x->function != 0)
			buf_add_str(out, strtab_str(t, x->function));
		else if (x->file != 0)
			buf_add_str(out, file_base(strtab_str(t, x->file)));
		else
			buf_printf(out, grain == GRAPH_FILES ? "(no file: %s)" : "%s",
				   file_base(strtab_str(t, x->module)));
		return;
	case GRAPH_ADDRESSES:
		if (x->address != 0 && !x->no_name)
			buf_printf(out, "0x%" PRIx64 " ", x->address);
		break;
	default:
		break;
	}
	graph_add_line(t, x, out);
}

void
graph_entry_text(const struct graph *g, const struct graph_entry *x, struct buf *out)
{
	graph_plain_text(g->strings, g->grain, x, out);
	buf_add_str(out, graph_text(g, x->apart));
}

struct graph_order {
	const struct graph *g;
	unsigned by;
};

static double
graph_size_of(const struct graph_order *o, double x)
{
	return x < 0 && (o->by & GRAPH_SIGNED) == 0 ? -x : x;
}

/* As text, because a name with its line is one name to pprof: 10 comes before 9. */
static int
graph_compare_lines(uint32_t a, uint32_t b)
{
	char x[16], y[16];

	snprintf(x, sizeof x, "%" PRIu32, a);
	snprintf(y, sizeof y, "%" PRIu32, b);
	return strcmp(x, y);
}

static int
graph_compare_names(const struct graph *g, const struct graph_entry *a,
		    const struct graph_entry *b)
{
	int r = 0;

	if (a->function != b->function)
		r = strcmp(graph_text(g, a->function), graph_text(g, b->function));
	if (r == 0 && a->file != b->file)
		r = strcmp(graph_text(g, a->file), graph_text(g, b->file));
	if (r == 0 && a->line != b->line)
		r = graph_compare_lines(a->line, b->line);
	if (r == 0 && a->module != b->module)
		r = strcmp(graph_text(g, a->module), graph_text(g, b->module));
	if (r == 0 && a->address != b->address)
		r = a->address < b->address ? -1 : 1;
	if (r == 0 && a->linkage != b->linkage)
		r = strcmp(graph_text(g, a->linkage), graph_text(g, b->linkage));
	return r;
}

static int
graph_compare(const void *pa, const void *pb, void *ctx)
{
	const struct graph_order *o = ctx;
	const struct graph_entry *a = &o->g->entries[*(const uint32_t *)pa];
	const struct graph_entry *b = &o->g->entries[*(const uint32_t *)pb];
	double fa = graph_size_of(o, a->flat - a->was_flat);
	double ca = graph_size_of(o, a->cum - a->was_cum);
	double fb = graph_size_of(o, b->flat - b->was_flat);
	double cb = graph_size_of(o, b->cum - b->was_cum);
	bool by_cum = (o->by & GRAPH_BY_CUM) != 0;
	double x = by_cum ? ca : fa, y = by_cum ? cb : fb;
	int r;

	if (x != y)
		return x > y ? -1 : 1;
	r = graph_compare_names(o->g, a, b);
	if (r != 0)
		return r;
	x = by_cum ? fa : ca;
	y = by_cum ? fb : cb;
	return x > y ? -1 : x < y;
}

void
graph_rank(const struct graph *g, unsigned by, uint32_t *ret)
{
	struct graph_order o = {.g = g, .by = by};

	for (uint32_t i = 1; i < g->nentries; i++)
		ret[i - 1] = i;
	if (g->nentries > 2)
		qsort_r(ret, g->nentries - 1, sizeof *ret, graph_compare, &o);
}
