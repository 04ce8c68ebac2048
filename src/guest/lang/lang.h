/* SPDX-License-Identifier: MIT */
/* lang.h -- the managed runtimes of this process, as sources of frames (record/mixed.h).
 *
 * A runtime's frames are found in one of two ways: the program says where they are
 * (lang_register.c, seep_runtime_register), or the runtime is one that seep knows. Either
 * is a struct mixed_source; those with a chain of frames in memory share the memo of
 * chain.c. */
#ifndef SEEP_LANG_H
#define SEEP_LANG_H

#include <stdbool.h>

#include "guest/record/mixed/mixed.h"

/* One more. false: there are MIXED_SOURCES_MAX. Takes effect with each thread's next
 * event. Lock-free, any thread. */
bool lang_add(const struct mixed_source *s);

/* A recording has begun: it sees the runtimes that there are. */
void lang_begun(struct recorder *r);

#endif
