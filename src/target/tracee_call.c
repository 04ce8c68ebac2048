/* SPDX-License-Identifier: MIT */
/* tracee_call.c -- system calls made by a stopped thread. See tracee.h.
 *
 * A system call is made by a few instructions that are written for the time being into the unused
 * end of a page of code. They wait for us afterwards, but not for ever: if we were killed, they
 * put all registers back by themselves. (Stepping over a single instruction would be simpler. But
 * whoever dies while his tracee is in such a step leaves it with a deadly SIGTRAP.) The thread may
 * be in the middle of a system call of its own: with all registers put back, the number of that
 * call among them, the kernel restarts it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/compiler.h"
#include "target/procfs.h"
#include "target/tracee_impl.h"
#include "target/tracee_nice.h"
#include "util/buf.h"

/* What is written into the cave: the system call, then a pause of some tenths of a second, in which we stop
 * the thread, take the result and put its registers back. If we are gone by then, the rest does
 * that: all registers from the words behind the code, which leaves out nothing. */
#define MOV_FROM(rex, modrm, word) rex, 0x8b, modrm, WORD_AT(word)
#define WORD_AT(word) (word), 0, 0, 0 /* patched: distance to saved[word] */

enum saved_word {
	SAVED_R15,
	SAVED_R14,
	SAVED_R13,
	SAVED_R12,
	SAVED_RBP,
	SAVED_RBX,
	SAVED_R11,
	SAVED_R10,
	SAVED_R9,
	SAVED_R8,
	SAVED_RAX,
	SAVED_RCX,
	SAVED_RDX,
	SAVED_RSI,
	SAVED_RDI,
	SAVED_RSP,
	SAVED_FLAGS,
	SAVED_RIP,
	SAVED_WORDS,
};

static const uint8_t stub_code[] = {
	0x0f,
	0x05, /*    syscall */
	0x48,
	0x85,
	0xc0, /*    test %rax, %rax */
	0x75,
	0x0d, /*    jnz 2f */
	0x85,
	0xdb, /*    test %ebx, %ebx: 1 in a copy of the process, made by clone */
	0x74,
	0x09, /*    jz 2f */
	0xb8,
	0xe7,
	0x00,
	0x00,
	0x00, /*    mov $SYS_exit_group, %eax: it must never go on */
	0x31,
	0xff, /*    xor %edi, %edi */
	0x0f,
	0x05, /*    syscall */
	0x48,
	0x89,
	0x44,
	0x24,
	0xf8, /* 2: mov %rax, -8(%rsp) */
	0xb9,
	0x00,
	0x00,
	0x00,
	0x01, /*    mov $0x1000000, %ecx */
	0xf3,
	0x90, /* 1: pause */
	0xff,
	0xc9, /*    dec %ecx */
	0x75,
	0xfa, /*    jnz 1b */
	0xff,
	0x35,
	WORD_AT(SAVED_FLAGS),		 /*    push flags */
	0x9d,				 /*    popfq */
	MOV_FROM(0x4c, 0x3d, SAVED_R15), /*    mov word(%rip), %r15 … */
	MOV_FROM(0x4c, 0x35, SAVED_R14),
	MOV_FROM(0x4c, 0x2d, SAVED_R13),
	MOV_FROM(0x4c, 0x25, SAVED_R12),
	MOV_FROM(0x48, 0x2d, SAVED_RBP),
	MOV_FROM(0x48, 0x1d, SAVED_RBX),
	MOV_FROM(0x4c, 0x1d, SAVED_R11),
	MOV_FROM(0x4c, 0x15, SAVED_R10),
	MOV_FROM(0x4c, 0x0d, SAVED_R9),
	MOV_FROM(0x4c, 0x05, SAVED_R8),
	MOV_FROM(0x48, 0x05, SAVED_RAX),
	MOV_FROM(0x48, 0x0d, SAVED_RCX),
	MOV_FROM(0x48, 0x15, SAVED_RDX),
	MOV_FROM(0x48, 0x35, SAVED_RSI),
	MOV_FROM(0x48, 0x3d, SAVED_RDI),
	MOV_FROM(0x48, 0x25, SAVED_RSP),
	0xff,
	0x25,
	WORD_AT(SAVED_RIP), /*    jmp *word(%rip) */
};

