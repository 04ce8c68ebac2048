/* SPDX-License-Identifier: MIT */
/* lsan_defaults.h -- functions by which a program sets LeakSanitizer's defaults: options,
 * suppressions, and whether leaks are looked for at all. */
#ifndef SEEP_LSAN_DEFAULTS_H
#define SEEP_LSAN_DEFAULTS_H

#include <stdbool.h>

#include "shared/recording.h"

/* The report will be in LeakSanitizer's format: only then are the program's functions
 * called. */
void lsan_defaults_wanted(bool wanted);

/* Calls the functions that the program has and puts what they return into `d`. At exit
 * only if that is wanted; `asked`: the program itself asks LeakSanitizer for a check. Not
 * in a signal handler of ours. */
void lsan_defaults_tell(struct rec_hold *d, bool asked);

#endif
