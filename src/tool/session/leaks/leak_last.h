/* SPDX-License-Identifier: MIT */
/* leak_last.h -- what the last look at a process has found, to tell what has changed
 * since.
 *
 * Kept in a small file of the user's for every process that was looked at, by pid and
 * start; those of processes that have ended are removed on the way. */
#ifndef SEEP_SESSION_LEAK_LAST_H
#define SEEP_SESSION_LEAK_LAST_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/session/leaks/leakcheck.h"
#include "tool/target/run/livefile.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Which places are wanted. */
enum leak_last_only {
	LEAK_LAST_ALL = 0,
	LEAK_LAST_NEW,	     /* nothing was lost there before */
	LEAK_LAST_INCREASED, /* new, or more */
	LEAK_LAST_CHANGED,   /* new, more or less */
};

/* What has changed, over all kinds but reachable. */
struct leak_last_change {
	bool first; /* nobody has looked before */
	uint64_t since_ns;
	uint64_t places[4]; /* new, increased, decreased (or gone), unchanged */
	int64_t blocks, bytes;
};

/* Compares with the last look, keeps this one, and drops from `c` what is not wanted. */
int leak_last_compare(const struct livefile *f, struct leakcheck *c,
		      enum leak_last_only only, struct leak_last_change *ret_change,
		      struct err *e);

/* One line about it. */
void leak_last_text(const struct leak_last_change *d, enum leak_last_only only,
		    struct buf *out);

#endif
