/* SPDX-License-Identifier: MIT */
/* complete.h -- what keeps a process's recording from being complete, in words.
 *
 * Counters say how many events are missing (prof_process.lost). This is about the cause:
 * a recording that ended early or ran out of room, and hooks that see only some of the
 * calls. */
#ifndef SEEP_MODEL_COMPLETE_H
#define SEEP_MODEL_COMPLETE_H

#include <stdbool.h>

#include "tool/model/prof.h"

/* Whether nothing was recorded from prof_process.cut_ms on, though the process went
 * on. */
bool complete_ended_early(const struct prof_process *pr);

/* Why the recording ended early or found no room, as half a sentence with a remedy: "no
 * room within the address space limit (ulimit -v); raise it". NULL: neither happened.
 * Static. */
const char *complete_cut_why(const struct prof_process *pr);

/* Why the hooks see only a part of the process's calls, as a sentence with a remedy.
 * NULL: they see all. Static. */
const char *complete_hooks_partial(const struct prof_process *pr);

/* Whether the program called the allocator past the hooks, or may have done so without
 * the leak check having looked for it. */
bool complete_went_past(const struct prof_process *pr);

/* Why a program that was started is not recorded (enum rec_unseen_why), as half a
 * sentence. Static. */
const char *complete_unseen_why(unsigned why);

#endif
