/* SPDX-License-Identifier: MIT */
/* marks.h -- a named snapshot of every site's live totals, taken inside the program. */
#ifndef SEEP_MARKS_H
#define SEEP_MARKS_H

#include "guest/record/file/recorder.h"

/* Take one now. Costs some 20 ns a site; other threads go on, so the sites are not all of
 * the same instant. No room: counted. */
void marks_take(struct recorder *r, struct thread *t, const char *name);

#endif
