/* SPDX-License-Identifier: MIT */
/* watchloop.c -- see watchloop.h. */
#include "tool/session/watch/watchloop.h"
#include "tool/util/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

enum { LEAST_NS = 10000000 };

/* Waits until then. True when a signal came first. */
static bool
wait_until(uint64_t when, const sigset_t *ends)
{
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC),
			 left = when > now ? when - now : 0;
		struct timespec ts = {.tv_sec = (time_t)(left / 1000000000),
				      .tv_nsec = (long)(left % 1000000000)};

		if (sigtimedwait(ends, NULL, &ts) > 0)
			return true;
		if (errno == EAGAIN)
			return false;
	}
}

int
watchloop_run(const struct watchloop *l, struct err *e)
{
	uint64_t every = l->every_ns > LEAST_NS ? l->every_ns : LEAST_NS;
	uint64_t start = clock_ns(CLOCK_MONOTONIC),
		 end = l->for_ns > 0 ? start + l->for_ns : UINT64_MAX;
	sigset_t ends, before;
	bool told = false;
	int r = 0;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	for (uint64_t n = 1; !told; n++) {
		uint64_t at = clock_ns(CLOCK_MONOTONIC), next;

		r = l->step(l->ctx, (double)(at - start) / 1e9, e);
		at = clock_ns(CLOCK_MONOTONIC);
		if (r != WATCHLOOP_GO_ON || n == l->count || at >= end)
			break;
		/* Steps that were missed are not made up for: bunched up they say nothing. The
		 * last one falls on the end itself. */
		next = start + ((at - start) / every + 1) * every;
		told = wait_until(next < end ? next : end, &ends);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? r : 0;
}
