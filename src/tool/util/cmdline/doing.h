/* SPDX-License-Identifier: MIT */
/* doing.h -- what takes long says what it is, from code that does not print.
 *
 * Between doing and doing_end the command line may show the text and the time that has
 * passed. Without doing_to nothing happens. A second doing ends the first. */
#ifndef SEEP_UTIL_DOING_H
#define SEEP_UTIL_DOING_H

/* Half a sentence: "checking server (4711) for leaks". */
void doing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void doing_end(void);

/* From now on `take` gets each text, and NULL at its end. */
void doing_to(void (*take)(const char *text));

#endif
