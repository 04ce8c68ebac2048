/* SPDX-License-Identifier: MIT */
/* growth_live.h -- does the live memory of a whole process rise? By its timeline, for
 * processes whose sites nobody took snapshots of while they ran (`seep attach --stay`,
 * always-on recordings). */
#ifndef SEEP_ANALYZE_GROWTH_LIVE_H
#define SEEP_ANALYZE_GROWTH_LIVE_H

#include <stdint.h>

#include "tool/model/prof.h"

enum {
	GROWTH_LIVE_INTERVALS = 20, /* that the time is cut into */
	GROWTH_LIVE_MS = 2500,	    /* shortest time that says something */
};

enum growth_live {
	GROWTH_LIVE_UNKNOWN = 0, /* too short, or nothing is live */
	GROWTH_LIVE_FLAT,	 /* the memory that it never falls below did not rise */
	/* it did, or may have: by more than chance explains since the first half */
	GROWTH_LIVE_ROSE,
};

enum growth_live growth_live_judge(const struct prof *p, uint32_t process,
				   uint64_t end_ms);

#endif
