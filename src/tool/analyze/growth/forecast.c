/* SPDX-License-Identifier: MIT */
/* forecast.c -- see forecast.h. */
#include "tool/analyze/growth/forecast.h"

#include <math.h>
#include <stddef.h>

#include "tool/analyze/growth/fit.h"

#define TEN_YEARS_SECONDS (10 * 365.25 * 86400) /* further away is never */

enum {
	LEAST_BYTES =
		32 << 10, /* the kernel counts pages in batches: less is no growth */
	POINTS_LEAST = 5,
	/* one in so many of the time at the beginning: the recorder comes in */
	SKIPPED_PART = 10,
};

double
forecast_seconds(double left_bytes, double slope)
{
	double seconds = left_bytes > 0 && slope > 0 ? left_bytes / slope : 0;

	return seconds < TEN_YEARS_SECONDS ? seconds : 0;
}

/* When that growth has used up what is left. */
static void
reach_limit(struct forecast *f, const struct prof_memory *m)
{
	if (!f->grows || m == NULL || m->limit_bytes <= m->used_bytes ||
	    m->limit_bytes == UINT64_MAX)
		return;
	f->limit_bytes = m->limit_bytes;
	f->machine = m->limit_machine;
	f->seconds = forecast_seconds((double)(m->limit_bytes - m->used_bytes), f->slope);
}

struct forecast
forecast_of(const struct prof *p, uint32_t process, double sites_slope)
{
	const struct prof_memory *m = prof_memory_of(p, process);
	uint64_t from = p->processes[process].duration_ms / SKIPPED_PART;
	struct forecast f = {.processes = 1};
	struct fit line = {0};

	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];

		if (x->process == process && x->rss_kib > x->own_kib && x->ms >= from)
			fit_add(&line, (double)x->ms / 1000,
				((double)x->rss_kib - (double)x->own_kib) * 1024);
	}
	f.known = line.count >= POINTS_LEAST;
	f.slope = f.known ? fit_slope(&line, &f.error) : sites_slope;
	f.grows = f.known ? fit_grows(&line, LEAST_BYTES) && line.last_v > line.first_v
			  : sites_slope > 0;
	reach_limit(&f, m);
	return f;
}

struct forecast
forecast_of_all(const struct prof *p, const bool *in, uint32_t process,
		double sites_slope)
{
	const struct prof_memory *m = prof_memory_of(p, process);
	struct forecast f = forecast_of(p, process, sites_slope);
	double slope = f.grows ? f.slope : 0;

	for (uint32_t i = 1; i < p->nprocesses && f.known; i++) {
		const struct prof_memory *o = prof_memory_of(p, i);
		struct forecast other;

		if (i == process || !in[i] || p->processes[i].end != PROF_END_RUNNING)
			continue;
		if (m == NULL || o == NULL || o->limit_bytes != m->limit_bytes)
			return (struct forecast){0};
		other = forecast_of(p, i, 0);
		f.processes++;
		if (!other.known || !other.grows)
			continue;
		slope += other.slope;
		f.error = f.grows ? sqrt(f.error * f.error + other.error * other.error)
				  : other.error;
		f.grows = true;
		f.slope = slope;
		reach_limit(&f, m);
	}
	return f;
}
