/* SPDX-License-Identifier: MIT */
/* ages.c -- see ages.h. */
#include "tool/analyze/sites/ages.h"

#include <stdlib.h>

#include "tool/util/x.h"

void
ages_count(struct ages *ret, const struct prof *p, const struct graph_query *q,
	   const struct graph *g)
{
	struct ages a = {.known = p->columns == PROF_HAS_ALL};

	for (uint32_t i = 1; a.known && i < p->nprocesses; i++)
		a.samples |= p->processes[i].rate_bytes > 0 &&
			     (q->chosen == NULL || q->chosen[i]);
	for (uint32_t i = 1; a.known && i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		struct prof_hist h = prof_hist(p, i);
		uint64_t freed = s->temps;

		if (g->node_of_site[i] == 0)
			continue;
		a.temporary += s->temps;
		for (unsigned k = 0; k < PROF_LIFE_BUCKETS; k++) {
			a.freed[k] += h.lifetimes[k];
			freed += h.lifetimes[k];
		}
		a.live += a.samples	       ? s->live_samples
			  : s->live_blocks > 0 ? (uint64_t)s->live_blocks
					       : 0;
		a.all += freed;
	}
	a.all += a.live;
	*ret = a;
}

uint64_t
ages_limit_ms(unsigned i)
{
	return i + 1 < PROF_LIFE_BUCKETS ? UINT64_C(1) << i : UINT64_MAX;
}

uint64_t
ages_from_ms(unsigned i)
{
	return i > 0 ? ages_limit_ms(i - 1) : 0;
}

static void
span_add(struct span *s, const struct prof_point *pt)
{
	if (s->points == 0) {
		s->from_ms = pt->ms;
		s->live_bytes = pt->live_bytes;
	}
	s->to_ms = pt->ms;
	if (pt->live_bytes > s->live_bytes)
		s->live_bytes = pt->live_bytes;
	if (pt->rss_kib > s->rss_kib)
		s->rss_kib = pt->rss_kib;
	if (pt->own_kib > s->own_kib)
		s->own_kib = pt->own_kib;
	s->points++;
}

uint32_t
spans_of(const struct prof *p, uint32_t process, uint32_t most, struct span **ret_spans,
	 uint32_t *ret_points)
{
	struct span *spans;
	uint32_t last = 0, n = 0;
	bool each;

	*ret_points = 0;
	*ret_spans = NULL;
	for (uint32_t i = 0; i < p->npoints; i++) {
		if (p->points[i].process != process)
			continue;
		++*ret_points;
		last = p->points[i].ms > last ? p->points[i].ms : last;
	}
	if (*ret_points == 0)
		return 0;
	each = most == 0;
	most = each ? *ret_points : most;
	spans = xcalloc(most, sizeof *spans);
	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *pt = &p->points[i];
		uint64_t at = (uint64_t)pt->ms * most / ((uint64_t)last + 1);

		if (pt->process == process)
			span_add(&spans[each ? n++ : at], pt);
	}
	n = 0;
	for (uint32_t i = 0; i < most; i++)
		if (spans[i].points > 0)
			spans[n++] = spans[i];
	*ret_spans = spans;
	return n;
}
