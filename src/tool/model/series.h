/* SPDX-License-Identifier: MIT */
/* series.h -- live bytes of every site over time.
 *
 * The recorder knows what each site of a process had at moments of its own choosing, up
 * to 128 of them. Here they are read: one site's, borrowed from the profile; and those of
 * all processes of a run on one axis, where each process stands with its last moment
 * before. Nothing is estimated in between. */
#ifndef SEEP_MODEL_SERIES_H
#define SEEP_MODEL_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"

enum { SERIES_MAX = 128 }; /* points of an axis */

/* A moment at which it is known what every site of a process had live. Those of a process
 * stand in the order of time; the last one is when the recording ended. */
struct prof_tick {
	uint32_t process;
	uint64_t ms;
	int64_t live_bytes; /* of the process: the sum over its sites */
};

/* What a site had live from a moment on, up to its next step; nothing before its first
 * one. Steps stand in the order of sites and moments. */
struct prof_step {
	uint32_t site;
	uint32_t moment;    /* which of its process's, from 0 */
	int64_t live_bytes; /* PROF_UNKNOWN: the recorder had no room for it */
};

#define PROF_UNKNOWN INT64_MIN

static inline uint32_t
prof_add_tick(struct prof *p)
{
	return prof_append(p, PROF_TAB_TICKS);
}

static inline uint32_t
prof_add_step(struct prof *p)
{
	return prof_append(p, PROF_TAB_STEPS);
}

/* What a site had over time. Borrowed: good until the profile changes. */
struct prof_series {
	const struct prof_tick *ticks; /* of its process */
	uint32_t nticks;
	const struct prof_step *steps;
	uint32_t nsteps;
};

struct prof_series prof_series(const struct prof *p, uint32_t site);

/* Moments of several processes on one axis. */
struct series_axis {
	uint64_t *ms; /* since the first of them began */
	uint32_t n;   /* up to SERIES_MAX; of one process its moments */
	/* by process and point, `n` for each: which of its moments, less 1; 0 = it was
	 * not there yet, or no longer */
	uint32_t *moment;
	uint64_t start_ns; /* when that was */
};

/* `chosen`: for every process; NULL = all. n is 0 when nothing is known. Ends with
 * series_axis_done. */
void series_axis_init(struct series_axis *ret, const struct prof *p, const bool *chosen);
void series_axis_done(struct series_axis *a);

/* Adds what the site had to `into`, which has a figure for each point. With something
 * unknown a sum is unknown. */
void series_add(const struct series_axis *a, const struct prof *p, uint32_t site,
		int64_t *into);

/* The same with the sums of whole processes, which are always known. */
void series_add_all(const struct series_axis *a, const struct prof *p, int64_t *into);

#endif
