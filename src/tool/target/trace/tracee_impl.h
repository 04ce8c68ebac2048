/* SPDX-License-Identifier: MIT */
/* tracee_impl.h -- what the files tracee*.c share. */
#ifndef SEEP_TARGET_TRACEE_IMPL_H
#define SEEP_TARGET_TRACEE_IMPL_H

#include "tool/target/trace/tracee.h"

enum {
	TRACEE_WAIT_MS = 2000,	  /* for a thread to stop */
	TRACEE_STUB_BYTES = 1024, /* most that is written for system calls */
};

/* Whether a status of waitpid is the stop in which nothing can happen to the thread. */
bool tracee_is_parked(int status);

/* Waits for a thread to stop; -ETIMEDOUT, or -ESRCH when it ended. */
int tracee_wait_stop(int tid, uint64_t until_ms, int *ret_status);

/* Waits until it is parked. Signals on the way are given to it. */
int tracee_wait_parked(int tid, uint64_t until_ms);

/* Whether its end is for somebody else of us to wait for: a process that we have started.
 * Its other threads name us as their parent as well, but as long as their ends are not
 * taken the kernel does not tell that of the process. */
bool tracee_is_own_child(int tid);

/* A thread that cannot be let go because it has not stopped yet: it is when it does. */
void tracee_go_later(int tid);

/* Takes in where a stopped thread is. */
int tracee_look(struct tracee_thread *th);

/* Finds where the instructions for system calls can be put. */
int tracee_find_cave(struct tracee *t, struct err *e);

/* Takes them away again. No thread may be in there. */
void tracee_stub_remove(struct tracee *t);

/* Threads that wait in a stub for somebody who was killed need not wait any longer: they
 * go back at once. All are stopped, so that nobody else can have them in there. */
void tracee_stub_hurry(const struct tracee *t);

#endif
