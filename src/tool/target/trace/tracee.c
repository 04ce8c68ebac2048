/* SPDX-License-Identifier: MIT */
/* tracee.c -- see tracee.h.
 *
 * Some calls that a thread waits in would return EINTR for the stop alone (epoll_wait and
 * a few others): they are told to begin again.
 *
 * A signal that arrives while a thread is stopped for us is delivered at once, in the
 * regular way, with its handler begun and the thread stopped again; so none is lost or
 * late.
 *
 * A signal that the program ignores is not even sent; but it is as soon as the thread
 * that it is for is traced. If that one stands still, another thread gets it, drops it,
 * and its call returns EINTR; we can only help if we trace that one, too. So all threads
 * are traced before the first is stopped; and those that such signals are for, the first
 * thread and those that have children, are let go first, and not taken when one thread is
 * enough. */
#include "tool/target/trace/tracee_impl.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procstatus.h"
#include "tool/target/trace/tracee_nice.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

#ifndef PTRACE_O_SUSPEND_SECCOMP
#	define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

enum {
	STUB_WAIT_MS = 30000,
	WAIT_NAP_NS = 500000, /* should a SIGCHLD not come, or not soon */
	ONE_WAIT_MS = 200,    /* before another thread is tried */
	ROUNDS_MAX = 64,      /* of looking for new threads */
	DEEP_LOOK_MS = 20,    /* a thread that does not stop is looked at so often, */
	DEEP_LOOKS = 2,	      /* and, asleep for so many looks, is not waited for */
	KERNEL_RESTART = 514, /* -ERESTARTNOHAND: again, unless a handler runs */
};

bool
tracee_point_is(enum tracee_point point)
{
	const char *die = getenv("SEEP_TEST_DIE");

	return die != NULL && point != 0 && atoi(die) == (int)point;
}

void
tracee_point(enum tracee_point point)
{
	if (tracee_point_is(point))
		raise(SIGKILL);
}

/* ---- stopping ---- */

int
tracee_open(int pid, struct tracee *ret_tracee, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", file_proc_task(pid));
	prctl(PR_SET_TIMERSLACK, 1); /* while it stands still, every microsecond counts */
	t.pid = pid;
	t.mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (t.mem_fd < 0)
		return err_sys(e, -errno, "%d: cannot open its memory", pid);
	t.suspend_seccomp = procstatus_most(pid, "Seccomp") == 2;
	*ret_tracee = t;
	return 0;
}

bool
tracee_is_parked(int status)
{
	return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
}

bool
tracee_is_own_child(int tid)
{
	struct procfs_stat st;

	return procfs_stat(tid, &st, NULL) == 0 && st.ppid == (int)getpid() &&
	       procstatus_number(tid, "Tgid") == tid;
}

/* What has happened to a thread, taken as waitpid does. But the end of a process that is
 * our own child stays for whoever waits for it: then -1, and ECHILD. */
static int
take_status(int tid, int *ret_status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)tid, &info,
		   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	    info.si_pid == tid &&
	    (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
	     info.si_code == CLD_DUMPED) &&
	    tracee_is_own_child(tid)) {
		errno = ECHILD;
		return -1;
	}
	return waitpid(tid, ret_status, __WALL | WNOHANG);
}

/* Waits for a thread to stop; -ETIMEDOUT, or -ESRCH when it ended. The kernel tells us by
 * SIGCHLD. */
int
tracee_wait_stop(int tid, uint64_t until_ms, int *ret_status)
{
	uint64_t raise_ms = clock_ms() + TRACEE_NICE_GRACE_MS;
	sigset_t child, before;
	int ret = 1;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	while (ret == 1) {
		struct timespec nap = {.tv_nsec = WAIT_NAP_NS};
		int r = take_status(tid, ret_status);

		if (r == tid)
			ret = WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
		else if (r < 0 && errno != EINTR)
			ret = -ESRCH;
		else if (clock_ms() > until_ms)
			ret = -ETIMEDOUT;
		else if (tracee_nice_scarce() || clock_ms() > raise_ms)
			tracee_nice_raise(tid);
		if (ret == 1 && sigtimedwait(&child, NULL, &nap) == SIGCHLD)
			tracee_late(); /* it may have been for one of those */
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

/* Waits until the thread is parked: in the stop that was asked for. Signals on the way
 * are given to it. */
int
tracee_wait_parked(int tid, uint64_t until_ms)
{
	int status, r;

	for (;;) {
		r = tracee_wait_stop(tid, until_ms, &status);
		if (r < 0 || tracee_is_parked(status))
			return r;
		/* PTRACE_EVENT_*: none were asked for; else it is about to get a
		 * signal. */
		if (ptrace(PTRACE_CONT, tid, NULL,
			   (void *)(long)(status >> 16 == 0 ? WSTOPSIG(status) : 0)) < 0)
			return -errno;
	}
}

static struct tracee_thread *
find_thread(struct tracee *t, int tid)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		if (t->threads.data[i].tid == tid)
			return &t->threads.data[i];
	}
	return NULL;
}

