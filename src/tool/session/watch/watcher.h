/* SPDX-License-Identifier: MIT */
/* watcher.h -- a process that is being watched from outside: snapshot after snapshot, and
 * the account at the end.
 *
 * Joins what target reads, format parses and analyze makes of it. A snapshot is one read
 * of smaps and, when threads came or went, a look at where their stacks are. malloc's own
 * lists are gone through only for the account, as that reads the whole heap. Nothing is
 * printed here. */
#ifndef SEEP_SESSION_WATCHER_H
#define SEEP_SESSION_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/account.h"
#include "tool/analyze/process/regions.h"
#include "tool/analyze/process/track.h"
#include "tool/model/memmap.h"
#include "tool/session/watch/watch_view.h"
#include "tool/target/proc/cgroup.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procmem.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct watcher {
	struct procmem mem;
	struct procfs_stat stat;
	uint32_t program;     /* enum region_program */
	const char *coverage; /* static, or NULL */
	struct memmap map;
	struct regions regions;
	struct heapmap heap;
	bool heap_in_vain; /* malloc was looked for many times and not found */
	struct procmem_words stacks;
	unsigned stack_threads; /* how many threads there were when `stacks` was read */
	struct track track;
	struct account account;
	bool has_account;
	struct cgroup_memory limit;
	struct buf recorded; /* what a recording says, or nothing */
	struct buf next;
	bool ended;
	double cleared_seconds; /* when "referenced" last began anew; < 0 = never */
	double cold_seconds;	/* how long that was before the newest snapshot */
	unsigned snapshots;
};

struct watchers VEC_BODY(struct watcher *);

/* Begins to watch; the caller frees it with watcher_free. */
int watcher_new(int pid, struct watcher **ret_watcher, struct err *e);
void watcher_free(struct watcher *w); /* NULL is fine */

/* Adds those that the word means: a PID, or every process of that name. */
int watcher_add(struct watchers *ws, const char *word, struct err *e);
void watchers_done(struct watchers *ws);

/* Takes a snapshot. A process that has ended is marked so, which is no failure. With
 * `cold` the kernel's marks of what was touched are cleared at the 1st, 2nd, 4th, 8th …
 * snapshot. */
int watcher_look(struct watcher *w, double seconds, bool cold, struct err *e);

/* The account of now: goes through malloc's heaps. */
void watcher_account(struct watcher *w);

/* What to show; valid until the next look. */
struct watch_view watcher_view(struct watcher *w);

/* Names the regions of a process once, without watching it: for dumps. */
int watcher_once(int pid, struct watcher **ret_watcher, struct err *e);

#endif
