/* SPDX-License-Identifier: MIT */
/* test_tracee.c -- threads that end while they are traced: those of a process that we have started ourselves, too, whose
 * own end is for somebody else to wait for. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t.h"
#include "target/tracee_impl.h"

enum { WAIT_MS = 20000 };

/* A child of two threads. Each ends when its pipe does. */
struct child {
	int pid, tid;
	int thread_ends, ends; /* close it */
};

static int thread_pipe[2], main_pipe[2], tell_pipe[2];

static void *
second(void *arg)
{
	int tid = (int)syscall(SYS_gettid);
	char c;

	(void)arg;
	if (write(tell_pipe[1], &tid, sizeof tid) != sizeof tid ||
	    read(thread_pipe[0], &c, 1) != 0)
		_exit(1);
	return NULL;
}

static void
child_main(void)
{
	pthread_t thread;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(thread_pipe[1]);
	close(main_pipe[1]);
	if (pthread_create(&thread, NULL, second, NULL) != 0 ||
	    read(main_pipe[0], &c, 1) != 0)
		_exit(1);
	_exit(7);
}

static bool
start(struct child *c)
{
	bool ok;

	if (pipe(thread_pipe) < 0 || pipe(main_pipe) < 0 || pipe(tell_pipe) < 0)
		return false;
	c->pid = fork();
	if (c->pid == 0)
		child_main();
	close(thread_pipe[0]);
	close(main_pipe[0]);
	close(tell_pipe[1]);
	c->thread_ends = thread_pipe[1];
	c->ends = main_pipe[1];
	ok = read(tell_pipe[0], &c->tid, sizeof c->tid) == sizeof c->tid;
	close(tell_pipe[0]);
	return ok && ptrace(PTRACE_SEIZE, c->tid, NULL, NULL) == 0;
}

/* Its end, as whoever waits for it gets it; -1: it never comes. */
static int
end_of(const struct child *c)
{
	struct timespec nap = {.tv_nsec = 1000000};
	uint64_t until = tracee_now_ms() + WAIT_MS;
	int status = -1, r;

	close(c->ends);
	while ((r = waitpid(c->pid, &status, WNOHANG)) == 0 && tracee_now_ms() < until)
		nanosleep(&nap, NULL);
	if (r == 0)
		kill(c->pid, SIGKILL);
	return r == c->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

T_TEST(thread_of_our_child_ends_while_we_wait_for_it)
{
	struct child c;
	int status = 0;

	if (!start(&c))
		T_SKIP("not allowed to trace processes here");
	T_CHECK(tracee_is_own_child(c.pid));
	T_CHECK(!tracee_is_own_child(c.tid));
	close(c.thread_ends);
	T_EQ(tracee_wait_stop(c.tid, tracee_now_ms() + WAIT_MS, &status), -ESRCH);
	T_EQ(end_of(&c), 7);
}

T_TEST(thread_of_our_child_ends_after_it_was_let_go)
{
	struct timespec nap = {.tv_nsec = 1000000};
	uint64_t until = tracee_now_ms() + WAIT_MS;
	siginfo_t info;
	struct child c;

	if (!start(&c))
		T_SKIP("not allowed to trace processes here");
	tracee_go_later(c.tid);
	close(c.thread_ends);
	/* The handler of SIGCHLD takes its end, or nobody does. */
	do {
		nanosleep(&nap, NULL);
		info.si_pid = 0;
	} while (waitid(P_PID, (id_t)c.tid, &info,
			WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		 info.si_pid == 0 && tracee_now_ms() < until);
	tracee_late();
	T_EQ(end_of(&c), 7);
}

T_TEST(the_end_of_our_child_is_left_to_others)
{
	struct child c;
	int status = 0;

	if (!start(&c))
		T_SKIP("not allowed to trace processes here");
	T_EQ(ptrace(PTRACE_SEIZE, c.pid, NULL, NULL), 0);
	close(c.thread_ends);
	T_EQ(tracee_wait_stop(c.tid, tracee_now_ms() + WAIT_MS, &status), -ESRCH);
	close(c.ends);
	T_EQ(tracee_wait_stop(c.pid, tracee_now_ms() + WAIT_MS, &status), -ESRCH);
	T_EQ(waitpid(c.pid, &status, 0), c.pid);
	T_EQ(WEXITSTATUS(status), 7);
}

T_MAIN()