enum {
	STUB_DONE = 2,	/* from here on the system call has been made, */
	STUB_BACK = 36, /* and from here on the thread goes back by itself */
	STUB_WORDS = (sizeof stub_code + 15) & ~15,
	STUB_TEXT = STUB_WORDS + SAVED_WORDS * 8, /* what tracee.text is */
	STUB_TEXT_BYTES = 16,
	STUB_BYTES = STUB_TEXT + STUB_TEXT_BYTES,
	STUB_NAP_NS = 5000,
	STUB_STACK_BELOW = 512, /* clear of the thread's red zone */
};

/* No system call returns this. */
#define STUB_SENTINEL UINT64_C(0x5ee95ee95ee95ee9)

_Static_assert((int)STUB_BYTES <= (int)TRACEE_STUB_BYTES, "room for it");

static uint64_t
stub_word(const struct user_regs_struct *r, enum saved_word word)
{
	switch (word) {
	case SAVED_R15:
		return r->r15;
	case SAVED_R14:
		return r->r14;
	case SAVED_R13:
		return r->r13;
	case SAVED_R12:
		return r->r12;
	case SAVED_RBP:
		return r->rbp;
	case SAVED_RBX:
		return r->rbx;
	case SAVED_R11:
		return r->r11;
	case SAVED_R10:
		return r->r10;
	case SAVED_R9:
		return r->r9;
	case SAVED_R8:
		return r->r8;
	case SAVED_RAX:
		return r->rax;
	case SAVED_RCX:
		return r->rcx;
	case SAVED_RDX:
		return r->rdx;
	case SAVED_RSI:
		return r->rsi;
	case SAVED_RDI:
		return r->rdi;
	case SAVED_RSP:
		return r->rsp;
	case SAVED_FLAGS:
		return r->eflags;
	default:
		return r->rip;
	}
}

/* As the kernel would do it when the thread goes on: an interrupted system call begins again. */
static struct user_regs_struct
restarted(struct user_regs_struct r)
{
	int64_t got = (int64_t)r.rax;

	if ((int64_t)r.orig_rax < 0 || got > -512 || got < -516 || got == -515)
		return r;
	r.rip -= 2;
	r.rax = got == -516 ? SYS_restart_syscall : r.orig_rax;
	return r;
}

static int
stub_write(struct tracee *t, const struct user_regs_struct *before)
{
	struct user_regs_struct back = restarted(*before);
	uint8_t stub[STUB_BYTES] = {0};
	uint64_t *saved = (uint64_t *)(void *)(stub + STUB_WORDS);

	memcpy(stub, stub_code, sizeof stub_code);
	for (size_t i = STUB_BACK; i < sizeof stub_code;) {
		size_t opcode = stub_code[i] == 0x9d ? 1 : stub_code[i] == 0xff ? 2 : 3;
		int32_t distance;

		i += opcode;
		if (opcode == 1)
			continue;
		distance = (int32_t)(STUB_WORDS + stub_code[i] * 8) - (int32_t)(i + 4);
		memcpy(stub + i, &distance, 4);
		i += 4;
	}
	for (unsigned i = 0; i < SAVED_WORDS; i++) {
		uint64_t word = stub_word(&back, i);

		memcpy(&saved[i], &word, sizeof word);
	}
	if (t->text != NULL)
		snprintf((char *)stub + STUB_TEXT, STUB_TEXT_BYTES, "%s", t->text);
	return tracee_write(t, t->cave, stub, sizeof stub, NULL);
}

uint64_t
tracee_text_at(const struct tracee *t)
{
	return t->cave + STUB_TEXT;
}

/* Room for the stub: the unused end of an executable mapping. Nothing else is ever there: code ends
 * before, and what else is in that page of the file is read elsewhere. */
int
tracee_find_cave(struct tracee *t, struct err *e)
{
	char path[64], *at;
	struct buf maps = {0};
	struct procfs_map m;
	int r;

	snprintf(path, sizeof path, "/proc/%d/maps", t->pid);
	r = buf_read_file(&maps, path, e);
	at = maps.data;
	while (r == 0 && at != NULL && t->cave == 0 && procfs_next_map(&at, &m)) {
		uint8_t end[STUB_BYTES + 64];
		uint64_t from = (m.end - sizeof end) & ~UINT64_C(63);
		size_t zeros = 0;

		if (m.perms[2] != 'x' || m.perms[3] != 'p' || m.perms[1] == 'w' ||
		    (m.inode == 0 && strcmp(m.path, "[vdso]") != 0) ||
		    tracee_read_some(t, from, end, sizeof end) < STUB_BYTES)
			continue;
		while (zeros < STUB_BYTES && end[zeros] == 0)
			zeros++;
		/* One that we left there when we were killed. */
		if (zeros == STUB_BYTES || memcmp(end, stub_code, STUB_BACK) == 0)
			t->cave = from;
	}
	buf_done(&maps);
	if (r == 0 && t->cave == 0)
		r = err_set(e, -ENOSPC,
			    "%d: no unused end of a page of code found to work from",
			    t->pid);
	return r;
}

