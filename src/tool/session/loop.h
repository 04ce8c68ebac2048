/* SPDX-License-Identifier: MIT */
/* loop.h -- the event loop of a session: a tick, signals, a deadline.
 *
 * One wait (sigtimedwait), so a tick costs one system call; those who read keys as well
 * wait with ppoll. Whatever a command does again
 * and again is a step of this loop: `seep run`, `seep attach`, `seep watch`. */
#ifndef SEEP_SESSION_LOOP_H
#define SEEP_SESSION_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/util/err.h"

/* What a step returns; or a negative errno, which ends the loop. */
enum { LOOP_GO_ON = 0, LOOP_END = 1 };

/* Why a step is called. */
struct loop_event {
	int sig; /* 0 = the tick is over, or there is input */
	siginfo_t info;
	bool input;	 /* the descriptor can be read */
	uint64_t now_ns; /* CLOCK_MONOTONIC */
};

struct loop {
	uint64_t tick_ns; /* wait at most this long; a step may change it */
	/* CLOCK_MONOTONIC: the step after it is the last; 0 = none */
	uint64_t deadline_ns;
	const sigset_t
		*signals; /* that the steps get; NULL: SIGINT, SIGTERM and SIGHUP end
				  * the loop without another step */
	const int *input; /* a descriptor that the loop waits for, too; NULL = none */
	int (*step)(void *ctx, struct loop *l, const struct loop_event *ev,
		    struct err *e);
	void *ctx;
};

/* Waits and steps until something ends it. The signals are blocked meanwhile. */
int loop_run(struct loop *l, struct err *e);

/* SIGINT, SIGTERM, SIGHUP. */
void loop_ending(sigset_t *set);

/* The same thing again and again at even distances. */
struct loop_steps {
	uint64_t every_ns; /* at least 10 ms */
	uint64_t for_ns;   /* 0 = no end */
	uint64_t count;	   /* steps; 0 = no end */
	/* As loop.step; `seconds` since the first. */
	int (*step)(void *ctx, double seconds, struct err *e);
	void *ctx;
};

/* The first step comes at once. Time that a step takes is not added to the distance;
 * steps that would have begun meanwhile are left out. */
int loop_steps(const struct loop_steps *s, struct err *e);

#endif
