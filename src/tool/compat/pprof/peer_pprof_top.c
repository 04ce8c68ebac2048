/* SPDX-License-Identifier: MIT */
/* peer_pprof_top.c -- the tables of google/pprof: -top, -tree, -peek. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/pprof/peer_pprof_impl.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

#define PPROF_RULE                                                                       \
	"----------------------------------------------------------+-------------\n"

/* A figure in `width` columns. */
static void
pprof_cell(struct buf *out, const struct pprof_graph *x, double v, int width)
{
	struct buf b = {0};

	pprof_figure_in(&b, x->o, x->unit, v);
	buf_printf(out, "%*s", width, buf_str(&b));
	buf_done(&b);
}

/* "flat flat% sum% cum cum%" without what follows. */
static void
pprof_figures(struct buf *out, const struct pprof_graph *x, uint32_t entry, double *sum)
{
	double flat = pprof_flat(x->g, entry), cum = pprof_cum(x->g, entry);

	*sum += flat;
	pprof_cell(out, x, flat, 10);
	buf_add_char(out, ' ');
	pprof_percent(out, flat, x->o->total);
	buf_add_char(out, ' ');
	pprof_percent(out, *sum, x->o->total);
	buf_add_char(out, ' ');
	pprof_cell(out, x, cum, 10);
	buf_add_char(out, ' ');
	pprof_percent(out, cum, x->o->total);
}

/* Bits of what calls an entry: inlined calls, others. */
static uint8_t *
pprof_called(const struct pprof_graph *x)
{
	uint8_t *bits = xcalloc(x->g->nentries, 1);

	for (size_t i = 0; i < x->edges.len; i++)
		bits[x->edges.data[i].to] |= x->edges.data[i].inlined ? 1 : 2;
	return bits;
}

void
pprof_top(struct buf *out, const struct prof *p, const struct pprof_graph *x)
{
	static const char *const marks[] = {"", " (inline)", "", " (partial-inline)"};
	uint8_t *called = pprof_called(x);
	double sum = 0;

	pprof_labels(out, p, x);
	buf_add_str(out, "      flat  flat%   sum%        cum   cum%\n");
	for (uint32_t i = 0; i < x->n; i++) {
		pprof_figures(out, x, x->order[i], &sum);
		buf_printf(out, "  %s%s\n", x->names[x->order[i]],
			   marks[called[x->order[i]]]);
	}
	free(called);
}

/* ---- callers and callees ---- */

/* Edges of one kind, largest first, in runs by the node that they are of. */
struct pprof_runs {
	const struct pprof_graph *x;
	uint32_t *order; /* edges */
	uint32_t *first; /* for every entry, and one more: where its run begins */
};

static int
pprof_edge_order(const void *a, const void *b, void *ctx)
{
	const struct pprof_graph *g = ctx;
	const struct pprof_edge *x = &g->edges.data[*(const uint32_t *)a];
	const struct pprof_edge *y = &g->edges.data[*(const uint32_t *)b];
	int names;

	if (fabs(x->weight) != fabs(y->weight))
		return fabs(x->weight) < fabs(y->weight) ? 1 : -1;
	names = strcmp(g->names[x->from], g->names[y->from]);
	return names != 0 ? names : strcmp(g->names[x->to], g->names[y->to]);
}

static void
pprof_runs_init(struct pprof_runs *r, const struct pprof_graph *x, bool callers)
{
	uint32_t n = (uint32_t)x->edges.len;
	uint32_t *sorted = xcalloc(n, sizeof *sorted);
	uint32_t *at;

	r->x = x;
	r->order = xcalloc(n, sizeof *r->order);
	r->first = xcalloc((size_t)x->g->nentries + 1, sizeof *r->first);
	for (uint32_t i = 0; i < n; i++) {
		const struct pprof_edge *e = &x->edges.data[i];

		sorted[i] = i;
		r->first[(callers ? e->to : e->from) + 1]++;
	}
	for (uint32_t i = 0; i < x->g->nentries; i++)
		r->first[i + 1] += r->first[i];
	if (n > 1)
		qsort_r(sorted, n, sizeof *sorted, pprof_edge_order, (void *)x);
	at = xcalloc(x->g->nentries, sizeof *at);
	for (uint32_t i = 0; i < n; i++) {
		const struct pprof_edge *e = &x->edges.data[sorted[i]];
		uint32_t of = callers ? e->to : e->from;

		r->order[r->first[of] + at[of]++] = sorted[i];
	}
	free(at);
	free(sorted);
}

static void
pprof_runs_print(struct buf *out, const struct pprof_runs *r, uint32_t entry,
		 bool callers)
{
	double cum = pprof_cum(r->x->g, entry);

	for (uint32_t i = r->first[entry]; i < r->first[entry + 1]; i++) {
		const struct pprof_edge *e = &r->x->edges.data[r->order[i]];

		pprof_cell(out, r->x, e->weight, 50);
		buf_add_char(out, ' ');
		pprof_percent(out, e->weight, fabs(cum));
		buf_printf(out, " |   %s%s\n", r->x->names[callers ? e->from : e->to],
			   e->inlined ? " (inline)" : "");
	}
}

static void
pprof_runs_done(struct pprof_runs *r)
{
	free(r->order);
	free(r->first);
}

uint32_t
pprof_tree(struct buf *out, const struct prof *p, const struct pprof_graph *x,
	   const struct re *re)
{
	struct pprof_runs in, to;
	uint32_t shown = 0;
	double sum = 0;

	pprof_runs_init(&in, x, true);
	pprof_runs_init(&to, x, false);
	pprof_labels(out, p, x);
	buf_add_str(out, PPROF_RULE
		    "      flat  flat%   sum%        cum   cum%   calls calls% "
		    "+ context \t \t \n");
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t entry = x->order[i];

		if (re != NULL && !re_matches(re, x->names[entry]))
			continue;
		shown++;
		buf_add_str(out, PPROF_RULE);
		pprof_runs_print(out, &in, entry, true);
		pprof_figures(out, x, entry, &sum);
		buf_printf(out, "                | %s\n", x->names[entry]);
		pprof_runs_print(out, &to, entry, false);
	}
	if (x->n > 0)
		buf_add_str(out, PPROF_RULE);
	pprof_runs_done(&in);
	pprof_runs_done(&to);
	return shown;
}
