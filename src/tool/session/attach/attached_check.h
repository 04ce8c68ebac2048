/* SPDX-License-Identifier: MIT */
/* attached_check.h -- is what an attached process keeps lost, or does somebody hold it?
 *
 * A copy of the process is made (fork) and its whole heap looked through, while it goes
 * on. The recording knows some blocks by address and place; the look tells what became of
 * each of them. Nobody has asked for this look, so it is made only where it stops the
 * process for a moment, and where there is memory for the copy. */
#ifndef SEEP_SESSION_ATTACHED_CHECK_H
#define SEEP_SESSION_ATTACHED_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/target/attach/session.h"

/* How long a look that nobody asked for may stop a process. */
#define ATTACHED_CHECK_STOP_NS UINT64_C(10000000)

/* Start with `= ATTACHED_CHECK_NONE`; attached_check_done is legal at any time. */
struct attached_check {
	bool tried, done;
	char why[512]; /* it was not done */
	uint64_t ms;   /* of the recording, before it was copied */
	unsigned threads;
	uint64_t stop_ns, pause_ns; /* until it stood still; from then on */
	struct heapcheck heap;
};

#define ATTACHED_CHECK_NONE                                                              \
	{                                                                                \
		.heap = HEAPCHECK_NONE                                                   \
	}

/* Looks at a process that runs and is recorded. `max_stop_ns`: 0 = not at all. Never
 * fails. */
void attached_check_run(struct attached_check *c, struct session *s,
			uint64_t max_stop_ns);

/* Adds what was found to `p`, whose row `process` is the session's recording. */
void attached_check_save(struct attached_check *c, struct prof *p, uint32_t process);

void attached_check_done(struct attached_check *c);

#endif