static char
thread_state(int pid, int tid)
{
	char path[64], *at;
	struct buf b = {0};
	char state = 'X';

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	if (buf_read_file(&b, path, NULL) == 0) {
		at = strrchr(buf_str(&b), ')');
		if (at != NULL && at[1] == ' ')
			state = at[2];
	}
	buf_done(&b);
	return state;
}

static int
seize(struct tracee *t, int tid, struct err *e)
{
	long options = t->suspend_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0;

	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) < 0) {
		char state = thread_state(t->pid, tid);

		if (errno == ESRCH || state == 'Z' || state == 'X')
			return 0; /* it has ended */
		return err_sys(e, -errno, "%d: cannot trace its thread %d", t->pid, tid);
	}
	vec_push(&t->threads, (struct tracee_thread){.tid = tid});
	return 0;
}

/* Traces all threads that are not traced yet. *ret_new: there were some. */
static int
seize_new(struct tracee *t, bool *ret_new, struct err *e)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int r = 0;

	*ret_new = false;
	snprintf(path, sizeof path, "/proc/%d/task", t->pid);
	dir = opendir(path);
	if (dir == NULL)
		return err_set(e, -ESRCH, "%d: it has ended", t->pid);
	while (r == 0 && (d = readdir(dir)) != NULL) {
		int tid = atoi(d->d_name);
		size_t before = t->threads.len;

		if (tid <= 0 || find_thread(t, tid) != NULL)
			continue;
		r = seize(t, tid, e);
		/* One that ended meanwhile may have cut the list short. */
		*ret_new = *ret_new || t->threads.len > before ||
			   thread_state(t->pid, tid) != 'Z';
	}
	closedir(dir);
	return r;
}

/* Some calls fail with EINTR after any stop: let them go on waiting instead. */
static bool
fails_after_stop(uint64_t nr)
{
	/* With SO_RCVTIMEO or SO_SNDTIMEO the calls on sockets are of that kind, too.
	 * EINTR says of each of these that nothing was done yet. */
	static const uint16_t calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		441 /* epoll_pwait2 */,
		SYS_semop,
		SYS_semtimedop,
		SYS_rt_sigtimedwait,
		SYS_read,
		SYS_readv,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_accept,
		SYS_accept4,
		SYS_connect,
		SYS_write,
		SYS_writev,
		SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg,
		SYS_io_getevents,
		333 /* io_pgetevents */,
		426 /* io_uring_enter */,
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (nr == calls[i])
			return true;
	}
	return false;
}

/* Takes in where a stopped thread is. */
int
tracee_look(struct tracee_thread *th)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, th->tid, NULL, &regs) < 0)
		return -errno;
	if ((int64_t)regs.rax == -EINTR && fails_after_stop(regs.orig_rax)) {
		regs.rax = (uint64_t)-KERNEL_RESTART;
		ptrace(PTRACE_SETREGS, th->tid, NULL, &regs);
	}
	th->ip = regs.rip;
	th->sp = regs.rsp;
	th->tp = regs.fs_base;
	th->stopped = true;
	return 0;
}

/* Waits for one thread. -EAGAIN: it sleeps where nothing wakes it (state D), and the
 * others stand still meanwhile. One that only waits for a processor is waited for. */
static int
park_one(const struct tracee *t, int tid, uint64_t until_ms)
{
	unsigned deep = 0;
	int r;

	do {
		uint64_t soon = clock_ms() + DEEP_LOOK_MS;

		r = tracee_wait_parked(tid, soon < until_ms ? soon : until_ms);
		if (r != -ETIMEDOUT)
			return r;
		deep = thread_state(t->pid, tid) == 'D' ? deep + 1 : 0;
	} while (deep < DEEP_LOOKS && clock_ms() < until_ms);
	return deep < DEEP_LOOKS ? r : -EAGAIN;
}

