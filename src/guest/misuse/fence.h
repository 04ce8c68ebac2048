/* SPDX-License-Identifier: MIT */
/* fence.h -- some blocks on pages of their own, between pages that nobody may touch.
 *
 * What is read or written behind such a block, or before it, or after its free, is caught
 * at the very instruction; what is written on its other side is found when it is freed.
 * The program does not notice: what was caught is reported, the page is opened, and the
 * instruction done again. */
#ifndef SEEP_FENCE_H
#define SEEP_FENCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Before recording begins: about every `every`-th allocation is one of these. 0 =
 * none. */
void fence_wanted(uint64_t every);

/* When recording has begun, once: pages, functions in front of the allocator, and the
 * handler. */
void fence_install(void);

/* The process ends: looks at the bytes beside live blocks. */
void fence_end(void);

/* In a forked child. */
void fence_forked(void);

/* Is it on one of those pages? */
bool fence_owns(const void *p);

/* Is that signal's handler ours, whatever the program says? Then these stand in for the
 * real functions. */
bool fence_handles(int sig);
int fence_sigaction(const struct sigaction *act, struct sigaction *old);
sighandler_t fence_signal(sighandler_t handler);

#endif
