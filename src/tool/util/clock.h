/* SPDX-License-Identifier: MIT */
/* clock.h -- the time, as one number, and short waits. */
#ifndef SEEP_UTIL_CLOCK_H
#define SEEP_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Milliseconds of CLOCK_MONOTONIC. */
static inline uint64_t
clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Sleeps that long; a signal ends it early. */
static inline void
clock_nap(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&ts, NULL);
}

#endif
