/* SPDX-License-Identifier: MIT */
/* heap_rounds.h -- repeated leak checks of a process that nobody recorded.
 *
 * Nobody knows when its blocks were allocated: they are known by address and size alone,
 * so one that was freed and allocated again in the same place is taken for the same.
 * Times are since the first check. */
#ifndef SEEP_SESSION_HEAP_ROUNDS_H
#define SEEP_SESSION_HEAP_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/heapscan.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/session/leaks/loss_watch.h"
#include "tool/util/err.h"

/* Start with `= {0}`. */
struct heap_rounds {
	int pid;
	bool any_size;	      /* copy it whatever memory is left */
	uint64_t max_stop_ns; /* 0 = any */
	struct heapcheck_opts how;
	/* told back */
	struct loss_watch watch;
	struct heapscan last; /* what the last check found; empty if none was made */
	uint64_t start_ns;    /* CLOCK_MONOTONIC, of the first */
};

/* One more check, on a copy. One that could not be made is noted with its reason. */
int heap_rounds_check(struct heap_rounds *r, struct err *e);
void heap_rounds_failed(struct heap_rounds *r, const char *why);

/* The last scan, with the moments and all checks in it. The caller's now. */
struct heapscan heap_rounds_take(struct heap_rounds *r);

void heap_rounds_done(struct heap_rounds *r);

#endif
