/* SPDX-License-Identifier: MIT */
/* status_line.h -- one line on the terminal while something takes longer than a second.
 *
 * "seep: checking server (4711) for leaks: 3 s", renewed once a second by a thread of its
 * own, and wiped at the end. Only if stderr is a terminal that ours is the foreground
 * group of. In a forked child nothing is shown. */
#ifndef SEEP_CLI_STATUS_LINE_H
#define SEEP_CLI_STATUS_LINE_H

#include <stdbool.h>

/* For doing_to: shows `text` from now on; NULL: wipes it. */
void status_line(const char *text);

/* Whether ours is the foreground group of the terminal that stderr is. */
bool status_line_may_show(void);

#endif
