/* SPDX-License-Identifier: MIT */
/* forecast.c -- see forecast.h. */
#include "tool/analyze/growth/forecast.h"

#include "tool/analyze/growth/fit.h"

#define TEN_YEARS_SECONDS (10 * 365.25 * 86400) /* further away is never */

enum {
	PAGE_BYTES = 4096,
	POINTS_LEAST = 5,
	SKIPPED_PART =
		10, /* one in so many of the time at the beginning: the recorder comes in */
};

struct forecast
forecast_of(const struct prof *p, uint32_t process, double sites_slope)
{
	const struct prof_memory *m = prof_memory_of(p, process);
	uint64_t from = p->processes[process].duration_ms / SKIPPED_PART;
	struct forecast f = {0};
	struct fit line = {0};

	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];

		if (x->process == process && x->rss_kib > x->own_kib && x->ms >= from)
			fit_add(&line, (double)x->ms / 1000,
				((double)x->rss_kib - (double)x->own_kib) * 1024);
	}
	f.known = line.count >= POINTS_LEAST;
	f.slope = f.known ? fit_slope(&line, &f.error) : sites_slope;
	f.grows = f.known ? fit_grows(&line, PAGE_BYTES) && line.last_v > line.first_v
			  : sites_slope > 0;
	if (!f.grows || m == NULL || m->limit_bytes <= m->used_bytes ||
	    m->limit_bytes == UINT64_MAX)
		return f;
	f.limit_bytes = m->limit_bytes;
	f.machine = m->limit_machine;
	f.seconds = (double)(m->limit_bytes - m->used_bytes) / f.slope;
	if (f.seconds >= TEN_YEARS_SECONDS)
		f.seconds = 0;
	return f;
}
