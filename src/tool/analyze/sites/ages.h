/* SPDX-License-Identifier: MIT */
/* ages.h -- how long blocks lived, and what a process held over time.
 *
 * Both come as they were recorded: lifetimes in classes, a point of the timeline each few
 * milliseconds. Nothing is estimated in between. */
#ifndef SEEP_ANALYZE_AGES_H
#define SEEP_ANALYZE_AGES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"

/* Blocks of the sites in a graph. In a sampled profile these are samples. */
struct ages {
	/* freed by their own thread before its next but one allocation */
	uint64_t temporary;
	uint64_t freed[PROF_LIFE_BUCKETS]; /* the rest, by age */
	uint64_t live;
	uint64_t all;
	bool known; /* the profile says how long blocks lived */
	bool samples;
};

void ages_count(struct ages *ret, const struct prof *p, const struct graph_query *q,
		const struct graph *g);

/* Ages in class `i` are below this; UINT64_MAX for the last. */
uint64_t ages_limit_ms(unsigned i);
/* and not below this. */
uint64_t ages_from_ms(unsigned i);

/* One stretch of a process's timeline: the largest figures in it. */
struct span {
	uint32_t from_ms, to_ms; /* of its first and last point */
	uint32_t rss_kib;	 /* 0 = not known */
	uint32_t own_kib;	 /* the recorder's share of it; 0 = not known */
	int64_t live_bytes;
	uint32_t points;
};

/* The points of `process` put into at most `most` spans of equal length, in order, or one
 * span each if `most` is 0; spans without a point are left out. Returns how many, and how
 * many points there are. The caller frees *ret_spans, which may be NULL. */
uint32_t spans_of(const struct prof *p, uint32_t process, uint32_t most,
		  struct span **ret_spans, uint32_t *ret_points);

#endif
