/* SPDX-License-Identifier: MIT */
/* peer_heapcheck.h -- HEAPCHECK: gperftools' heap checker, which looks for leaks when a
 * program ends. */
#ifndef SEEP_PEER_HEAPCHECK_H
#define SEEP_PEER_HEAPCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/record/file/recorder.h"

/* Whether the environment asks for it, and nobody else in the process answers: then `s`
 * is set up. */
bool heapcheck_wanted(struct recorder_settings *s);

/* Whether it records: then there is one recording for all. */
bool heapcheck_on(void);

/* The last step of exit: looks, if that is wanted, and ends the process with status 1
 * when something is lost. */
void heapcheck_ending(uintptr_t sp);

#endif
