/* SPDX-License-Identifier: MIT */
/* run_inject.c -- see run_inject.h. */
#include "tool/session/run/run_inject.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

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

/* As the ticker does it: what came from the terminal the program has got itself. */
static void
pass_on(const struct run_inject *r, const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL && info->si_pid != r->pid)
		kill(r->pid, info->si_signo);
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

void
run_inject_wait(struct run_inject *r)
{
	bool exact = r->settings.attach.mode == REC_MODE_EXACT;
	struct timespec tick = {.tv_nsec = exact ? TICK_EXACT_NS : TICK_SAMPLED_NS};
	struct attached_kin kin = {.every_ns = CHILDREN_NS};
	sigset_t set;
	siginfo_t info;

	ticker_handled(&set);
	while (r->sessions.len > 0 && !has_ended(r)) {
		int sig = sigtimedwait(&set, &info, &tick);

		tracee_late(); /* its signal is among these */
		if (sig > 0 && sig != SIGCHLD)
			pass_on(r, &info);
		attached_tick(&r->sessions);
		if (r->children)
			attached_children(&r->sessions, &r->settings, &kin);
	}
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
