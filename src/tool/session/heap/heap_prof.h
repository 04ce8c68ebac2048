/* SPDX-License-Identifier: MIT */
/* heap_prof.h -- a heap that nobody recorded as a profile, for reports that are made of
 * one. */
#ifndef SEEP_SESSION_HEAP_PROF_H
#define SEEP_SESSION_HEAP_PROF_H

#include "tool/model/heapscan.h"
#include "tool/model/prof.h"
#include "tool/session/leaks/leakcheck.h"

/* Adds what was found to `p`, and what is known of the check itself to *ret_check. */
void heap_prof(const struct heapscan *s, struct prof *p, struct leakcheck *ret_check);

#endif