/* Asks all threads to stop, and waits for them. */
static int
park_all(struct tracee *t, uint64_t until_ms, struct err *e)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		if (!t->threads.data[i].stopped)
			ptrace(PTRACE_INTERRUPT, t->threads.data[i].tid, NULL, NULL);
	}
	for (size_t i = 0; i < t->threads.len;) {
		struct tracee_thread *th = &t->threads.data[i];
		int r = th->stopped ? 0 : park_one(t, th->tid, until_ms);

		if (r == 0 && !th->stopped)
			r = tracee_look(th);
		if (r == -ETIMEDOUT || r == -EAGAIN)
			return err_set(e, r,
				       "%d: its thread %d did not stop within 2 s (state "
				       "%c); nothing was changed, try again later",
				       t->pid, th->tid, thread_state(t->pid, th->tid));
		if (r < 0) { /* ended meanwhile */
			*th = *vec_last(&t->threads);
			t->threads.len--;
			continue;
		}
		i++;
	}
	return 0;
}

/* ---- all of them ---- */

/* Nobody is to stop or end us while the process stands still. */
static void
hold_signals(struct tracee *t)
{
	static const int held[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGINT,
				   SIGQUIT, SIGTERM, SIGHUP};
	sigset_t set;
	bool raised;

	if (t->signals_held)
		return;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		sigaddset(&set, held[i]);
	sigprocmask(SIG_BLOCK, &set, &t->signals_before);
	t->signals_held = true;
	/* Others wait for us: who may, goes first. */
	errno = 0;
	t->nice_before = getpriority(PRIO_PROCESS, 0);
	raised = errno == 0 && setpriority(PRIO_PROCESS, 0, TRACEE_NICE_MOST) == 0;
	if (!raised)
		t->nice_before = TRACEE_NICE_MOST;
	tracee_nice_begin(t->pid, raised);
}

static void
release_signals(struct tracee *t)
{
	if (!t->signals_held)
		return;
	tracee_nice_end();
	if (t->nice_before != TRACEE_NICE_MOST)
		setpriority(PRIO_PROCESS, 0, t->nice_before);
	sigprocmask(SIG_SETMASK, &t->signals_before, NULL);
	t->signals_held = false;
}

/* Whether signals that the program ignores may be for this thread: those sent by others
 * are for the first one, and SIGCHLD is for the one that has the child. */
static bool
gets_ignored(const struct tracee *t, int tid)
{
	struct buf b = {0};
	char path[96];
	bool some;

	if (tid == t->pid)
		return true;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", t->pid, tid);
	some = buf_read_file(&b, path, NULL) == 0 && b.len > 0;
	buf_done(&b);
	return some;
}

/* Lets those go on that have stopped; the others are still asked to. */
static void
let_stopped_go(struct tracee *t)
{
	for (size_t i = 0; i < t->threads.len;) {
		struct tracee_thread *th = &t->threads.data[i];

		if (!th->stopped || ptrace(PTRACE_DETACH, th->tid, NULL, NULL) < 0) {
			i++;
			continue;
		}
		*th = *vec_last(&t->threads);
		t->threads.len--;
	}
}

/* Waits until all of those have stopped that did not before; who is not the last goes on
 * at once, so that none stands still for another. */
static void
await_deep(struct tracee *t, uint64_t until_ms)
{

	while (t->threads.len > 0 && clock_ms() < until_ms) {
		for (size_t i = 0; i < t->threads.len;) {
			struct tracee_thread *th = &t->threads.data[i];
			int r = tracee_wait_parked(th->tid, 0);

			if (r == -ETIMEDOUT) {
				i++;
				continue;
			}
			if (r == 0 && t->threads.len == 1 && tracee_look(th) == 0)
				return;
			ptrace(PTRACE_DETACH, th->tid, NULL, NULL);
			*th = *vec_last(&t->threads);
			t->threads.len--;
		}
		clock_nap(1000000);
	}
}

