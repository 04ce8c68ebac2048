/* SPDX-License-Identifier: MIT */
/* fork_locks.h -- a forked child: locks of threads that it does not have, and how it is
 * counted. */
#ifndef SEEP_FORK_LOCKS_H
#define SEEP_FORK_LOCKS_H

#include <stdbool.h>

/* In a forked child, as soon as may be: frees our locks that other threads held when it
 * was made. Not in the child of vfork, where they are still there. What the calling
 * thread holds itself, below the handler that forked, stays so. May be called again; asks
 * nothing of the kernel. */
void locks_forked(void);

/* In a forked child that has no recording yet: it counts as quiet in its parent's,
 * `head`, until it begins one or executes a program. Safe in handlers. */
struct rec_head;
void quiet_begin(struct rec_head *head);

/* It does so now. false: it was not counted; so in the child of vfork. */
bool quiet_end(struct rec_head *head);

#endif
