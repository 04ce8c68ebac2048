/* SPDX-License-Identifier: MIT */
/* tracee_copy.c -- a copy of a stopped process, to be looked at when it has gone on long
 * since.
 *
 * One of its threads is made to fork. The copy is traced by us from its first instruction
 * on and never executes any: should we be killed, the kernel kills it too, and before the
 * kernel has been told to, the instructions that it would execute end it. It sends no
 * signal when it ends, so that the process's own waiting for children does not see it;
 * but then it is the process that has to take it in, which one of its threads is made to
 * do at the end. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/target/proc/procstatus.h"
#include "tool/target/trace/tracee_impl.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"

enum { KILL_WAIT_MS = 5000, TAKE_IN_TRIES = 20 };

/* True: that process is the copy, and stands still. */
static bool
is_copy(int pid)
{
	int status;

	return pid > 0 &&
	       tracee_wait_stop(pid, clock_ms() + TRACEE_WAIT_MS, &status) == 0;
}

/* Where the kernel lists no children: whoever is one of the process's, and traced by
 * us. */
static int
find_by_status(const struct tracee *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int found = 0;

	while (found == 0 && dir != NULL && (d = readdir(dir)) != NULL) {
		int pid = atoi(d->d_name);

		if (pid > 0 && procstatus_number(pid, "PPid") == t->pid &&
		    procstatus_number(pid, "TracerPid") == getpid() && is_copy(pid))
			found = pid;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* A number that the process was given is its own idea of it; in another pid namespace it
 * has another one for us. */
static int
find_copy(const struct tracee *t, int number)
{
	int found = is_copy(number) ? number : 0;

	for (size_t i = 0; found == 0 && i < t->threads.len; i++) {
		struct buf b = {0};
		char path[96], *at;

		snprintf(path, sizeof path, "/proc/%d/task/%d/children", t->pid,
			 t->threads.data[i].tid);
		if (buf_read_file(&b, path, NULL) == 0) {
			at = b.data;
			for (long n = strtol(at, &at, 10); found == 0 && n > 0;
			     n = strtol(at, &at, 10))
				found = is_copy((int)n) ? (int)n : 0;
		}
		buf_done(&b);
	}
	return found != 0 ? found : find_by_status(t);
}

int
tracee_copy_make(struct tracee *t, struct tracee_copy *ret_copy, struct err *e)
{
	const uint64_t args[6] = {CLONE_PTRACE};
	struct tracee_copy c = {.of = t->pid};
	int64_t value = 0;
	int r = tracee_syscall(t, SYS_clone, args, &value, e);

	if (r < 0)
		return r;
	if (value < 0)
		return err_sys(e, (int)value, "%d: it may not fork", t->pid);
	c.number = (int)value;
	c.pid = find_copy(t, c.number);
	if (c.pid == 0)
		return err_set(e, -ECHILD, "%d: its copy cannot be found", t->pid);
	ptrace(PTRACE_SETOPTIONS, c.pid, NULL, (void *)(long)PTRACE_O_EXITKILL);
	*ret_copy = c;
	return 0;
}

/* What is left of the copy is a row in the process's table of children. */
static void
take_in(const struct tracee_copy *c, struct tracee *stopped)
{
	const uint64_t args[6] = {(uint64_t)c->number, 0, __WALL | WNOHANG};
	int64_t value;

	if (stopped != NULL) {
		tracee_syscall(stopped, SYS_wait4, args, &value, NULL);
		return;
	}
	/* Somebody else may be tracing it just now. */
	for (unsigned i = 0; i < TAKE_IN_TRIES; i++) {
		struct tracee t = TRACEE_NONE;
		int r = tracee_open(c->of, &t, NULL);

		if (r == 0)
			r = tracee_stop_one(&t, NULL);
		if (r == 0)
			r = tracee_syscall(&t, SYS_wait4, args, &value, NULL);
		tracee_close(&t);
		if (r == 0 || kill(c->of, 0) < 0)
			return;
		/* A timer's signal ends a nap early. */
		for (uint64_t until = clock_ms() + 100; clock_ms() < until;)
			clock_nap(10000000);
	}
}

void
tracee_copy_end(struct tracee_copy *c, struct tracee *stopped)
{
	uint64_t until = clock_ms() + KILL_WAIT_MS;
	int status = 0;

	if (c->pid == 0)
		return;
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, __WALL | WNOHANG) == 0 || WIFSTOPPED(status)) {
		if (clock_ms() > until)
			break;
		clock_nap(200000);
		status = 0;
	}
	take_in(c, stopped);
	*c = (struct tracee_copy){0};
}