void
tracee_stub_hurry(const struct tracee *t)
{
	uint8_t code[STUB_BACK];

	if (tracee_read(t, t->cave, code, sizeof code, NULL) < 0 ||
	    memcmp(code, stub_code, sizeof code) != 0)
		return;
	for (size_t i = 0; i < t->threads.len; i++) {
		const struct tracee_thread *th = &t->threads.data[i];
		struct user_regs_struct regs;

		if (th->ip <= t->cave + STUB_DONE || th->ip >= t->cave + STUB_BACK ||
		    ptrace(PTRACE_GETREGS, th->tid, NULL, &regs) < 0)
			continue;
		regs.rip = t->cave + STUB_BACK;
		ptrace(PTRACE_SETREGS, th->tid, NULL, &regs);
	}
}

void
tracee_stub_remove(struct tracee *t)
{
	static const uint8_t zeros[STUB_BYTES];

	if (t->cave_used)
		tracee_write(t, t->cave, zeros, sizeof zeros, NULL);
	t->cave_used = false;
}

/* Waits until the thread has made the system call: its result is on the stack then. Or until a
 * signal has stopped it on the way, or it is late. */
static void
stub_await(const struct tracee *t, int tid, uint64_t result_at, uint64_t until_ms)
{
	struct timespec nap = {.tv_nsec = STUB_NAP_NS};
	uint64_t word, raise_ms = tracee_now_ms() + TRACEE_NICE_GRACE_MS;
	siginfo_t info;

	do {
		if (tracee_nice_scarce() || tracee_now_ms() > raise_ms)
			tracee_nice_raise(tid);
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 40 * STUB_NAP_NS)
			nap.tv_nsec += STUB_NAP_NS;
		if (tracee_read(t, result_at, &word, sizeof word, NULL) < 0 ||
		    word != STUB_SENTINEL)
			return;
		info.si_pid = 0;
	} while (tracee_now_ms() < until_ms &&
		 waitid(P_PID, (id_t)tid, &info,
			WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		 info.si_pid == 0);
}

/* Stops a thread that runs in the stub. *ret_signal: what it is about to be given instead; 0: nothing,
 * it is parked. */
static int
stub_stop(int tid, int *ret_signal)
{
	int status, r;

	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	r = tracee_wait_stop(tid, tracee_now_ms() + TRACEE_WAIT_MS, &status);
	if (r < 0)
		return r;
	*ret_signal =
		tracee_is_parked(status) || status >> 16 != 0 ? 0 : WSTOPSIG(status);
	return 0;
}

/* What lies below a small stack may be another's: it gets back what the stub wrote there. */
struct below {
	uint64_t at, words[2];
};

static void
below_back(const struct tracee *t, const struct below *b)
{
	tracee_write(t, b->at, b->words, sizeof b->words, NULL);
}

/* Back to where the thread was, and to the signal that came meanwhile: the frame of its handler lies where we have been,
 * so what was there is put back first. */
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
	return tracee_wait_parked(tid, tracee_now_ms() + TRACEE_WAIT_MS);
}

/* In a restartable sequence (rseq) a thread must not go on once it has been interrupted. The kernel
 * sees to that by its instruction pointer, which is in the stub when it looks: so it is done here. */
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

/* Something is wrong with a thread that may still be in the stub: that stays, and the thread goes back from there by
 * itself. */
static int
stub_abandon(struct tracee *t, int tid, const struct below *b, int r)
{
	below_back(t, b);
	t->cave_used = false;
	for (size_t i = 0; i < t->threads.len; i++) {
		if (t->threads.data[i].tid == tid)
			t->threads.data[i].stopped = false;
	}
	return r;
}

