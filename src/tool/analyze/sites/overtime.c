/* SPDX-License-Identifier: MIT */
/* overtime.c -- see overtime.h. */
#include "tool/analyze/sites/overtime.h"

#include <stdlib.h>
#include <string.h>

#include "tool/util/x.h"

static int64_t *
figures(const struct overtime *o)
{
	return xcalloc(o->axis.n, sizeof(int64_t));
}

static int
compare(const void *a, const void *b)
{
	const struct overtime_row *x = a, *y = b;

	if (x->highest != y->highest)
		return x->highest > y->highest ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* A row for each entry that a site has its innermost frame in. */
static void
add_sites(struct overtime *o, const struct prof *p, const bool *chosen,
	  const struct graph *g, bool *ret_all)
{
	uint32_t *row_of = xcalloc(g->nentries, sizeof *row_of); /* and 1 */

	*ret_all = true;
	o->rows = xcalloc(g->nentries, sizeof *o->rows);
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = g->node_of_site[i], entry;

		if (chosen != NULL && !chosen[p->sites[i].process])
			continue;
		if (node == 0) {
			*ret_all = *ret_all && prof_series(p, i).nsteps == 0;
			continue;
		}
		if (prof_series(p, i).nsteps == 0)
			continue;
		entry = g->nodes[node].entry;
		if (row_of[entry] == 0) {
			o->rows[o->nrows] =
				(struct overtime_row){.entry = entry, .live = figures(o)};
			row_of[entry] = ++o->nrows;
		}
		series_add(&o->axis, p, i, o->rows[row_of[entry] - 1].live);
	}
	free(row_of);
}

/* Sums, and the rows that never had anything at one of the points go. */
static void
add_up(struct overtime *o)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->nrows; i++) {
		struct overtime_row *r = &o->rows[i];

		for (uint32_t k = 0; k < o->axis.n; k++) {
			if (r->live[k] != PROF_UNKNOWN && r->live[k] > r->highest)
				r->highest = r->live[k];
			if (r->live[k] == PROF_UNKNOWN)
				o->live[k] = PROF_UNKNOWN;
			else if (o->live[k] != PROF_UNKNOWN)
				o->live[k] += r->live[k];
		}
		if (r->highest > 0)
			o->rows[n++] = *r;
		else
			free(r->live);
	}
	o->nrows = n;
	if (n > 1)
		qsort(o->rows, n, sizeof *o->rows, compare);
	for (uint32_t k = 0; k < o->axis.n; k++)
		o->unknown += o->live[k] == PROF_UNKNOWN;
}

/* The last RSS of each process before a point. */
static void
add_rss(struct overtime *o, const struct prof *p)
{
	uint32_t *last = xcalloc(p->nprocesses, sizeof *last); /* row and 1 */
	const struct series_axis *a = &o->axis;

	for (uint32_t k = 0; k < a->n; k++) {
		memset(last, 0, p->nprocesses * sizeof *last);
		for (uint32_t i = 0; i < p->npoints; i++) {
			const struct prof_point *pt = &p->points[i];
			uint64_t ns = p->processes[pt->process].start_ns;

			if (a->moment[(size_t)pt->process * a->n + k] != 0 &&
			    (ns - a->start_ns) / 1000000 + pt->ms <= a->ms[k] &&
			    pt->rss_kib != 0)
				last[pt->process] = i + 1;
		}
		for (uint32_t i = 1; i < p->nprocesses; i++) {
			if (last[i] != 0)
				o->rss_kib[k] += p->points[last[i] - 1].rss_kib;
		}
	}
	free(last);
}

void
overtime_init(struct overtime *ret, const struct prof *p, const bool *chosen,
	      const struct graph *g)
{
	struct overtime o = {0};
	bool all;

	series_axis_init(&o.axis, p, chosen);
	o.live = figures(&o);
	o.rss_kib = xcalloc(o.axis.n, sizeof *o.rss_kib);
	add_sites(&o, p, chosen, g, &all);
	add_up(&o);
	if (all) {
		memset(o.live, 0, o.axis.n * sizeof *o.live);
		series_add_all(&o.axis, p, o.live);
	}
	add_rss(&o, p);
	*ret = o;
}

void
overtime_done(struct overtime *o)
{
	for (uint32_t i = 0; i < o->nrows; i++)
		free(o->rows[i].live);
	free(o->rows);
	free(o->live);
	free(o->rss_kib);
	series_axis_done(&o->axis);
	*o = (struct overtime){0};
}

void
overtime_rest(const struct overtime *o, uint32_t first, int64_t *ret)
{
	for (uint32_t k = 0; k < o->axis.n; k++) {
		int64_t others = 0;

		ret[k] = 0;
		for (uint32_t i = 0; i < o->nrows; i++) {
			int64_t x = o->rows[i].live[k];

			if (i < first)
				others += x != PROF_UNKNOWN ? x : 0;
			else if (ret[k] != PROF_UNKNOWN)
				ret[k] = x != PROF_UNKNOWN ? ret[k] + x : PROF_UNKNOWN;
		}
		if (ret[k] == PROF_UNKNOWN && o->live[k] != PROF_UNKNOWN)
			ret[k] = o->live[k] - others;
	}
}
