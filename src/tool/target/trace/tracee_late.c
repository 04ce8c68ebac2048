/* SPDX-License-Identifier: MIT */
/* tracee_late.c -- threads that were asked to stop and had not when all were let go.
 *
 * They would stand still from their stop on until we end. A handler of SIGCHLD lets each
 * go as soon as it stops; who keeps that signal blocked calls tracee_late whenever it
 * came. */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/target/trace/tracee_impl.h"

enum { LATE_MAX = 1024 };

static volatile int late[LATE_MAX]; /* 0 = free */
/* WEXITED: its end may be taken too. Not that of our own child, which somebody waits
 * for. */
static volatile int late_ends[LATE_MAX];

void
tracee_late(void)
{
	int was = errno;

	for (unsigned i = 0; i < LATE_MAX; i++) {
		siginfo_t info = {0};
		int tid = late[i];

		if (tid == 0)
			continue;
		if (waitid(P_PID, (id_t)tid, &info,
			   WSTOPPED | late_ends[i] | WNOHANG | __WALL) == 0 &&
		    info.si_pid == 0)
			continue;
		late[i] = 0;
		/* The status of a stop is the signal, and the event above it. */
		if (info.si_pid == tid && info.si_code == CLD_TRAPPED)
			ptrace(PTRACE_DETACH, tid, NULL,
			       (void *)(long)(info.si_status >> 8 == 0 ? info.si_status
								       : 0));
	}
	errno = was;
}

bool
tracee_was_late(int pid, int status)
{
	if (!WIFSTOPPED(status))
		return false;
	ptrace(PTRACE_DETACH, pid, NULL,
	       (void *)(long)(status >> 16 == 0 ? WSTOPSIG(status) : 0));
	return true;
}

static void
on_child(int sig)
{
	(void)sig;
	tracee_late();
}

void
tracee_go_later(int tid)
{
	struct sigaction act = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	bool own = tracee_is_own_child(tid);

	sigaction(SIGCHLD, &act, NULL);
	for (unsigned i = 0; i < LATE_MAX; i++) {
		if (late[i] == 0) {
			late_ends[i] = own ? 0 : WEXITED;
			late[i] = tid;
			break;
		}
	}
	tracee_late();
}
