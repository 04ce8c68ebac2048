/* SPDX-License-Identifier: MIT */
/* growth_cohort.h -- the blocks of a site that outlived the others: do they keep arriving
 * evenly?
 *
 * A leak is a share of blocks that are never freed, however many others are. It shows
 * among the blocks that are older than the usual ones get: hardly any of them was freed,
 * and they came at the same rate all the time, up to the end. A cache that fills, a start
 * phase or a few bursts do not. */
#ifndef SEEP_ANALYZE_GROWTH_COHORT_H
#define SEEP_ANALYZE_GROWTH_COHORT_H

#include <stdint.h>

#include "tool/analyze/growth/growth.h"

enum growth_cohort_how {
	GROWTH_COHORT_NONE = 0, /* births are not known */
	GROWTH_COHORT_FREED,	/* at every age blocks are freed */
	GROWTH_COHORT_FEW,
	GROWTH_COHORT_STEPS, /* fewer than eight bursts */
	GROWTH_COHORT_UNEVEN,
	GROWTH_COHORT_STOPPED,
	GROWTH_COHORT_SLOWING,
	GROWTH_COHORT_EVEN,
};

struct growth_cohort {
	enum growth_cohort_how how;
	uint64_t age_ms;      /* blocks older than this; 0 = all */
	uint64_t live, freed; /* of these */
	uint64_t coming;      /* of the live ones: without those of a start phase */
	double slope, error;  /* bytes a second that stay */
	/* parts that come apart from each other, up to the end; 0 = there are none */
	unsigned steps;
	uint64_t last_ms, step_ms; /* the last one's time, and the usual distance */
};

struct growth_cohort growth_cohort_judge(const struct growth *g);

#endif
