/* SPDX-License-Identifier: MIT */
/* tracee_call.c -- system calls made by a stopped thread. See tracee.h.
 *
 * A thread executes a stub (tracee_stub.c), which makes all calls of a batch: on a
 * machine with too few processors the thread has to wait for one every time that it is
 * let go, and all others stand still with it. (Stepping over single instructions would be
 * simpler. But whoever dies while his tracee is in such a step leaves it with a deadly
 * SIGTRAP.) The thread may be in the middle of a system call of its own: with all
 * registers put back, the number of that call among them, the kernel restarts it. A
 * signal that comes first is delivered in between, and the rest of the batch is made by
 * another stub. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "shared/compiler.h"
#include "tool/target/trace/tracee_nice.h"
#include "tool/target/trace/tracee_stub.h"
#include "tool/util/clock.h"

enum {
	STUB_NAP_NS = 5000,
	STUB_STACK_BELOW = 512, /* clear of the thread's red zone */
	RED_ZONE = 128,
	TRIES_MAX = 200, /* for one call: as many signals may come first */
};

/* What the stub uses below the stack. With a small stack that may be another's: it gets
 * back what was there. */
struct below {
	uint64_t sp; /* of the stub */
	uint64_t words[STUB_FRAME_WORDS];
};

static uint64_t
below_start(const struct below *b)
{
	return b->sp - sizeof b->words;
}

static uint64_t
frame_word(const struct tracee *t, const struct below *b, int off)
{
	uint64_t word = 0;

	tracee_read(t, b->sp + (uint64_t)off, &word, sizeof word, NULL);
	return word;
}

/* Waits until the thread has written to a word of its frame, or has made all calls. Or
 * until a signal has stopped it on the way, or it is late. */
static void
stub_await(const struct tracee *t, int tid, const struct below *b, int off,
	   uint64_t until_ms)
{
	uint64_t raise_ms = clock_ms() + TRACEE_NICE_GRACE_MS, nap_ns = STUB_NAP_NS;
	siginfo_t info;

	do {
		if (clock_ms() > raise_ms)
			tracee_nice_raise(tid);
		clock_nap(nap_ns);
		if (nap_ns < 40 * STUB_NAP_NS)
			nap_ns += STUB_NAP_NS;
		if (frame_word(t, b, off) != STUB_SENTINEL ||
		    frame_word(t, b, STUB_DONE_OFF) != STUB_SENTINEL)
			return;
		info.si_pid = 0;
	} while (clock_ms() < until_ms &&
		 waitid(P_PID, (id_t)tid, &info,
			WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		 info.si_pid == 0);
}

/* Stops a thread that runs in the stub. *ret_signal: what it is about to be given
 * instead; 0: nothing, it is parked. */
static int
stub_stop(int tid, int *ret_signal)
{
	int status, r;

	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	r = tracee_wait_stop(tid, clock_ms() + TRACEE_WAIT_MS, &status);
	if (r < 0)
		return r;
	*ret_signal =
		tracee_is_parked(status) || status >> 16 != 0 ? 0 : WSTOPSIG(status);
	return 0;
}

static void
below_back(const struct tracee *t, const struct below *b)
{
	tracee_write(t, below_start(b), b->words, sizeof b->words, NULL);
}

/* Back to where the thread was, and to the signal that came meanwhile: the frame of its
 * handler lies where we have been, so what was there is put back first. */
static int
stub_leave(const struct tracee *t, int tid, const struct user_regs_struct *before,
	   const struct below *b, int sig)
{
	below_back(t, b);
	if (ptrace(PTRACE_SETREGS, tid, NULL, before) < 0)
		return -errno;
	if (sig == 0)
		return 0;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)sig) < 0)
		return -errno;
	return tracee_wait_parked(tid, clock_ms() + TRACEE_WAIT_MS);
}

/* In a restartable sequence (rseq) a thread must not go on once it has been interrupted.
 * The kernel sees to that by its instruction pointer, which is in the stub when it looks:
 * so it is done here. */