/* Whether the stub has been taken from under the thread's feet, by another tool that thought itself alone. */
static bool
stub_is_gone(const struct tracee *t, int tid, const struct user_regs_struct *regs,
	     int sig)
{
	siginfo_t info = {0};

	return (sig == SIGSEGV || sig == SIGILL || sig == SIGBUS) &&
	       regs->rip >= t->cave && regs->rip < t->cave + STUB_BYTES &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* One try. -EAGAIN: a signal came first and was delivered, or the stub had gone. */
static int
stub_try(struct tracee *t, int tid, long nr, const uint64_t args[6],
	 const struct below *below, int64_t *ret_value)
{
	struct user_regs_struct before, regs;
	uint64_t until = tracee_now_ms() + TRACEE_WAIT_MS, sentinel = STUB_SENTINEL;
	int sig = 0, r;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &before) < 0)
		return -errno;
	r = leave_rseq(t, tid, &before);
	if (r < 0)
		return r;
	t->cave_used = true;
	r = stub_write(t, &before);
	if (r < 0)
		return r;
	regs = before;
	regs.rip = t->cave;
	regs.rsp = (before.rsp - STUB_STACK_BELOW) & ~UINT64_C(15);
	regs.rax = (uint64_t)nr;
	regs.rbx = nr == SYS_clone;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	r = tracee_write(t, regs.rsp - 8, &sentinel, sizeof sentinel, NULL);
	if (r == 0 && ptrace(PTRACE_SETREGS, tid, NULL, &regs) < 0)
		r = -errno;
	if (r < 0) {
		below_back(t, below);
		return r;
	}
	tracee_point(TRACEE_STUB_SET);
	do {
		if (ptrace(PTRACE_CONT, tid, NULL, NULL) < 0)
			return stub_abandon(t, tid, below, -errno);
		tracee_point(TRACEE_STUB_RUNS);
		if (t->meanwhile != NULL) {
			void (*meanwhile)(void *) = t->meanwhile;

			t->meanwhile = NULL;
			meanwhile(t->meanwhile_ctx);
		}
		stub_await(t, tid, regs.rsp - 8, until);
		r = stub_stop(tid, &sig);
		if (r == 0 && ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
			r = -errno;
		if (r < 0)
			return stub_abandon(t, tid, below, r);
	} while (regs.rip == t->cave && sig == 0 && tracee_now_ms() < until);
	if (stub_is_gone(t, tid, &regs, sig)) {
		r = stub_leave(t, tid, &before, below, 0);
		return r < 0 ? r : -EAGAIN;
	}
	if (regs.rip == t->cave) { /* the signal came before the system call */
		r = stub_leave(t, tid, &before, below, sig);
		return r < 0 ? r : sig != 0 ? -EAGAIN : -ETIMEDOUT;
	}
	/* Left alone for too long it goes back by itself, and may be on the way. */
	if (regs.rip >= t->cave + STUB_BACK && regs.rip < t->cave + STUB_BYTES) {
		r = stub_leave(t, tid, &before, below, sig);
		return r < 0 ? r : -EIO;
	}
	if (regs.rip < t->cave + STUB_DONE || regs.rip >= t->cave + STUB_BACK) {
		below_back(t, below);
		return -EIO;
	}
	*ret_value = (int64_t)regs.rax;
	tracee_point(TRACEE_STUB_MADE);
	return stub_leave(t, tid, &before, below, sig);
}

static int
stub_run(struct tracee *t, int tid, long nr, const uint64_t args[6], int64_t *ret_value)
{
	struct user_regs_struct regs;
	struct below below;
	int r;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
		return -errno;
	below.at = ((regs.rsp - STUB_STACK_BELOW) & ~UINT64_C(15)) - sizeof below.words;
	r = tracee_read(t, below.at, below.words, sizeof below.words, NULL);
	return r < 0 ? r : stub_try(t, tid, nr, args, &below, ret_value);
}

/* A thread that executes code of 64 bits, which the stub is; the number of threads: none does. */
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

int
tracee_syscall(struct tracee *t, long nr, const uint64_t args[6], int64_t *ret_value,
	       struct err *e)
{
	size_t i;
	int r;

	able_thread(t, &i);
	if (i == t->threads.len)
		return err_set(e, -ENOTSUP, "%d: none of its threads runs 64-bit code",
			       t->pid);
	do
		r = stub_run(t, t->threads.data[i].tid, nr, args, ret_value);
	while (r == -EAGAIN);
	if (r == 0)
		r = tracee_look(&t->threads.data[i]);
	if (r < 0)
		return err_sys(e, r, "%d: cannot make a system call in its name", t->pid);
	return 0;
}
