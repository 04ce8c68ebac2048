/* SPDX-License-Identifier: MIT */
/* attached.h -- what the commands that attach to processes share: which ones are meant,
 * the loop that keeps them going, and the profile in the end. */
#ifndef SEEP_SESSION_ATTACHED_H
#define SEEP_SESSION_ATTACHED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/target/attach/session.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct attached_check;

struct attached_sessions VEC_BODY(struct session *);

/* Adds the process, or all processes of that name. */
int attached_pids(const char *word, struct procfs_pids *pids, struct err *e);
/* Adds all processes of a control group and those below it. */
int attached_cgroup(const char *path, struct procfs_pids *pids, struct err *e);

/* A file that becomes larger than RLIMIT_FSIZE allows is an error, and not our end while
 * a process stands still for us. Done by attached_signals, too. */
void attached_ignore_limits(void);
/* Blocks the signals that end a session (loop_ending). */
void attached_signals(void);

enum { ATTACHED_TICK_NS = 10000000 };

/* Attaches to all; what is refused is told if there are several, and is the error if
 * there is one. Returns how many there are, or a negative errno. */
int attached_open(const struct procfs_pids *pids, const struct session_settings *s,
		  struct attached_sessions *ret, struct err *e);

struct rundir;

/* A child of ours that was started with libseep.so and records into `dir`: waits until
 * its recording is there. A child that has ended by then counts too. */
int attached_recorded(int pid, const struct rundir *dir, unsigned wait_ms,
		      struct attached_sessions *ret, struct err *e);

/* When children are looked for. */
struct attached_kin {
	uint64_t every_ns;
	bool sparing; /* however many come and go: no more than a tenth of the time */

	/* private */
	uint64_t next_ns;
	bool again; /* those that were there at the beginning are attached to */
};

/* Attaches to children that came since, if it is time to. */
void attached_children(struct attached_sessions *ss, const struct session_settings *s,
		       struct attached_kin *kin);

void attached_tick(struct attached_sessions *ss);
bool attached_all_ended(const struct attached_sessions *ss);

/* How long, and what meanwhile. */
struct attached_run {
	uint64_t for_ns;   /* 0 = no end; does not count where `count` is given */
	uint64_t every_ns; /* between two reports; 0 = none */
	uint64_t count; /* reports, of which the caller makes the last one; 0 = no end */
	const struct session_settings
		*children; /* of processes that they start; NULL = they
						  * are not attached to */
	void (*report)(void *ctx, struct attached_sessions *ss);
	void *ctx;
};

/* Keeps all going until it is over, or a signal comes, or none is there any more. */
int attached_run(struct attached_sessions *ss, const struct attached_run *how,
		 struct err *e);
/* Takes the recorder out of all, and out of what they forked meanwhile. False: not out of
 * every one, which is told. */
bool attached_detach(struct attached_sessions *ss);
void attached_done(struct attached_sessions *ss);

/* All of them as one profile, without names. `checks`: what looks for leaks have found,
 * one for each session; or NULL. `children`: forked ones that are not recorded are
 * counted as missed. */
struct prof *attached_load(const struct attached_sessions *ss,
			   struct attached_check *checks, bool children);

/* Adds one recording; `age_ms`: how long it was made for. */
int attached_load_one(const struct session *s, struct prof *p, struct err *e);

/* Adds to `p` the memory limit of the process, which runs and whose row `process` is;
 * `before_kib`: its heap when it was attached to, 0 = it was not, or not known. */
void attached_limit(struct prof *p, uint32_t process, int pid, uint64_t before_kib);

#endif
