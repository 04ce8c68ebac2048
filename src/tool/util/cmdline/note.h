/* SPDX-License-Identifier: MIT */
/* note.h -- remarks for the user from code that does not print.
 *
 * Something went wrong on the way, and the result is there all the same: the command
 * decides where its user reads that. Without note_to remarks are dropped. */
#ifndef SEEP_UTIL_NOTE_H
#define SEEP_UTIL_NOTE_H

/* One line without its end. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* From now on `take` gets each remark, in the thread that makes it. NULL: dropped. */
void note_to(void (*take)(const char *text));

#endif
