/* SPDX-License-Identifier: MIT */
/* pace.h -- how long the tool waits between two ticks of a recording's clock. */
#ifndef SEEP_TARGET_PACE_H
#define SEEP_TARGET_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t tick_ns; /* wait this long */
	uint64_t least_ns, most_ns, share;
	uint64_t next_ns, since_ns, cpu_ns; /* when to look again, and what was then */
};

/* `now` is of CLOCK_MONOTONIC. */
void pace_start(struct pace *p, bool sampled, uint64_t now);

/* After a tick: measures what they cost, now and then. */
void pace_adjust(struct pace *p, uint64_t now);

#endif