static int
leave_rseq(const struct tracee *t, int tid, struct user_regs_struct *regs)
{
	enum { CS_OFF = 8 };
	const enum __ptrace_request get_rseq = 0x420f; /* PTRACE_GET_RSEQ_CONFIGURATION */
	struct {
		uint64_t at;
		uint32_t size, signature, flags, pad;
	} conf = {0};
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} cs = {0};
	uint64_t at = 0, none = 0;

	if (ptrace(get_rseq, tid, (void *)sizeof conf, &conf) < 0 || conf.at == 0 ||
	    tracee_read(t, conf.at + CS_OFF, &at, sizeof at, NULL) < 0 || at == 0 ||
	    tracee_read(t, at, &cs, sizeof cs, NULL) < 0 ||
	    regs->rip - cs.start >= cs.bytes)
		return 0;
	regs->rip = cs.abort;
	if (tracee_write(t, conf.at + CS_OFF, &none, sizeof none, NULL) < 0 ||
	    ptrace(PTRACE_SETREGS, tid, NULL, regs) < 0)
		return -EFAULT;
	return 0;
}

/* Something is wrong with a thread that may still be in the stub: that stays, and the
 * thread goes back from there by itself. */
static int
stub_abandon(struct tracee *t, int tid, const struct stub_run *run, const struct below *b,
	     int r)
{
	if (run->n == 1)
		below_back(t, b); /* otherwise later calls need what is there */
	t->cave_used = false;
	for (size_t i = 0; i < t->threads.len; i++) {
		if (t->threads.data[i].tid == tid)
			t->threads.data[i].stopped = false;
	}
	return r;
}

/* Whether the stub has been taken from under the thread's feet, by another tool that
 * thought itself alone. */
