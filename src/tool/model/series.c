/* SPDX-License-Identifier: MIT */
/* series.c -- see series.h.
 *
 * Steps and moments are found by bisection: rows are in the order that prof_step and
 * prof_tick say, and in a damaged file, where they may not be, only some are not
 * found. */
#include "tool/model/series.h"

#include <stdlib.h>
#include <string.h>

#include "tool/util/vec.h"
#include "tool/util/x.h"

#define NS_PER_MS UINT64_C(1000000)

static uint32_t
first_step(const struct prof *p, uint32_t site)
{
	uint32_t low = 0, high = p->nsteps;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->steps[middle].site < site)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first moment of a process, p->nticks if it has none; those of one stand
 * together. */
static uint32_t
first_moment(const struct prof *p, uint32_t process, uint32_t *ret_n)
{
	uint32_t low = 0, high = p->nticks, n = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->ticks[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < p->nticks && p->ticks[low + n].process == process)
		n++;
	*ret_n = n;
	return low;
}

struct prof_series
prof_series(const struct prof *p, uint32_t site)
{
	uint32_t step = first_step(p, site), n = 0, moments, at;

	at = first_moment(p, p->sites[site].process, &moments);
	while (step + n < p->nsteps && p->steps[step + n].site == site)
		n++;
	return (struct prof_series){.ticks = p->ticks + at,
				    .nticks = moments,
				    .steps = p->steps + step,
				    .nsteps = n};
}

/* ---- the axis ---- */

struct times VEC_BODY(uint64_t);

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* When a process began, on the axis. */
static uint64_t
began(const struct series_axis *a, const struct prof *p, uint32_t process)
{
	uint64_t ns = p->processes[process].start_ns;

	return ns > a->start_ns ? (ns - a->start_ns) / NS_PER_MS : 0;
}

/* At most SERIES_MAX of them: the last before each of so many times that are the same
 * distance apart, and the first. */
static void
thin_out(struct times *t)
{
	uint64_t first = t->data[0], length = t->data[t->len - 1] - first;
	size_t n = 1, at = 0;

	if (t->len <= SERIES_MAX)
		return;
	for (uint64_t i = 1; i < SERIES_MAX; i++) {
		uint64_t upto = first + length / (SERIES_MAX - 1) * i +
				length % (SERIES_MAX - 1) * i / (SERIES_MAX - 1);
		size_t before = at;

		while (at + 1 < t->len && t->data[at + 1] <= upto)
			at++;
		if (at > before)
			t->data[n++] = t->data[at];
	}
	t->len = n;
}

static void
take_times(struct series_axis *a, const struct prof *p, const bool *chosen,
	   struct times *t)
{
	bool any = false;
	size_t n = 0;

	for (uint32_t i = 0; i < p->nticks; i++) {
		uint32_t of = p->ticks[i].process;
		uint64_t ns = p->processes[of].start_ns;

		if (of == 0 || (chosen != NULL && !chosen[of]))
			continue;
		if (!any || ns < a->start_ns)
			a->start_ns = ns;
		any = true;
	}
	for (uint32_t i = 0; i < p->nticks; i++) {
		uint32_t of = p->ticks[i].process;

		if (of != 0 && (chosen == NULL || chosen[of]))
			vec_push(t, began(a, p, of) + p->ticks[i].ms);
	}
	if (t->len == 0)
		return;
	vec_sort(t, compare);
	for (size_t i = 0; i < t->len; i++) {
		if (i + 1 == t->len || t->data[i] != t->data[i + 1])
			t->data[n++] = t->data[i];
	}
	t->len = n;
	thin_out(t);
}

/* Where a process stands at each point. What has ended has nothing any more. */
static void
place(struct series_axis *a, const struct prof *p, uint32_t process)
{
	uint32_t *at = a->moment + (size_t)process * a->n, n, k = 0;
	const struct prof_tick *m = p->ticks + first_moment(p, process, &n);
	uint64_t from = began(a, p, process);
	bool ended = p->processes[process].end != PROF_END_RUNNING;

	for (uint32_t i = 0; i < a->n; i++) {
		while (k < n && from + m[k].ms <= a->ms[i])
			k++;
		at[i] = k == n && n > 0 && ended && a->ms[i] > from + m[n - 1].ms ? 0 : k;
	}
}

void
series_axis_init(struct series_axis *ret, const struct prof *p, const bool *chosen)
{
	struct times t = {0};

	*ret = (struct series_axis){0};
	take_times(ret, p, chosen, &t);
	ret->n = (uint32_t)t.len;
	ret->ms = t.data;
	ret->moment = xcalloc((size_t)p->nprocesses * ret->n + 1, sizeof *ret->moment);
	for (uint32_t i = 1; i < p->nprocesses && ret->n > 0; i++) {
		if (chosen == NULL || chosen[i])
			place(ret, p, i);
	}
}

void
series_axis_done(struct series_axis *a)
{
	free(a->ms);
	free(a->moment);
	*a = (struct series_axis){0};
}

/* ---- figures ---- */

static void
add(int64_t *to, int64_t bytes)
{
	if (*to == PROF_UNKNOWN || bytes == PROF_UNKNOWN)
		*to = PROF_UNKNOWN;
	else
		*to = (int64_t)((uint64_t)*to + (uint64_t)bytes);
}

void
series_add(const struct series_axis *a, const struct prof *p, uint32_t site,
	   int64_t *into)
{
	struct prof_series s = prof_series(p, site);
	const uint32_t *at = a->moment + (size_t)p->sites[site].process * a->n;
	uint32_t k = 0;

	if (s.nsteps == 0)
		return;
	for (uint32_t i = 0; i < a->n; i++) {
		if (at[i] == 0)
			continue;
		while (k < s.nsteps && s.steps[k].moment < at[i])
			k++;
		if (k > 0)
			add(&into[i], s.steps[k - 1].live_bytes);
	}
}

void
series_add_all(const struct series_axis *a, const struct prof *p, int64_t *into)
{
	for (uint32_t process = 1; process < p->nprocesses; process++) {
		const uint32_t *at = a->moment + (size_t)process * a->n;
		uint32_t n, first = first_moment(p, process, &n);

		for (uint32_t i = 0; i < a->n; i++) {
			if (at[i] != 0 && at[i] <= n)
				add(&into[i], p->ticks[first + at[i] - 1].live_bytes);
		}
	}
}
