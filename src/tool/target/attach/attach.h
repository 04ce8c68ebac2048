/* SPDX-License-Identifier: MIT */
/* attach.h -- the recorder put into a running process, and taken out again.
 *
 * Into it go: the recording (a memfd), the recorder's code near the allocator, its
 * private memory, and jumps in the allocator's functions. Nothing of libc is called, no
 * thread is made, no file is opened in the process's own name. What has to be undone is
 * written into the recording before it is done, so that detach_process needs no more than
 * the pid. */
#ifndef SEEP_TARGET_ATTACH_H
#define SEEP_TARGET_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/inject.h"
#include "shared/rec_enums.h"
#include "tool/target/attach/attach_plan.h"
#include "tool/target/run/livefile.h"
#include "tool/target/trace/tracee.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

#define ATTACH_NAME                                                                      \
	"seep.live" /* of the memfd; the ending is what target_find looks for */

struct attach_settings {
	enum rec_mode mode;
	uint64_t rate_bytes;
	uint64_t max_bytes; /* of the recording */
	bool stay;	    /* goes on without us */
	bool suspend_seccomp;
};

/* Start with `= ATTACH_NOTHING`; attach_close is legal at any time. */
struct attach {
	int pid;
	struct livefile live;		/* the recording */
	struct attach_control *control; /* in it; valid while `live` is open */
	struct plan plan;
	uint64_t stopped_ns;
	bool begun; /* something was put in, or may have been */
};

#define ATTACH_NOTHING                                                                   \
	{                                                                                \
		.live = {.fd = -1 }                                                      \
	}

/* What would be done, for --dry-run: ret->plan is filled, the process is not touched. */
int attach_look(int pid, const struct attach_settings *s, struct attach *ret,
		struct err *e);

/* About how long it would be stopped, the longer of both times; an upper estimate. */
uint64_t attach_expect_ns(int pid);

/* Puts the recorder in. On failure everything is undone. */
int attach_process(int pid, const struct attach_settings *s, struct attach *ret,
		   struct err *e);

/* Looks after objects that were loaded since, where hooks go by words. */
int attach_keep_up(struct attach *a, struct err *e);

/* Finds out where threads keep their ids, if they had none yet when it was attached to: a
 * static program that has not begun. Until then the recorder asks the kernel. False: not
 * yet. */
bool attach_settle(struct attach *a);

/* The processor's counter that attach_control.spent_tsc counts in. */
uint64_t attach_cycles(void);

/* Closes our side; the process keeps what it has. */
void attach_close(struct attach *a);

struct detached {
	bool found;	     /* there was something of ours */
	unsigned patches;    /* that were put back */
	unsigned foreign;    /* that somebody else has changed since: left alone */
	uint64_t kept_bytes; /* mappings that stay, */
	unsigned kept;	     /* and how many */
	uint64_t stub_bytes; /* jumps to the real functions, which stay on purpose */
	uint64_t stopped_ns; /* longest stop */
	unsigned tries;
	/* of a forked child: whose recording it had, by its number there; else 0 */
	int parent;
	bool counted; /* and that one's attach_control.forked counts it */
};

/* The recording that is in a process, to be read: the file itself, or a copy of what is
 * mapped where we may not open that. */
int detach_recording(int pid, struct livefile *ret, struct err *e);

/* Ends recording and puts everything back; the mappings stay until detach_unmap. Legal on
 * a process that has nothing of ours. */
int detach_patches(int pid, struct detached *ret, struct err *e);
/* Unmaps what is ours once no thread is in it; waits for that for a while. */
int detach_unmap(int pid, struct detached *ret, struct err *e);

#endif
