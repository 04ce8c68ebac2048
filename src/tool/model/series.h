/* SPDX-License-Identifier: MIT */
/* series.h -- live bytes of every site over time. */
#ifndef SEEP_MODEL_SERIES_H
#define SEEP_MODEL_SERIES_H

#include "tool/model/prof.h"

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

#endif
