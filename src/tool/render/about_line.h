/* SPDX-License-Identifier: MIT */
/* about_line.h -- the first line of a report that was asked for: what it is about.
 *
 * 	leaky.rec: ./leaky -x, pid 4711, 2026-11-18 10:31
 *
 * The file or process as the user named it, the program that was started, and when its
 * recording began. Only for people: no format that programs read has it. */
#ifndef SEEP_RENDER_ABOUT_LINE_H
#define SEEP_RENDER_ABOUT_LINE_H

#include <stdbool.h>

#include "tool/model/heapscan.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

/* Of the processes with `chosen` set (NULL: all), the first that was not replaced by
 * exec. A profile of another tool has its format's name instead. The line is broken at
 * the width of `t`, which may be NULL. */
void about_line(struct buf *out, const struct prof *p, const bool *chosen,
		const char *name, const struct term *t);

/* Appends the whole command line and the date apart; nothing where one is unknown. */
void about_run(const struct prof *p, const bool *chosen, struct buf *ret_command,
	       struct buf *ret_date);

/* The first line about a process that is looked at from outside, now. */
void about_line_now(struct buf *out, int pid, const char *command, const struct term *t);

/* The first line about a heap that nobody recorded. */
void about_line_scan(struct buf *out, const struct heapscan *s, const char *name,
		     const struct term *t);

#endif
