/* SPDX-License-Identifier: MIT */
/* session.h -- a process that is attached to, for as long as somebody looks on.
 *
 * Keeps its clock, says that somebody is there, looks at how its places grow, and holds
 * the rate of sampling where the recorder costs no more than it may. */
#ifndef SEEP_TARGET_SESSION_H
#define SEEP_TARGET_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/target/attach/attach.h"
#include "tool/target/attach/oldblocks.h"
#include "tool/target/proc/covered.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/looks.h"
#include "tool/util/err.h"

#define SESSION_RATE_DEFAULT (UINT64_C(32) << 10)
#define SESSION_RATE_LEAST (UINT64_C(4) << 10)
#define SESSION_RATE_MOST (UINT64_C(1) << 20)

struct session_settings {
	struct attach_settings attach;
	double budget;	   /* share of one core that recording may take; 0 = rate stays */
	uint64_t looks_ms; /* first distance of looks; 0 = never */
	const struct oldblocks *old; /* blocks to be watched, or NULL; borrowed */
	bool from_start;	     /* nothing of the program has run yet */
	/* not attached to if it may be stopped for longer; 0 = any time */
	uint64_t max_stop_ns;
};

/* Start with `= SESSION_NONE`; session_close is legal at any time. */
struct session {
	int pid;
	struct procfs_stat stat; /* when it began */
	uid_t uid;		 /* whose it is */
	gid_t gid;
	struct attach attach; /* its recording, and what was put in */
	struct looks looks;
	struct oldblocks old; /* what became of them, as of session_read_old */
	double budget;
	bool armed;	/* libseep.so was there already: only switched on */
	bool settled;	/* attach_settle has nothing to do any more */
	bool late;	/* it has run for a while before it was recorded */
	bool ended;	/* the process is gone, or another program by now */
	bool taken_out; /* that: it runs on, but another seep took the recorder out */
	bool replaced;	/* that: by exec */
	uint64_t replaced_ms;
	char replaced_by[256]; /* path of the program; "" = not known */
	bool off;	       /* the recorder has switched itself off */
	struct detached detached;
	/* its parent's recording counts it as a child that is not recorded: by number
	 * there; else 0 */
	int counted_by;
	uint64_t rss_kib, rss_peak_kib, anon_kib;
	struct covered covered;
	uint64_t checked_ns;  /* how long it stood still for a leak check */
	uint64_t recorded_ms; /* how long it was recorded, once that is over */
	double busy;	      /* share of a core in the recorder, so far */

	void *ctx; /* the caller's, NULL at first */

	/* private */
	unsigned settle_tries;
	uint64_t settle_ms; /* the next one */
	uint64_t next_ms, began_tsc, turn_tsc, turn_spent, turn_samples, turn_at_half;
};

#define SESSION_NONE                                                                     \
	{                                                                                \
		.attach = ATTACH_NOTHING                                                 \
	}

/* Checks (refusal.h) and attaches. */
int session_open(int pid, const struct session_settings *s, struct session *ret,
		 struct err *e);

/* To be called every 10 ms or so. */
void session_tick(struct session *s);

/* Asks what became of the blocks that are watched. Without any nothing is changed. */
void session_read_old(struct session *s);

/* Milliseconds since recording began. */
uint64_t session_age_ms(const struct session *s);

/* Puts the process back into the state that it had, as far as that goes (s->detached
 * says). The recording stays readable. A process that has ended is no error. */
int session_detach(struct session *s, struct err *e);

/* Recording goes on without us: from now on the recorder reads the clock itself. */
void session_leave(struct session *s);

/* Closes our side; without session_detach the recorder stays in. */
void session_close(struct session *s);

#endif
