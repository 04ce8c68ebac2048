/* SPDX-License-Identifier: MIT */
/* forked.h -- locks of threads that a forked child does not have. */
#ifndef SEEP_FORKED_H
#define SEEP_FORKED_H

/* In a forked child, as soon as may be: frees our locks that other threads held when it was made. Not in the child of
 * vfork, where they are still there. What the calling thread holds itself, below the handler that forked, stays so.
 * May be called again; asks nothing of the kernel. */
void locks_forked(void);

#endif
