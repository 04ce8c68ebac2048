/* SPDX-License-Identifier: MIT */
/* forecast.h -- how fast a process grows as a whole, and when it reaches its memory
 * limit.
 *
 * From its resident memory over time (prof.points) without what the recorder takes,
 * because that is what the kernel counts: sites that grow explain a part of it, or more
 * than all where other memory is given back. Pure. */
#ifndef SEEP_ANALYZE_FORECAST_H
#define SEEP_ANALYZE_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"

struct forecast {
	bool known;	     /* its resident memory was looked at often enough */
	bool grows;	     /* more than noise, and to the end */
	double slope, error; /* of the process, bytes a second */
	/* until the limit is reached; 0 = not in sight, or there is none */
	double seconds;
	bool machine; /* that limit is the machine's memory */
	uint64_t limit_bytes;
	uint32_t processes; /* that `slope` is of */
};

/* Seconds until growth by `slope` bytes a second has used up `left_bytes`; 0 = not within
 * ten years. */
double forecast_seconds(double left_bytes, double slope);

/* `sites_slope`, in bytes a second, is what counts where the process's own growth is not
 * known. */
struct forecast forecast_of(const struct prof *p, uint32_t process, double sites_slope);

/* The same of all running processes that are `in`, whose growth adds up, if they share
 * the limit of `process`. If they do not, nothing grows: there is no single time to
 * tell. */
struct forecast forecast_of_all(const struct prof *p, const bool *in, uint32_t process,
				double sites_slope);

#endif
