/* SPDX-License-Identifier: MIT */
/* run_inject.c -- see run_inject.h. */
#include "tool/session/run/run_inject.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tool/session/loop.h"
#include "tool/target/run/held.h"
#include "tool/target/run/ticker.h"
#include "tool/target/trace/tracee.h"
#include "tool/util/x.h"

enum {
	TICK_EXACT_NS = 1000000,
	TICK_SAMPLED_NS = 10000000,
	CHILDREN_NS = 20000000, /* between two looks for new ones */
};

/* Kills what has not begun yet; or says how it ended by itself. */
static void
take_back(struct run_inject *r, bool ended)
{
	if (!ended)
		kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &r->wait_status, __WALL) < 0 && errno == EINTR)
		;
}

static int
put_in(struct run_inject *r, struct err *e)
{
	struct procfs_pids pids = {0};
	int n;

	vec_push(&pids, r->pid);
	n = attached_open(&pids, &r->settings, &r->sessions, e);
	vec_done(&pids);
	return n < 0 ? n : 0;
}

int
run_inject_start(struct run_inject *r, const struct launch *l, int *ret_status,
		 struct err *e)
{
	struct held h;
	int ret = launch_start(l, &r->pid, ret_status, e);

	if (ret < 0)
		return ret;
	ret = held_take(r->pid, &h, e);
	if (ret == 0)
		ret = held_wait(&h, e);
	if (ret == -ESRCH) { /* its loader has said why */
		take_back(r, true);
		return 0;
	}
	if (ret == 0)
		ret = put_in(r, e);
	if (ret == 0)
		ret = held_release(&h, e);
	if (ret < 0) {
		take_back(r, false);
		*ret_status = INSPECT_FAILED;
	}
	return ret;
}

static bool
has_ended(struct run_inject *r)
{
	int status, pid = waitpid(r->pid, &status, WNOHANG | __WALL);

	if (pid == 0 || (pid == r->pid && tracee_was_late(pid, status)))
		return false;
	if (pid == r->pid)
		r->wait_status = status;
	return true;
}

static int
inject_step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct run_inject *r = ctx;

	(void)l, (void)e;
	tracee_late(); /* its signal is among these */
	if (ev->sig > 0 && ev->sig != SIGCHLD)
		ticker_pass_on(r->pid, &ev->info);
	attached_tick(&r->sessions);
	if (r->children)
		attached_children(&r->sessions, &r->settings, &r->kin);
	return r->sessions.len > 0 && !has_ended(r) ? LOOP_GO_ON : LOOP_END;
}

int
run_inject_wait(struct run_inject *r, struct err *e)
{
	bool exact = r->settings.attach.mode == REC_MODE_EXACT;
	sigset_t set;
	struct loop l = {.tick_ns = exact ? TICK_EXACT_NS : TICK_SAMPLED_NS,
			 .signals = &set,
			 .step = inject_step,
			 .ctx = r};

	r->kin = (struct attached_kin){.every_ns = CHILDREN_NS};
	ticker_handled(&set);
	return r->sessions.len > 0 && !has_ended(r) ? loop_run(&l, e) : 0;
}

struct prof *
run_inject_load(struct run_inject *r)
{
	attached_detach(&r->sessions); /* out of children that go on */
	return attached_load(&r->sessions, NULL, r->children);
}

void
run_inject_done(struct run_inject *r)
{
	attached_done(&r->sessions);
}