static int
stop_once(struct tracee *t, struct err *e)
{
	uint64_t until = clock_ms() + TRACEE_WAIT_MS;
	bool more = true;
	char byte;
	int r = 0;

	hold_signals(t);
	t->since_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; r == 0 && more && i < ROUNDS_MAX; i++) {
		size_t before = t->threads.len;

		r = seize_new(t, &more, e);
		for (size_t k = before; k < t->threads.len; k++)
			t->threads.data[k].first =
				gets_ignored(t, t->threads.data[k].tid);
		if (r == 0 && more)
			r = park_all(t, until, e);
		if (r == -EAGAIN && clock_ms() < until) {
			let_stopped_go(t);
			release_signals(t);
			await_deep(t, until);
			hold_signals(t);
			t->since_ns = clock_ns(CLOCK_MONOTONIC);
			r = 0;
			more = true;
		}
	}
	if (r == 0 && t->threads.len == 0)
		r = err_set(e, -ESRCH, "%d: it has ended", t->pid);
	else if (r == 0 && more)
		r = err_set(e, -EBUSY,
			    "%d: it makes threads faster than they stop; try again",
			    t->pid);
	/* The file sticks to the memory that it was opened for. */
	if (r == 0 && pread(t->mem_fd, &byte, 1, (off_t)t->cave) != 1)
		r = err_set(e, -ESRCH, "%d: it has ended, or is another program now",
			    t->pid);
	if (r < 0)
		tracee_go(t);
	return r;
}

static int
stop_this(struct tracee *t, int tid, struct err *e)
{
	int r = seize(t, tid, e);

	if (r < 0 || find_thread(t, tid) == NULL)
		return r < 0 ? r : -ESRCH;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	r = tracee_wait_parked(tid, clock_ms() + ONE_WAIT_MS);
	return r < 0 ? r : tracee_look(find_thread(t, tid));
}

/* One that takes long to stop, in the kernel, is left for the next; what is not parked is
 * let go at the end. */
int
tracee_stop_one(struct tracee *t, struct err *e)
{
	char path[64];
	int r = t->cave == 0 ? tracee_find_cave(t, e) : 0;

	if (r < 0)
		return r;
	snprintf(path, sizeof path, "/proc/%d/task", t->pid);
	hold_signals(t);
	r = err_set(e, -ESRCH, "%d: it has ended", t->pid);
	for (int last = 0; r < 0 && last < 2; last++) {
		struct dirent *d;
		DIR *dir = opendir(path);

		while (r < 0 && dir != NULL && (d = readdir(dir)) != NULL) {
			int tid = atoi(d->d_name);

			if (tid > 0 && find_thread(t, tid) == NULL &&
			    gets_ignored(t, tid) == (last == 1))
				r = stop_this(t, tid, e);
		}
		if (dir != NULL)
			closedir(dir);
	}
	if (r < 0)
		tracee_go(t);
	return r;
}

static void
let_go(const struct tracee_thread *th)
{
	/* One that has not stopped yet cannot be let go: it is, as soon as it does. */
	if (!th->stopped)
		ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
	if (!th->stopped ||
	    (ptrace(PTRACE_DETACH, th->tid, NULL, NULL) < 0 && errno == ESRCH))
		tracee_go_later(th->tid);
}

void
tracee_go(struct tracee *t)
{
	tracee_stub_remove(t);
	for (size_t i = 0; i < t->threads.len; i++) {
		if (t->threads.data[i].first)
			let_go(&t->threads.data[i]);
	}
	for (size_t i = 0; i < t->threads.len; i++) {
		if (!t->threads.data[i].first)
			let_go(&t->threads.data[i]);
	}
	vec_done(&t->threads);
	release_signals(t);
}

void
tracee_close(struct tracee *t)
{
	tracee_go(t);
	if (t->mem_fd >= 0)
		close(t->mem_fd);
	t->mem_fd = -1;
}

/* All threads, with none of them in a stub that somebody left behind when he was killed:
 * it needs what is written there, until it has gone back by itself. */
int
tracee_stop(struct tracee *t, struct err *e)
{
	uint64_t until = clock_ms() + STUB_WAIT_MS;
	int r = t->cave == 0 ? tracee_find_cave(t, e) : 0;

	if (r < 0)
		return r;
	for (;;) {
		struct tracee_span cave = {t->cave, t->cave + t->cave_bytes};

		r = stop_once(t, e);
		if (r < 0 || !tracee_inside(t, &cave, 1))
			return r;
		tracee_stub_hurry(t);
		tracee_go(t);
		if (clock_ms() > until)
			return err_set(e, -EBUSY,
				       "%d: another seep is at work in it; try again",
				       t->pid);
		clock_nap(20000000);
	}
}
