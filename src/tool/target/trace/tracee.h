/* SPDX-License-Identifier: MIT */
/* tracee.h -- another process held still: its threads stopped, its memory read and
 * written, system calls made in its name.
 *
 * Threads are stopped by PTRACE_SEIZE and PTRACE_INTERRUPT, which no handler, debugger of
 * its own or job control notices. Whenever we could die, every thread is in a stop out of
 * which it goes on as if nothing had been: registers are put back at once, and after a
 * system call the thread is parked again before anything else is done. */
#ifndef SEEP_TARGET_TRACEE_H
#define SEEP_TARGET_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/util/err.h"
#include "tool/util/vec.h"

/* A range of addresses. */
struct tracee_span {
	uint64_t start, end;
};

struct tracee_thread {
	int tid;
	bool stopped;
	bool first;	     /* to be let go: it gets signals that the program ignores */
	uint64_t ip, sp, tp; /* while stopped: where it is, and its thread pointer */
};

struct tracee_threads VEC_BODY(struct tracee_thread);

/* Start with `= TRACEE_NONE`; tracee_close is legal at any time. */
struct tracee {
	int pid;
	int mem_fd;	      /* /proc/PID/mem; -1 = closed */
	bool suspend_seccomp; /* a filter must not see our system calls */
	uint64_t
		cave; /* where instructions can be put for a moment; 0 = not looked for */
	size_t cave_bytes; /* of it */
	bool cave_used;
	const char *text;  /* for the next system call, see tracee_text_at; NULL = none */
	bool signals_held; /* none may stop or end us while it stands still */
	sigset_t signals_before;
	int nice_before;	       /* and whose turn it is */
	struct tracee_threads threads; /* those that are traced */
	uint64_t since_ns; /* of CLOCK_MONOTONIC: when they were asked to stop */
	/* Set by the caller, or NULL: called once, while a thread makes the next system
	 * call. Not for longer than a tenth of a second. */
	void (*meanwhile)(void *ctx);
	void *meanwhile_ctx;
};

#define TRACEE_NONE                                                                      \
	{                                                                                \
		.mem_fd = -1                                                             \
	}

/* Opens its memory. Nothing is stopped yet. */
int tracee_open(int pid, struct tracee *ret_tracee, struct err *e);

/* Lets everything go and closes. */
void tracee_close(struct tracee *t);

/* Stops all threads. On failure (two seconds pass, one refuses) all are let go again. */
int tracee_stop(struct tracee *t, struct err *e);

/* Lets all threads go on. One that has been asked to stop and has not yet is let go as
 * soon as it does, by a handler of SIGCHLD; who keeps that blocked calls tracee_late
 * whenever it came. */
void tracee_go(struct tracee *t);
void tracee_late(void);
/* For whoever waits for a process that we have started: `status` says that it has
 * stopped, late, and not ended. It is let go then. */
bool tracee_was_late(int pid, int status);

/* Memory, whether threads are stopped or not. Reading needs readable pages; writing goes
 * through protections where the kernel lets a tracer do so. All or an error. */
int tracee_read(const struct tracee *t, uint64_t at, void *ret, size_t n, struct err *e);
int tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t n,
		 struct err *e);
/* As much as there is from `at` on; returns the number of bytes. */
size_t tracee_read_some(const struct tracee *t, uint64_t at, void *ret, size_t n);

/* Where a system call finds t->text, of at most 16 bytes: not on the thread's stack,
 * since a signal that comes first would put its frame there. */
uint64_t tracee_text_at(const struct tracee *t);

/* Makes a system call in a stopped thread. *ret_value is what the kernel returned, -errno
 * included. */
int tracee_syscall(struct tracee *t, long nr, const uint64_t args[6], int64_t *ret_value,
		   struct err *e);

/* Places at which our death must do no harm to the process: tests die there. */
enum tracee_point {
	TRACEE_MEMFD = 1,    /* the process has made its memfd, */
	TRACEE_FILLED,	     /* we have filled it, */
	TRACEE_MAPPED,	     /* it has mapped it, */
	TRACEE_CLOSED,	     /* and closed it */
	TRACEE_CODE,	     /* the range for code is there, */
	TRACEE_DATA,	     /* and that for data */
	TRACEE_EXECUTABLE,   /* code can be executed there, */
	TRACEE_IMAGE,	     /* and ours is written */
	TRACEE_PATCHED_ONE,  /* the first jump is in, */
	TRACEE_PATCHED,	     /* and all of them */
	TRACEE_STUB_SET,     /* a thread is about to make a system call for us, */
	TRACEE_STUB_RUNS,    /* makes it, */
	TRACEE_STUB_MADE,    /* has made it, and still has other registers than its own */
	TRACEE_UNPATCHED,    /* the jumps are out, */
	TRACEE_UNMAPPED_ONE, /* and the first range is unmapped */
	TRACEE_RAISED,	     /* a thread has another nice value than its own */
	TRACEE_POINTS,
};

/* One system call of several that a thread makes one after the other, without being
 * stopped in between. */
struct tracee_call {
	long nr;
	uint64_t args[6];
	/* this argument (from 1) is what the first call has returned; 0 = none */
	unsigned first_arg;
	bool maps;     /* has failed unless it returns args[0] */
	bool may_fail; /* the next one is made all the same */
	/* Bits of a word of the process, 0 = none: set by the thread when the call was
	 * made, or, if `clears`, cleared before it is. For the first call of a stub we do
	 * the latter; the former may be left to the caller as well. */
	bool clears;
	uint32_t bits;
	uint64_t word;
	/* NULL, or to be done by us before this call; `value` of the one before is known
	 * then. The thread waits for that, but not for longer than a tenth of a second.
	 * Negative: that was the end. */
	int (*before)(void *ctx, struct err *e);
	void *ctx;
	enum tracee_point point; /* tests die behind this call; 0 = none */
	/* results */
	bool made;
	int64_t value; /* what the kernel returned, -errno included */
};

/* Has a stopped thread make the calls, up to the first that fails. An error: what could
 * not be made was not; otherwise those that are `made` say how they went. */
int tracee_calls(struct tracee *t, struct tracee_call *calls, size_t n, struct err *e);

/* A copy of a process, as it was when it was stopped; it never runs. Zeroed = none. */
struct tracee_copy {
	int pid;    /* of the copy; 0 = none */
	int number; /* the same as the process itself would say it */
	int of;	    /* the process */
};

/* Makes one of a process whose threads are all stopped; then they can go on. It has all
 * private memory but what the program keeps from its children, and shares what is
 * shared. */
int tracee_copy_make(struct tracee *t, struct tracee_copy *ret_copy, struct err *e);

/* Ends it, and has a thread of the process forget it: one of `stopped`, or, if that is
 * NULL, one that is stopped for a moment. Legal on a zeroed one. */
void tracee_copy_end(struct tracee_copy *c, struct tracee *stopped);

/* Stops one thread, whichever does first: enough for a system call. */
int tracee_stop_one(struct tracee *t, struct err *e);

/* Kills us here if SEEP_TEST_DIE names this point. */
void tracee_point(enum tracee_point point);
bool tracee_point_is(enum tracee_point point);

/* Whether an address is in one of the spans. */
bool tracee_in_spans(uint64_t word, const struct tracee_span *spans, unsigned n);

/* Whether a stopped thread is in one of the spans, or will come back to one: its
 * registers and what lies on its stack are looked at, so that frames below a signal
 * handler count as well. */
bool tracee_inside(struct tracee *t, const struct tracee_span *spans, unsigned n);

#endif
