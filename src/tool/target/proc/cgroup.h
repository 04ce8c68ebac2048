/* SPDX-License-Identifier: MIT */
/* cgroup.h -- how much memory a process may have, and how much of that is taken; which
 * processes are in a group.
 *
 * The limit is the smallest of its control group's and those above it, version 1 or 2,
 * and of the machine's memory. What is taken is what the group with that limit holds,
 * without file pages that the kernel would drop first. Reads a few files and keeps
 * nothing. */
#ifndef SEEP_TARGET_CGROUP_H
#define SEEP_TARGET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/target/proc/procfs.h"
#include "tool/util/err.h"

struct cgroup_memory {
	uint64_t limit_bytes;
	uint64_t used_bytes; /* by all that share the limit */
	bool machine;	 /* no group has a limit: it is the machine's memory that ends */
	char group[256]; /* of the limit, as in /proc/PID/cgroup; "" for the machine */
	/* Of that group; all 0 for the machine. */
	/* as the kernel compares it with the limit: with all file pages */
	uint64_t held_bytes;
	uint64_t most_bytes; /* the most of these so far; 0 = not known */
	/* processes that the kernel has ended there for want of memory */
	uint64_t oom_kills;
	char folder[512]; /* where its files are */
};

/* Never fails: what cannot be read is no limit. */
void cgroup_memory(int pid, struct cgroup_memory *ret_memory);

/* Reads what may have changed of the same group once more, also when the process is
 * gone. */
void cgroup_again(struct cgroup_memory *c);

/* The same with other folders in place of /proc and /sys/fs/cgroup. */
void cgroup_memory_at(const char *proc, const char *sys, int pid,
		      struct cgroup_memory *ret_memory);

/* Adds the processes of a control group and of those below it: of version 2, or of every
 * hierarchy of version 1 that has such a group. `path` as in /proc/PID/cgroup, or that of
 * a folder. -ENOENT: there is none. */
int cgroup_processes(const char *path, struct procfs_pids *pids, struct err *e);

/* The same with /sys/fs/cgroup somewhere else. */
int cgroup_processes_at(const char *sys, const char *path, struct procfs_pids *pids,
			struct err *e);

#endif
