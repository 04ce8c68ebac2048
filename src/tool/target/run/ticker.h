/* SPDX-License-Identifier: MIT */
/* ticker.h -- what the tool does while the program runs: keep the recordings' clock, look
 * at their memory, pass on signals, save copies, and wait for the end.
 *
 * Steps of the session's loop (session/loop.h): a tick, every millisecond where that is
 * cheap, costs one system call. Everything slower (new recordings, memory, checkpoints)
 * is done in every n-th turn. */
#ifndef SEEP_TARGET_TICKER_H
#define SEEP_TARGET_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/target/proc/anonparts.h"
#include "tool/target/proc/covered.h"
#include "tool/target/proc/oom.h"
#include "tool/target/run/livefile.h"
#include "tool/target/run/looks.h"
#include "tool/target/run/pace.h"
#include "tool/target/run/rundir.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

/* A recording that is or was there during the run. */
struct ticker_file {
	char name[48];
	struct livefile live; /* closed once the process is gone, unless it was deleted */
	int pid;	      /* as in the recording, kept for afterwards */
	uint64_t process_ticks;
	uint64_t start_ns, start_mono_ns;
	bool seen_here; /* the pid means the same in our /proc */
	bool gone;
	int memory_fd;		/* procfs_memory_open; -1 unless seen here and not gone */
	uint64_t named_threads; /* head.threads_seen when names were last looked at */
	uint64_t named_ns;	/* and when that was */
	uint64_t next_look_ns;	/* when to look at its memory again */
	uint64_t rss_kib, rss_peak_kib; /* last and largest seen */
	uint64_t anon_kib; /* largest anonymous memory seen, without the recorder's own */
	struct covered covered; /* and what of the memory now can be malloc's */
	struct anonparts parts; /* of it, when last looked at */
	struct looks looks;	/* at its totals, for how they grew */
	struct oom oom;		/* its control group */
	uint64_t stood_ns; /* CLOCK_MONOTONIC when it stood at its end; 0 = it did not */
	void *ctx;	   /* the caller's, NULL at first */
};

struct ticker_files VEC_BODY(struct ticker_file);

struct ticker {
	/* set by the caller */
	struct rundir *dir;
	int child;
	bool sampled;		/* 10 to 20 ms ticks will do */
	uint64_t looks_ms;	/* first distance of looks at totals; 0 = never */
	uint64_t checkpoint_ns; /* between checkpoints; 0 = never */
	/* Saves a copy. Called in a forked child, so that a long one does not stop the
	 * clock and a crash in it ends nothing else. Returns the child's exit status, 0 =
	 * saved. */
	int (*checkpoint)(void *ctx);
	/* About once a second; or NULL. The recordings that are not gone may be mapped
	 * whole. */
	void (*progress)(void *ctx, struct ticker *t);
	/* A look at the totals was taken, at `ms` of the recording; or NULL. */
	void (*looked)(struct ticker_file *f, uint64_t ms);
	/* A process stands at its end and waits for a look (head.hold); or NULL. */
	void (*held)(void *ctx, struct ticker_file *f);
	void *ctx;

	/* told back */
	struct ticker_files files;
	VEC(uint32_t) living;	   /* rows of files whose process may run */
	int wait_status;	   /* as waitpid gave it */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	unsigned checkpoints, checkpoints_failed;

	/* private */
	struct map rows;	     /* of files, by the random part of their names, */
	struct map starts;	     /* and by process and start */
	struct rundir_names unready; /* files that are still being made */
	int notify_fd;	    /* inotify on the folder, -1 = look at it every time */
	int checkpoint_pid; /* under way; 0 = none */
	uint64_t next_progress_ns, next_checkpoint_ns, next_oom_ns, next_turn_ns;
	struct pace pace;
};

/* Blocks the signals that the loop handles and tells the mask that was before, for the
 * program. To be called before launch_start. */
void ticker_signals(sigset_t *ret_before);

/* Which these are. */
void ticker_handled(sigset_t *set);

/* After ticker_end: drops those of them that are pending, and sets the mask back, so
 * that whatever takes long from here on can be interrupted. */
void ticker_signals_end(const sigset_t *before);

/* Begins; then a step after each wait of *ret_tick_ns, which it may change, or for a
 * signal of these: true when the program has ended. Interrupt keys are left to the
 * program, which gets them from the terminal itself; signals that somebody sent to us are
 * passed on to it. The end comes when a checkpoint under way is done. */
void ticker_start(struct ticker *t, uint64_t *ret_tick_ns);
bool ticker_step(struct ticker *t, int sig, const siginfo_t *info, uint64_t now_ns,
		 uint64_t *ret_tick_ns);
void ticker_end(struct ticker *t);

/* Passes a signal on to the program `pid`. What the terminal sent went to its whole
 * foreground group, and so to the program already. */
void ticker_pass_on(int pid, const siginfo_t *info);

/* Whether its process runs, has not come to its end, and may be looked at. */
bool ticker_runs(const struct ticker_file *f);

/* Row of the recording that this process (head.pid) began at `start_ns` (head.start_ns),
 * or NULL: exec begins a new recording under the same pid. Borrowed until ticker_done. */
const struct ticker_file *ticker_find(const struct ticker *t, uint32_t pid,
				      uint64_t start_ns);

/* Closes everything and tells processes that go on that nobody keeps their clock any
 * more; legal on a zeroed one. */
void ticker_done(struct ticker *t);

#endif
