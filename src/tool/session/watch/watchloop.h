/* SPDX-License-Identifier: MIT */
/* watchloop.h -- does something again and again at even distances, until told to stop.
 *
 * SIGINT, SIGTERM and SIGHUP end the waiting, not the process: what was begun is then ended in
 * good order. Time that a step takes is not added to the distance; while one takes longer than
 * that, others are left out. */
#ifndef SEEP_SESSION_WATCHLOOP_H
#define SEEP_SESSION_WATCHLOOP_H

#include <stdint.h>

#include "tool/util/err.h"

enum { WATCHLOOP_GO_ON = 0, WATCHLOOP_END = 1 };

struct watchloop {
	uint64_t every_ns; /* at least 10 ms */
	uint64_t for_ns;   /* 0 = no end */
	uint64_t count;	   /* steps; 0 = no end */
	/* WATCHLOOP_GO_ON, WATCHLOOP_END, or a negative errno. `seconds` since the first. */
	int (*step)(void *ctx, double seconds, struct err *e);
	void *ctx;
};

int watchloop_run(const struct watchloop *l, struct err *e);

#endif
