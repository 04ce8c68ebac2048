/* SPDX-License-Identifier: MIT */
/* run_checks.h -- leak checks of the processes of a run while they run: `seep run
 * --check-every`.
 *
 * Each is made on a copy of the process, which stands still only until it is copied;
 * where no copy can be had, or it would take longer than allowed, the check is left out,
 * and that is said. The check at the end of a process is the last of them. */
#ifndef SEEP_SESSION_RUN_CHECKS_H
#define SEEP_SESSION_RUN_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/session/leaks/loss_watch.h"
#include "tool/target/run/ticker.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

/* Of one process. */
struct run_watch {
	uint32_t pid;
	uint64_t start_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC: when the next check is due */
	uint64_t gap;	  /* intervals to the next one: more after a long stop */
	struct loss_watch watch;
	struct leakcheck last; /* the last that was made while it ran */
};

/* Legal when zeroed: no checks. */
struct run_checks {
	uint64_t every_ns;    /* 0 = none */
	uint64_t max_stop_ns; /* 0 = any */
	VEC(struct run_watch) of;
	struct map rows;    /* process -> number in `of` + 1 */
	uint64_t search_ns; /* when to look for a process that is due */
};

/* Checks one process, if one is due. The recordings' clocks go on meanwhile. True: it
 * took a while, and SIGCHLD may have been taken by the tracer. */
bool run_checks_step(struct run_checks *c, struct ticker *t, uint64_t now_ns);

/* A process stands at its end, or its last check comes some other way: the watch that is
 * to take what `how.lost` finds, or NULL when there are no checks. */
struct loss_watch *run_checks_last(struct run_checks *c, const struct ticker_file *f);

/* Adds all of it to the profile of the run. */
void run_checks_save(const struct run_checks *c, struct prof *p);
void run_checks_done(struct run_checks *c);

#endif
