/* SPDX-License-Identifier: MIT */
/* points.c -- the timeline of a process, and how exact its peak is (prof.h). */
#include <stdlib.h>

#include "tool/model/prof.h"

enum { FLUSH_BYTES = 4096 }; /* what a thread may have in no common figure yet */

uint64_t
prof_peak_error_bytes(const struct prof_process *pr)
{
	uint64_t threads = pr->threads_most != 0 ? pr->threads_most : pr->threads_seen;

	if (pr->mode != PROF_EXACT || (pr->flags & REC_FLAG_THREADED) == 0 || threads < 2)
		return 0;
	return threads * FLUSH_BYTES;
}

void
prof_end_points(struct prof *p, uint32_t process, uint64_t ms, uint64_t rss_kib)
{
	const struct prof_process *pr = &p->processes[process];
	const struct prof_point *last = NULL;
	struct prof_point end = {.process = process, .live_bytes = pr->live_bytes};
	uint32_t row;

	for (uint32_t i = 0; i < p->npoints; i++) {
		if (p->points[i].process == process &&
		    (last == NULL || p->points[i].ms >= last->ms))
			last = &p->points[i];
	}
	if (ms > UINT32_MAX)
		ms = UINT32_MAX;
	end.ms = last != NULL && last->ms > ms ? last->ms : (uint32_t)ms;
	end.rss_kib = (uint32_t)(rss_kib != 0	? rss_kib
				 : last != NULL ? last->rss_kib
						: 0);
	end.own_kib = (uint32_t)pr->recorder_kib;
	if (last != NULL && last->ms == end.ms && last->live_bytes == end.live_bytes &&
	    last->rss_kib == end.rss_kib)
		return;
	row = prof_add_point(p);
	p->points[row] = end;
}

static int
compare(const void *a, const void *b)
{
	const struct prof_point *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

void
prof_sort_points(struct prof *p)
{
	if (p->npoints > 1)
		qsort(p->points, p->npoints, sizeof *p->points, compare);
}
