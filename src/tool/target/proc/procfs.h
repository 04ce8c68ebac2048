/* SPDX-License-Identifier: MIT */
/* procfs.h -- what /proc and the cgroup tell about a process and this machine.
 *
 * Every function reads anew and keeps nothing. A process may end between two calls:
 * -ESRCH then, and never someone else's figures, as long as callers compare start ticks.
 * No ptrace, no stop. */
#ifndef SEEP_TARGET_PROCFS_H
#define SEEP_TARGET_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct procfs_stat {
	int pid, ppid;
	/* As in /proc/PID/stat; 'Z' and 'X' are dead. Where only the first thread has
	 * ended, that of another one. */
	char state;
	char comm[64];	      /* name of the first thread */
	uint64_t start_ticks; /* with the pid this names a process for good */
	uint64_t rss_kib;
	uint64_t cpu_ticks; /* user + system */
	unsigned threads;
	bool kernel_thread;
};

/* -ESRCH when there is no such process. `e` may be NULL. */
int procfs_stat(int pid, struct procfs_stat *ret_stat, struct err *e);

/* Whether that very process still runs, if not its first thread; a zombie does not. Ticks
 * of 0 are not compared. */
bool procfs_alive(int pid, uint64_t start_ticks);

/* Resident and resident anonymous memory; either is 0 when the kernel does not say. */
int procfs_memory(int pid, uint64_t *ret_rss_kib, uint64_t *ret_anon_kib);

/* The same for who asks often: a descriptor that means this very process, whoever gets
 * its pid later, or negative errno; then both figures for a tenth of the cost. 0 of both:
 * it is a zombie, or the thread that it was opened by has ended; -ESRCH: that is gone. */
int procfs_memory_open(int pid);
int procfs_memory_read(int fd, uint64_t *ret_rss_kib, uint64_t *ret_anon_kib);

/* User and group that it belongs to; nobody's when it cannot be told. */
void procfs_ids(int pid, uid_t *ret_uid, gid_t *ret_gid);
/* Real uid of the process. */
int procfs_uid(int pid, uid_t *ret_uid);

/* The number that the process itself sees, in its own pid namespace; `pid` when not
 * known. */
int procfs_ns_pid(int pid);

/* Name of a thread without the newline; "" when it is gone. `size` at least 16. */
void procfs_thread_name(int pid, int tid, char *ret_name, size_t size);

/* One row of /proc/PID/maps. `path` is borrowed from the caller's buffer and "" for
 * none. */
struct procfs_map {
	uint64_t start, end, offset, inode;
	unsigned dev_major, dev_minor;
	char perms[5];
	const char *path;
};

/* Takes the next row out of the text of a maps file, in place; false at the end. Rows
 * that make no sense are stepped over. *at starts at the text and moves. */
bool procfs_next_map(char **at, struct procfs_map *ret_map);

/* The mappings of a process, as they were when it was opened. Rows are borrowed from it.
 * A zeroed one, and one that could not be opened, has none. */
struct procfs_maps {
	struct buf text;
	char *at;
};

int procfs_maps_open(struct procfs_maps *ret_maps, int pid, struct err *e);
bool procfs_maps_next(struct procfs_maps *m, struct procfs_map *ret_map);
void procfs_maps_close(struct procfs_maps *m);

struct procfs_pids VEC_BODY(int);

/* Unless it is one of them. */
void procfs_pids_add(struct procfs_pids *pids, int pid);

/* All processes, or the children of one (also those of its threads), in no order. */
int procfs_pids(struct procfs_pids *ret_pids, struct err *e);
void procfs_children(int pid, struct procfs_pids *ret_pids);

/* Processes whose name (comm) or executable's file name is `name`; of a path, those that
 * run this file. */
int procfs_find(const char *name, struct procfs_pids *ret_pids, struct err *e);

/* The only process that `word`, a PID or what procfs_find takes, stands for. -ESRCH:
 * there is none; -ENOTUNIQ: several, which the message lists. Whether a PID exists is not
 * looked at. */
int procfs_find_one(const char *word, int *ret_pid, struct err *e);

/* Sets that message, and returns `code`. */
int procfs_several(const char *word, const struct procfs_pids *pids, int code,
		   struct err *e);

/* The smallest of this machine's RAM and the memory limits of our cgroup and those above
 * it, version 1 or 2. Never 0. */
uint64_t procfs_memory_limit_bytes(void);

/* First number in a file such as /proc/sys/kernel/yama/ptrace_scope; -1 when there is
 * none. */
int64_t procfs_number(const char *path);

#endif