static bool
stub_is_gone(const struct tracee *t, int tid, const struct user_regs_struct *regs,
	     int sig)
{
	siginfo_t info = {0};

	return (sig == SIGSEGV || sig == SIGILL || sig == SIGBUS) &&
	       regs->rip >= t->cave && regs->rip < t->cave + t->cave_bytes &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* What we have to do between two calls is done while the thread waits for it. Once. */
static int
open_gate(const struct tracee *t, struct stub_run *run, int tid, const struct below *b,
	  uint64_t until_ms, struct err *e)
{
	struct tracee_call *c = &run->calls[run->gate];
	uint64_t go = 1;
	int64_t value;
	int r = 0;

	stub_await(t, tid, b, STUB_SLOT_OFF(run->gate - 1), until_ms);
	value = (int64_t)frame_word(t, b, STUB_SLOT_OFF(run->gate - 1));
	if ((uint64_t)value == STUB_SENTINEL || value < 0)
		return 0;
	c[-1].value = value;
	r = c->before(c->ctx, e);
	c->before = NULL;
	if (r < 0)
		go = 2;
	tracee_write(t, b->sp + (uint64_t)STUB_GATE_OFF, &go, sizeof go, NULL);
	return r;
}

/* Lets the thread go until it has made its calls, or a signal has stopped it.
 * *ret_before: what `before` has returned. */
static int
run_thread(struct tracee *t, struct stub_run *run, int tid, const struct below *b,
	   struct user_regs_struct *ret_regs, int *ret_signal, int *ret_before,
	   struct err *e)
{
	uint64_t until = clock_ms() + TRACEE_WAIT_MS;
	int r;

	do {
		if (tracee_nice_scarce())
			tracee_nice_raise(tid);
		if (ptrace(PTRACE_CONT, tid, NULL, NULL) < 0)
			return -errno;
		tracee_point(TRACEE_STUB_RUNS);
		if (t->meanwhile != NULL) {
			void (*meanwhile)(void *) = t->meanwhile;

			t->meanwhile = NULL;
			meanwhile(t->meanwhile_ctx);
		}
		if (run->gate > 0 && run->calls[run->gate].before != NULL)
			*ret_before = open_gate(t, run, tid, b, until, e);
		stub_await(t, tid, b, STUB_DONE_OFF, until);
		r = stub_stop(tid, ret_signal);
		if (r == 0 && ptrace(PTRACE_GETREGS, tid, NULL, ret_regs) < 0)
			r = -errno;
	} while (r == 0 && *ret_signal == 0 && ret_regs->rip >= t->cave + STUB_ENTRY &&
		 ret_regs->rip < t->cave + t->cave_bytes && clock_ms() < until);
	return r;
}

/* Takes in the results. False: the thread has left the stub, and nobody knows. */
static bool
take_results(const struct tracee *t, const struct stub_run *run, const struct below *b,
	     const struct user_regs_struct *regs)
{
	uint64_t off = regs->rip - t->cave;

	if (off >= t->cave_bytes)
		return false;
	for (unsigned i = 0; i < run->n; i++) {
		struct tracee_call *c = &run->calls[i];
		uint64_t slot = frame_word(t, b, STUB_SLOT_OFF(i));

		c->made = slot != STUB_SENTINEL ||
			  (off >= STUB_ENTRY && off >= run->after[i]);
		if (c->made)
			c->value = (int64_t)(slot != STUB_SENTINEL ? slot : regs->rax);
	}
	return true;
}

static int
frame_write(const struct tracee *t, const struct below *b)
{
	uint64_t frame[STUB_FRAME_WORDS];

	for (unsigned i = 0; i < STUB_FRAME_WORDS; i++)
		frame[i] = STUB_SENTINEL;
	frame[0] = 0; /* the gate is closed */
	return tracee_write(t, below_start(b), frame, sizeof frame, NULL);
}

static struct user_regs_struct
stub_regs(const struct tracee *t, const struct user_regs_struct *before,
	  const struct tracee_call *c, const struct below *b)
{
	struct user_regs_struct regs = *before;

	regs.rip = t->cave + STUB_ENTRY;
	regs.rsp = b->sp;
	regs.rax = (uint64_t)c->nr;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = c->args[0];
	regs.rsi = c->args[1];
	regs.rdx = c->args[2];
	regs.r10 = c->args[3];
	regs.r8 = c->args[4];
	regs.r9 = c->args[5];
	return regs;
}

/* What to do with a thread that the stub has been executed by. */
static int
stub_after(struct tracee *t, struct stub_run *run, int tid, const struct below *b,
	   const struct user_regs_struct *before, const struct user_regs_struct *regs,
	   int sig)
{
	int r;

	if (stub_is_gone(t, tid, regs, sig)) {
		r = stub_leave(t, tid, before, b, 0);
		return r < 0 ? r : -EAGAIN;
	}
	if (!take_results(t, run, b, regs)) {
		/* Left alone for too long it has gone back by itself. What it has below
		 * its stack by now is its own. */
		if (regs->rsp - RED_ZONE >= b->sp)
			below_back(t, b);
		return -EIO;
	}
	tracee_point(TRACEE_STUB_MADE);
	r = stub_leave(t, tid, before, b, sig);
	if (r == 0 && !run->calls[0].made)
		r = sig != 0 ? -EAGAIN : -ETIMEDOUT;
	return r;
}

/* One stub with as many of the calls as fit. -EAGAIN: a signal came first and was
 * delivered, or the stub had gone. */
static int
stub_try(struct tracee *t, int tid, struct stub_run *run, struct err *e)
{
	struct user_regs_struct before, regs;
	struct below below;
	int sig = 0, ready = 0, r;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &before) < 0)
		return -errno;
	below.sp = (before.rsp - STUB_STACK_BELOW) & ~UINT64_C(15);
	r = tracee_read(t, below_start(&below), below.words, sizeof below.words, NULL);
	if (r == 0)
		r = leave_rseq(t, tid, &before);
	if (r < 0)
		return r;
	t->cave_used = true;
	r = tracee_stub_write(t, &before, run);
	if (r == 0)
		r = frame_write(t, &below);
	regs = stub_regs(t, &before, &run->calls[0], &below);
	if (r == 0 && ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
		r = -errno;
	if (r < 0) {
		below_back(t, &below);
		return r;
	}
	tracee_point(TRACEE_STUB_SET);
	r = run_thread(t, run, tid, &below, &regs, &sig, &ready, e);
	if (r < 0)
		return stub_abandon(t, tid, run, &below, r);
	r = stub_after(t, run, tid, &below, &before, &regs, sig);
	return r == 0 ? ready : r;
}

