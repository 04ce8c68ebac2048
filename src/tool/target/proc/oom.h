/* SPDX-License-Identifier: MIT */
/* oom.h -- whether the kernel's out-of-memory killer ended a process, and how full its
 * memory limit was then.
 *
 * While the program runs the tool looks at its control group and notes limit and usage in
 * the recordings, where they outlive it. Afterwards the group's count of kills and the
 * kernel's log say for sure; without either, a limit that was nearly reached says that it
 * is likely. */
#ifndef SEEP_TARGET_OOM_H
#define SEEP_TARGET_OOM_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/target/proc/cgroup.h"
#include "tool/target/run/livefile.h"

struct oom {
	struct cgroup_memory group;
	uint64_t kills_before; /* when it was first seen in that group */
};

/* Looks at the group of a process that runs; to be called now and then. */
void oom_look(struct oom *o, int pid);

/* Notes that in a recording. */
void oom_note(const struct oom *o, struct livefile *f);

/* Sets end, status, oom, limit_bytes and usage_bytes of a process that has ended, if it
 * was killed. `o`: what was seen while it ran, or NULL: then what its recording says
 * counts. */
void oom_judge(struct oom *o, struct prof_process *pr);

#endif
