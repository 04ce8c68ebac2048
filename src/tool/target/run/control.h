/* SPDX-License-Identifier: MIT */
/* control.h -- tells the recorder something while its program runs: pause, resume, mark.
 *
 * All of it by storing words in the shared recording. The program is not stopped,
 * signalled or waited for, but for the recording's space lock, which is held for some
 * stores at a time. */
#ifndef SEEP_TARGET_CONTROL_H
#define SEEP_TARGET_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/target/run/livefile.h"
#include "tool/util/err.h"

/* Stops or goes on recording new allocations; frees of known blocks are recorded all the
 * time. */
void control_pause(struct livefile *f, bool paused);

struct control_marked {
	uint32_t number;
	uint32_t sites; /* with something live */
	uint64_t ms;
	int64_t live_bytes;
};

/* Adds a mark: every site's live totals of this moment, under `name` (cut to 39 bytes; ""
 * is legal). -EBUSY: the lock stayed taken for a second; -ENOSPC: no room, counted as
 * lost. */
int control_mark(struct livefile *f, const char *name, struct control_marked *ret_mark,
		 struct err *e);

#endif
