/* SPDX-License-Identifier: MIT */
/* leak_plan.h -- how to look at a running process without being in its way: from a copy,
 * or while it stands still.
 *
 * A copy (fork) stops it only for as long as the copying of its page tables takes. But
 * every page that it writes to afterwards is there twice until the copy is gone, and it
 * is the process that is killed when a memory limit is met. So what it may come to is
 * held against what is left; if that does not fit, it is stopped for as long as the look
 * takes, and how long that may be is said beforehand. */
#ifndef SEEP_SESSION_LEAK_PLAN_H
#define SEEP_SESSION_LEAK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/session/leaks/leakcheck.h"
#include "tool/target/run/livefile.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

struct leak_plan {
	enum leakcheck_way way;
	uint64_t private_bytes;	 /* memory of its own: that much may be copied at most */
	uint64_t shared_bytes;	 /* shared and writable: read while it stands still */
	uint64_t table_bytes;	 /* of the recording: likewise */
	uint64_t headroom_bytes; /* left below the limit that it would meet first */
	uint64_t touched_bytes;	 /* a second, at most what it writes; 0 = not measured */
	uint64_t threads;	 /* each is stopped and let go */
	uint64_t look_ns;	 /* how long the look itself may take, */
	uint64_t pause_ns;	 /* and how long it will stand still */
	char why[160];		 /* it is that way */
};

/* Measures, for a tenth of a second if memory is short. The process is not stopped. `f`
 * is its recording, NULL = it has none. */
int leak_plan_make(struct livefile *f, int pid, struct leak_plan *ret_plan,
		   struct err *e);

/* The pause that is to be expected, anew: when somebody has chosen another way. */
void leak_plan_expect(struct leak_plan *p);

/* Whether it would stand still for longer than `max_ns`: then that is the error. 0 = for
 * as long as it takes. */
int leak_plan_check(const struct leak_plan *p, uint64_t max_ns, struct err *e);

/* One line for people; several for --dry-run, or JSON. */
void leak_plan_line(const struct leak_plan *p, int pid, struct buf *out);
void leak_plan_text(const struct leak_plan *p, int pid, struct buf *out);
void leak_plan_json(const struct leak_plan *p, int pid, struct buf *out);

#endif
