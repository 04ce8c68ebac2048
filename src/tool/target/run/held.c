/* SPDX-License-Identifier: MIT */
/* held.c -- see held.h.
 *
 * The child asks to be traced, so the kernel stops it when the program is mapped and
 * nothing has run. Then the two bytes are put in, and it is let go again: from there on
 * it is like any other process, in a loop. Should we be killed meanwhile, so is it:
 * nobody else knows that it waits. */
#include "tool/target/run/held.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/target/trace/tracee.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

enum {
	REACH_MS = 60000, /* a loader with a thousand libraries on a slow disk */
	NAP_NS = 300000,
};

static const uint8_t loop[HELD_BYTES] = {0xeb, 0xfe}; /* jmp . */

bool
held_possible(void)
{
	return true;
}

int
held_prepare(void)
{
	pid_t parent = getppid();

	/* Without us nobody would let it begin. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return -errno;
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? -errno : 0;
}

/* Where the program begins: the kernel tells it the loader. */
static int
find_entry(int pid, uint64_t *ret_entry, struct err *e)
{
	struct buf b = {0};
	Elf64_auxv_t a;
	char path[64];
	int r;

	snprintf(path, sizeof path, "/proc/%d/auxv", file_proc_task(pid));
	r = buf_read_file(&b, path, e);
	for (size_t at = 0; r == 0 && at + sizeof a <= b.len; at += sizeof a) {
		memcpy(&a, b.data + at, sizeof a);
		if (a.a_type == AT_ENTRY) {
			*ret_entry = a.a_un.a_val;
			break;
		}
	}
	if (r == 0 && *ret_entry == 0)
		r = err_set(e, -ENOEXEC, "%d: its entry was not found", pid);
	buf_done(&b);
	return r;
}

/* Waits for the stop of exec. Signals that come before are the child's, and may end it:
 * that is looked at only, since how it ended is for whoever waits for it. */
static int
await_exec(int pid)
{
	for (;;) {
		siginfo_t info = {0};
		int r = waitid(P_PID, (id_t)pid, &info,
			       WSTOPPED | WEXITED | WNOWAIT | __WALL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 || info.si_code != CLD_TRAPPED)
			return -ESRCH;
		waitpid(pid, NULL, __WALL);
		if (info.si_status == SIGTRAP)
			return 0;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)info.si_status);
	}
}

int
held_take(int pid, struct held *ret, struct err *e)
{
	struct held h = {.pid = pid};
	struct tracee t = TRACEE_NONE;
	int r;

	if (await_exec(pid) < 0)
		return err_set(e, -ESRCH, "%d: it did not start", pid);
	r = tracee_open(pid, &t, e);
	if (r == 0)
		r = find_entry(pid, &h.entry, e);
	if (r == 0)
		r = tracee_read(&t, h.entry, h.before, sizeof h.before, e);
	if (r == 0)
		r = tracee_write(&t, h.entry, loop, sizeof loop, e);
	/* The stop of exec is a SIGTRAP that nobody is to get. */
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 && r == 0)
		r = err_sys(e, -errno, "%d: cannot let it go", pid);
	tracee_close(&t);
	if (r == 0)
		*ret = h;
	return r;
}

int
held_wait(const struct held *h, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	int r = tracee_open(h->pid, &t, e);
	bool there = false;

	for (unsigned ms = 0; r == 0 && !there && ms < REACH_MS; ms++) {
		clock_nap(NAP_NS);
		r = tracee_stop(&t, e);
		there = r == 0 && t.threads.len == 1 && t.threads.data[0].ip == h->entry;
		if (r == 0)
			tracee_go(&t);
	}
	tracee_close(&t);
	if (r == 0 && !there)
		r = err_set(
			e, -ETIMEDOUT,
			"%d: it does not reach its entry; use seep attach once it runs",
			h->pid);
	return r;
}

int
held_release(const struct held *h, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	int64_t value;
	int r = tracee_open(h->pid, &t, e);

	if (r == 0)
		r = tracee_stop(&t, e);
	if (r == 0) /* it may outlive us again */
		r = tracee_syscall(&t, SYS_prctl, (uint64_t[6]){PR_SET_PDEATHSIG, 0},
				   &value, e);
	if (r == 0)
		r = tracee_write(&t, h->entry, h->before, sizeof h->before, e);
	tracee_close(&t);
	return r;
}
