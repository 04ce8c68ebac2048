/* SPDX-License-Identifier: MIT */
/* test_tracee.c -- threads that end while they are traced: those of a process that we
 * have started ourselves, too, whose own end is for somebody else to wait for. */
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
#include "tool/target/trace/tracee_impl.h"
#include "tool/util/clock.h"

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
	uint64_t until = clock_ms() + WAIT_MS;
	int status = -1, r;

	close(c->ends);
	while ((r = waitpid(c->pid, &status, WNOHANG)) == 0 && clock_ms() < until)
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
	T_EQ(tracee_wait_stop(c.tid, clock_ms() + WAIT_MS, &status), -ESRCH);
	T_EQ(end_of(&c), 7);
}

T_TEST(thread_of_our_child_ends_after_it_was_let_go)
{
	struct timespec nap = {.tv_nsec = 1000000};
	uint64_t until = clock_ms() + WAIT_MS;
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
		 info.si_pid == 0 && clock_ms() < until);
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
	T_EQ(tracee_wait_stop(c.tid, clock_ms() + WAIT_MS, &status), -ESRCH);
	close(c.ends);
	T_EQ(tracee_wait_stop(c.pid, clock_ms() + WAIT_MS, &status), -ESRCH);
	T_EQ(waitpid(c.pid, &status, 0), c.pid);
	T_EQ(WEXITSTATUS(status), 7);
}

/* One that is asleep where no stop reaches it: until what it has started by vfork ends,
 * at the end of `*ret_wakes`. Then it ends with 7 when `*ret_ends` does. */
static int
start_deep(int *ret_wakes, int *ret_ends)
{
	int wakes[2], ends[2], told[2], pid;
	char c;

	if (pipe(wakes) < 0 || pipe(ends) < 0 || pipe(told) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(wakes[1]);
		close(ends[1]);
		if (vfork() == 0) {
			if (write(told[1], "x", 1) != 1 || read(wakes[0], &c, 1) != 0)
				_exit(1);
			_exit(0);
		}
		_exit(read(ends[0], &c, 1) == 0 ? 7 : 1);
	}
	close(wakes[0]);
	close(ends[0]);
	close(told[1]);
	T_EQ(read(told[0], &c, 1), 1);
	close(told[0]);
	*ret_wakes = wakes[1];
	*ret_ends = ends[1];
	return pid;
}

T_TEST(one_that_stops_late_is_let_go_while_another_is_waited_for)
{
	struct child other;
	sigset_t set, before;
	siginfo_t info = {0};
	int wakes, ends, pid, status = 0;

	if (!start(&other))
		T_SKIP("not allowed to trace processes here");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	pid = start_deep(&wakes, &ends);
	T_EQ(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	T_EQ(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	tracee_go_later(pid);
	close(wakes);
	T_EQ(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
	T_EQ(info.si_code, CLD_TRAPPED);
	T_EQ(tracee_wait_stop(other.tid, clock_ms() + 300, &status), -ETIMEDOUT);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends);
	T_EQ(waitpid(pid, &status, 0), pid);
	T_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	kill(pid, SIGKILL);
	close(other.thread_ends);
	T_EQ(tracee_wait_stop(other.tid, clock_ms() + WAIT_MS, &status), -ESRCH);
	T_EQ(end_of(&other), 7);
}

T_TEST(a_late_stop_is_not_an_end)
{
	int wakes, ends, pid = start_deep(&wakes, &ends), status = 0;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0) {
		kill(pid, SIGKILL);
		T_SKIP("not allowed to trace processes here");
	}
	T_EQ(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	close(wakes);
	T_EQ(waitpid(pid, &status, __WALL), pid);
	T_CHECK(tracee_was_late(pid, status));
	close(ends);
	T_EQ(waitpid(pid, &status, 0), pid);
	T_CHECK(!tracee_was_late(pid, status));
	T_EQ(WEXITSTATUS(status), 7);
}

T_MAIN()