/* A thread that executes code of 64 bits, which the stub is; the number of threads: none
 * does. */
static void
able_thread(const struct tracee *t, size_t *ret_index)
{
	enum { USER_CS = 0x33 };
	struct user_regs_struct regs;

	for (*ret_index = 0; *ret_index < t->threads.len; (*ret_index)++) {
		if (ptrace(PTRACE_GETREGS, t->threads.data[*ret_index].tid, NULL,
			   &regs) == 0 &&
		    regs.cs == USER_CS)
			return;
	}
}

static bool
has_failed(const struct tracee_call *c)
{
	return c->maps ? c->value != (int64_t)c->args[0] : c->value < 0 && !c->may_fail;
}

/* What would be done between the calls, and is not since this is where a stub begins. */
static int
begin_run(struct tracee *t, struct tracee_call *calls, size_t i, struct err *e)
{
	struct tracee_call *c = &calls[i];
	uint32_t word;
	int r = 0;

	if (c->before != NULL)
		r = c->before(c->ctx, e);
	c->before = NULL;
	if (r == 0 && c->word != 0 && c->clears &&
	    tracee_read(t, c->word, &word, sizeof word, NULL) == 0) {
		word &= ~c->bits;
		r = tracee_write(t, c->word, &word, sizeof word, e);
	}
	return r;
}

int
tracee_calls(struct tracee *t, struct tracee_call *calls, size_t n, struct err *e)
{
	size_t able, i = 0;
	unsigned tries = 0;
	int r;

	able_thread(t, &able);
	if (able == t->threads.len)
		return err_set(e, -ENOTSUP,
			       "%d: none of its threads runs 64-bit code; use seep watch",
			       t->pid);
	while (i < n) {
		struct stub_run run = {.calls = calls + i, .n = (unsigned)(n - i)};
		struct err why = {0};

		if (i == 0)
			run.first = calls;
		for (size_t k = i; i > 0 && k < n; k++) {
			if (calls[k].first_arg > 0)
				calls[k].args[calls[k].first_arg - 1] =
					(uint64_t)calls[0].value;
		}
		r = begin_run(t, calls, i, e);
		if (r < 0)
			return r;
		r = stub_try(t, t->threads.data[able].tid, &run, &why);
		if (r == -EAGAIN && why.code == 0 && ++tries < TRIES_MAX)
			continue;
		if (r == -EAGAIN && why.code == 0)
			return err_set(
				e, r,
				"%d: receives signals faster than a system call can be made in "
				"it; try again; try again",
				t->pid);
		if (r == 0)
			r = tracee_look(&t->threads.data[able]);
		if (r < 0 && why.code != 0)
			return err_set(e, r, "%s", why.msg);
		if (r < 0)
			return err_sys(e, r, "%d: cannot make a system call in its name",
				       t->pid);
		for (; run.n > 0 && calls[i].made; run.n--, i++) {
			if (calls[i].point != 0)
				tracee_point(calls[i].point);
			if (has_failed(&calls[i]))
				return 0;
		}
	}
	return 0;
}

int
tracee_syscall(struct tracee *t, long nr, const uint64_t args[6], int64_t *ret_value,
	       struct err *e)
{
	struct tracee_call c = {.nr = nr, .may_fail = true};
	int r;

	memcpy(c.args, args, sizeof c.args);
	r = tracee_calls(t, &c, 1, e);
	if (r == 0)
		*ret_value = c.value;
	return r;
}
