/* SPDX-License-Identifier: MIT */
/* loop.c -- see loop.h. */
#include "tool/session/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tool/util/clock.h"

enum { LEAST_NS = 10000000 };

#define NS_PER_S UINT64_C(1000000000)

void
loop_ending(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* Until there is input, a signal or the end of the time. Signals that are pending must
 * end the wait though they are blocked: they are let in, to a descriptor. */
static void
wait_for_input(const struct loop *l, int signals, struct timespec *ts,
	       struct loop_event *ret)
{
	struct pollfd fds[] = {{.fd = *l->input, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};

	if (ppoll(fds, 2, ts, NULL) > 0)
		ret->input = fds[0].revents != 0;
	*ts = (struct timespec){0}; /* what there is by now, without another wait */
}

/* Until a signal, input, the end of the tick or the deadline. */
static int
wait_for(const struct loop *l, const sigset_t *signals, int fd, struct loop_event *ret,
	 struct err *e)
{
	uint64_t ns = l->tick_ns, now;
	struct timespec ts;

	if (l->deadline_ns != 0) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now + ns > l->deadline_ns)
			ns = l->deadline_ns > now ? l->deadline_ns - now : 0;
	}
	ts = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S)};
	ret->input = false;
	if (fd >= 0)
		wait_for_input(l, fd, &ts, ret);
	ret->sig = sigtimedwait(signals, &ret->info, &ts);
	if (ret->sig < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(e, -errno, "cannot wait for signals");
	if (ret->sig < 0)
		ret->sig = 0;
	ret->now_ns = clock_ns(CLOCK_MONOTONIC);
	return 0;
}

int
loop_run(struct loop *l, struct err *e)
{
	const sigset_t *signals = l->signals;
	sigset_t ending, before;
	struct loop_event ev;
	int r = LOOP_GO_ON, fd = -1;

	loop_ending(&ending);
	if (signals == NULL)
		signals = &ending;
	sigprocmask(SIG_BLOCK, signals, &before);
	if (l->input != NULL && (fd = signalfd(-1, signals, SFD_CLOEXEC)) < 0)
		r = err_sys(e, -errno, "cannot wait for signals");
	while (r == LOOP_GO_ON) {
		r = wait_for(l, signals, fd, &ev, e);
		if (r < 0 || (ev.sig != 0 && l->signals == NULL))
			break;
		r = l->step(l->ctx, l, &ev, e);
		if (r == LOOP_GO_ON && l->deadline_ns != 0 && ev.now_ns >= l->deadline_ns)
			r = LOOP_END;
	}
	if (fd >= 0)
		close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? r : 0;
}

/* ---- even distances ---- */

struct even {
	const struct loop_steps *s;
	uint64_t every, start_ns, done;
};

static int
even_step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct even *v = ctx;
	uint64_t now;
	int r = v->s->step(v->s->ctx, (double)(ev->now_ns - v->start_ns) / 1e9, e);

	if (r != LOOP_GO_ON || ++v->done == v->s->count)
		return r < 0 ? r : LOOP_END;
	/* Steps that were missed are not made up for: bunched up they say nothing. The
	 * last one falls on the deadline itself. */
	now = clock_ns(CLOCK_MONOTONIC);
	if (l->deadline_ns != 0 && now >= l->deadline_ns)
		return LOOP_END;
	l->tick_ns = v->start_ns + ((now - v->start_ns) / v->every + 1) * v->every - now;
	return LOOP_GO_ON;
}

int
loop_steps(const struct loop_steps *s, struct err *e)
{
	struct even v = {.s = s,
			 .every = s->every_ns > LEAST_NS ? s->every_ns : LEAST_NS,
			 .start_ns = clock_ns(CLOCK_MONOTONIC)};
	struct loop l = {.deadline_ns = s->for_ns > 0 ? v.start_ns + s->for_ns : 0,
			 .step = even_step,
			 .ctx = &v};

	return loop_run(&l, e);
}
