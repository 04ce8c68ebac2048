/* SPDX-License-Identifier: MIT */
/* growth_floor.h -- does the memory that a site never falls below rise?
 *
 * The floor of an interval is the lowest of its snapshots. A job that comes and goes has
 * a floor that stays; something that accumulates has one that rises. Rising is a reason
 * to call a site GROWING, never to call it a leak. */
#ifndef SEEP_ANALYZE_GROWTH_FLOOR_H
#define SEEP_ANALYZE_GROWTH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/analyze/growth/growth.h"

enum { GROWTH_FLOORS_MAX = 20 };

struct growth_floor {
	unsigned intervals; /* that the time was cut into; 0 = too few points */
	unsigned grew;	    /* in so many of them the floor was higher than before */
	double second,
		last; /* mean floor of the second and of the last quarter, in bytes */
	int64_t second_blocks, last_blocks; /* fewest live blocks in them */
	bool fell;			    /* at least once it was lower than before */
	bool rises;
};

/* By the first `n` points. */
struct growth_floor growth_floor_judge(const struct growth *g, size_t n);

#endif
