/* SPDX-License-Identifier: MIT */
/* life.h -- the life of the process and its threads, as far as recording depends on it. */
#ifndef SEEP_LIFE_H
#define SEEP_LIFE_H

#include <stdbool.h>

/* Is something being recorded? Begins it when it is time: at the first call of a process, and at
 * the first call of a forked child. Called busy, so nothing it does is recorded. */
bool life_begun(void);

/* A thread has attached: be told when it ends. */
void life_thread_began(void);

/* exit() was entered or main has returned. */
void life_exit_begins(void);

#endif
