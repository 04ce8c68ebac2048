/* SPDX-License-Identifier: MIT */
/* tracee.c -- see tracee.h.
 *
 * Some calls that a thread waits in would return EINTR for the stop alone (epoll_wait and a few others):
 * they are told to begin again.
 *
 * A signal that arrives while a thread is stopped for us is delivered at once, in the
 * regular way, with its handler begun and the thread stopped again; so none is lost or late. */
#include "target/tracee_impl.h"

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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/procfs.h"
#include "target/procstatus.h"
#include "util/buf.h"

#ifndef PTRACE_O_SUSPEND_SECCOMP
#	define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

enum {
	STUB_WAIT_MS = 10000,
	WAIT_NAP_NS = 5000000, /* should a SIGCHLD not come */
	ROUNDS_MAX = 64,       /* of looking for new threads */
	LATE_MAX = 1024,       /* threads that had not stopped when all were let go */
	STACK_LOOK =
		64 << 10, /* bytes of a stack that are looked at, from its pointer on */
	RED_ZONE = 128,
	KERNEL_RESTART = 514, /* -ERESTARTNOHAND: again, unless a handler runs */
};

uint64_t
tracee_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void
tracee_point(enum tracee_point point)
{
	const char *die = getenv("SEEP_TEST_DIE");

	if (die != NULL && atoi(die) == (int)point)
		raise(SIGKILL);
}

/* ---- memory ---- */

size_t
tracee_read_some(const struct tracee *t, uint64_t at, void *ret, size_t n)
{
	struct iovec to = {ret, n}, from = {(void *)(uintptr_t)at, n};
	ssize_t got = process_vm_readv(t->pid, &to, 1, &from, 1, 0);

	if (got < (ssize_t)n && t->mem_fd >= 0)
		got = pread(t->mem_fd, ret, n, (off_t)at);
	return got > 0 ? (size_t)got : 0;
}

int
tracee_read(const struct tracee *t, uint64_t at, void *ret, size_t n, struct err *e)
{
	if (tracee_read_some(t, at, ret, n) != n)
		return err_set(e, -EFAULT, "%d: cannot read %zu bytes at %#llx", t->pid,
			       n, (unsigned long long)at);
	return 0;
}

/* Word by word through the tracer's own way, for kernels that forbid the other. */
static int
poke(const struct tracee *t, uint64_t at, const unsigned char *from, size_t n)
{
	int tid = t->threads.len > 0 ? t->threads.data[0].tid : t->pid;

	while (n > 0) {
		uint64_t word = at & ~UINT64_C(7);
		size_t off = (size_t)(at - word), part = 8 - off < n ? 8 - off : n;
		long value;

		errno = 0;
		value = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)word, NULL);
		if (errno != 0)
			return -errno;
		memcpy((char *)&value + off, from, part);
		if (ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)word, (void *)value) <
		    0)
			return -errno;
		at += part;
		from += part;
		n -= part;
	}
	return 0;
}

int
tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t n,
	     struct err *e)
{
	ssize_t put = pwrite(t->mem_fd, from, n, (off_t)at);
	int r = put == (ssize_t)n ? 0 : poke(t, at, from, n);

	if (r < 0)
		return err_sys(e, r, "%d: cannot write %zu bytes at %#llx", t->pid, n,
			       (unsigned long long)at);
	return 0;
}

/* ---- stopping ---- */

