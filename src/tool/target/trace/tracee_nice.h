/* SPDX-License-Identifier: MIT */
/* tracee_nice.h -- whose turn it is while a process stands still.
 *
 * A thread that we wait for, to stop or to make a system call, may have to wait for a
 * processor behind dozens of others, and all threads that have stopped already wait with
 * it. So where we may (CAP_SYS_NICE), the one thread that is waited for has nice -20
 * meanwhile: never more than one, and never a realtime class. What it had before is
 * written down first, where `seep detach` and `seep doctor` find it should we be killed.
 * One process at a time. */
#ifndef SEEP_TARGET_TRACEE_NICE_H
#define SEEP_TARGET_TRACEE_NICE_H

#include <stdbool.h>

#include "tool/util/err.h"

enum {
	TRACEE_NICE_MOST = -20,
	TRACEE_NICE_GRACE_MS = 1, /* a thread that comes within that is not raised */
};

/* From here to tracee_nice_end threads of that process may be raised. `may`: we have been
 * allowed to raise ourselves. Called before any of them stands still: it may take some
 * milliseconds. */
void tracee_nice_begin(int pid, bool may);
void tracee_nice_end(void);

/* Whether a thread had to wait for a processor in this stop: then the others will have
 * to, too. */
bool tracee_nice_scarce(void);

/* Raises a thread, and gives the one that was raised before its own value again. */
void tracee_nice_raise(int tid);
void tracee_nice_lower(void);

/* What one of us that was killed has left behind. */
struct tracee_nice_left {
	int tid, nice; /* the thread, and the value that it had */
	char path[64]; /* of the record */
};

bool tracee_nice_left(int pid, struct tracee_nice_left *ret);

/* Puts it back. True: there was something, and it is as it was. */
bool tracee_nice_undo(int pid, struct err *e);

#endif