int
tracee_open(int pid, struct tracee *ret_tracee, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", pid);
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

/* What has happened to a thread, taken as waitpid does. But the end of a process that is our own child stays for
 * whoever waits for it: then -1, and ECHILD. */
static int
take_status(int tid, int *ret_status)
{
	siginfo_t info = {0};
	struct procfs_stat st;

	if (waitid(P_PID, (id_t)tid, &info,
		   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	    info.si_pid == tid &&
	    (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
	     info.si_code == CLD_DUMPED) &&
	    procfs_stat(tid, &st, NULL) == 0 && st.ppid == (int)getpid()) {
		errno = ECHILD;
		return -1;
	}
	return waitpid(tid, ret_status, __WALL | WNOHANG);
}

/* Waits for a thread to stop; -ETIMEDOUT, or -ESRCH when it ended. The kernel tells us by SIGCHLD. */
int
tracee_wait_stop(int tid, uint64_t until_ms, int *ret_status)
{
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
		else if (tracee_now_ms() > until_ms)
			ret = -ETIMEDOUT;
		else
			sigtimedwait(&child, NULL, &nap);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

/* Waits until the thread is parked: in the stop that was asked for. Signals on the way are given to
 * it. */
int
tracee_wait_parked(int tid, uint64_t until_ms)
{
	int status, r;

	for (;;) {
		r = tracee_wait_stop(tid, until_ms, &status);
		if (r < 0 || tracee_is_parked(status))
			return r;
		/* PTRACE_EVENT_*: none were asked for; else it is about to get a signal. */
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
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

/* Asks all threads that are not traced yet to stop. *ret_new: there were some. */
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
	/* With SO_RCVTIMEO or SO_SNDTIMEO the calls on sockets are of that kind, too. EINTR says of
	 * each of these that nothing was done yet. */
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

static int
park_all(struct tracee *t, uint64_t until_ms, struct err *e)
{
	for (size_t i = 0; i < t->threads.len;) {
		struct tracee_thread *th = &t->threads.data[i];
		int r = th->stopped ? 0 : tracee_wait_parked(th->tid, until_ms);

		if (r == 0 && !th->stopped)
			r = tracee_look(th);
		if (r == -ETIMEDOUT)
			return err_set(e, r,
				       "%d: its thread %d did not stop within 2 s (state "
				       "%c); nothing was changed",
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

/* ---- those that stop too late ---- */

static volatile int late[LATE_MAX]; /* 0 = free */
/* WEXITED: its end may be taken too. Not that of our own child, which somebody waits for. */
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

static void
on_child(int sig)
{
	(void)sig;
	tracee_late();
}

/* Without this it would stand still from its stop on until we end. */
static void
let_go_later(int tid)
{
	struct sigaction act = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	struct procfs_stat st;
	bool own = procfs_stat(tid, &st, NULL) == 0 && st.ppid == (int)getpid();

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

/* Nobody is to stop or end us while the process stands still. */
static void
hold_signals(struct tracee *t)
{
	static const int held[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGINT,
				   SIGQUIT, SIGTERM, SIGHUP};
	sigset_t set;

	if (t->signals_held)
		return;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		sigaddset(&set, held[i]);
	sigprocmask(SIG_BLOCK, &set, &t->signals_before);
	t->signals_held = true;
}

static void
release_signals(struct tracee *t)
{
	if (t->signals_held)
		sigprocmask(SIG_SETMASK, &t->signals_before, NULL);
	t->signals_held = false;
}

static int
stop_once(struct tracee *t, struct err *e)
{
	uint64_t until = tracee_now_ms() + TRACEE_WAIT_MS;
	bool more = true;
	char byte;
	int r = 0;

	hold_signals(t);

	for (int i = 0; r == 0 && more && i < ROUNDS_MAX; i++) {
		r = seize_new(t, &more, e);
		if (r == 0 && more)
			r = park_all(t, until, e);
	}
	if (r == 0 && t->threads.len == 0)
		r = err_set(e, -ESRCH, "%d: it has ended", t->pid);
	else if (r == 0 && more)
		r = err_set(e, -EBUSY, "%d: it makes threads faster than they stop",
			    t->pid);
	/* The file sticks to the memory that it was opened for. */
	if (r == 0 && pread(t->mem_fd, &byte, 1, (off_t)t->cave) != 1)
		r = err_set(e, -ESRCH, "%d: it is another program now", t->pid);
	if (r < 0)
		tracee_go(t);
	return r;
}

void
tracee_go(struct tracee *t)
{
	tracee_stub_remove(t);
	for (size_t i = 0; i < t->threads.len; i++) {
		int tid = t->threads.data[i].tid;

		/* One that has not stopped yet cannot be let go: it is, as soon as it does. */
		if (ptrace(PTRACE_DETACH, tid, NULL, NULL) < 0 && errno == ESRCH)
			let_go_later(tid);
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

/* ---- where threads are ---- */

static bool
in_spans(uint64_t word, const struct tracee_span *spans, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (word >= spans[i].start && word < spans[i].end)
			return true;
	}
	return false;
}

static bool
thread_inside(const struct tracee *t, const struct tracee_thread *th,
	      const struct tracee_span *spans, unsigned n)
{
	static uint64_t words[STACK_LOOK / 8];
	struct user_regs_struct regs;
	const uint64_t *r = (const uint64_t *)(const void *)&regs;
	uint64_t at = (th->sp - RED_ZONE) & ~UINT64_C(7);
	size_t got;

	if (ptrace(PTRACE_GETREGS, th->tid, NULL, &regs) < 0)
		return true; /* who knows */
	for (size_t i = 0; i < sizeof regs / sizeof *r; i++) {
		if (in_spans(r[i], spans, n))
			return true;
	}
	got = tracee_read_some(t, at, words, sizeof words); /* or up to its end */
	for (size_t i = 0; i < got / 8; i++) {
		if (in_spans(words[i], spans, n))
			return true;
	}
	return false;
}

bool
tracee_inside(struct tracee *t, const struct tracee_span *spans, unsigned n)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		if (thread_inside(t, &t->threads.data[i], spans, n))
			return true;
	}
	return false;
}

/* All threads, with none of them in a stub that somebody left behind when he was killed: it needs
 * what is written there, until it has gone back by itself. */
int
tracee_stop(struct tracee *t, struct err *e)
{
	uint64_t until = tracee_now_ms() + STUB_WAIT_MS;
	int r = t->cave == 0 ? tracee_find_cave(t, e) : 0;

	if (r < 0)
		return r;
	for (;;) {
		struct tracee_span cave = {t->cave, t->cave + TRACEE_STUB_BYTES};
		struct timespec nap = {.tv_nsec = 20000000};

		r = stop_once(t, e);
		if (r < 0 || !tracee_inside(t, &cave, 1))
			return r;
		tracee_go(t);
		if (tracee_now_ms() > until)
			return err_set(e, -EBUSY, "%d: somebody else is at work in it",
				       t->pid);
		nanosleep(&nap, NULL);
	}
}
