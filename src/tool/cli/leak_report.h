/* SPDX-License-Identifier: MIT */
/* leak_report.h -- what was lost, told as the options in leak_opts.h want it. */
#ifndef SEEP_CLI_LEAK_REPORT_H
#define SEEP_CLI_LEAK_REPORT_H

#include <stdbool.h>

#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"
#include "tool/render/report/report.h"
#include "tool/util/buf.h"

/* Before anything is told and after the profile was saved: what is suppressed is marked so. Names must be
 * in place. */
void leak_report_prepare(struct prof *p);

/* The part of it that marks what is suppressed. `s` must be of `p`. */
void leak_report_suppress(struct prof *p, const struct skip *s);

/* Marks in `chosen` the processes of a run that are to be told, and says whether these are not all: forked
 * children and programs that were started may be left out. */
bool leak_report_choose(const struct prof *p, bool *chosen);

/* Whether the report is in another tool's words; else it is seep's own, text or JSON. */
bool leak_report_foreign(void);
/* Blocks that a forked child has from its parent are listed in both. */
bool leak_report_inherited(void);

/* Appends the report of every process in focus in those words. `log`: the name of the file that it
 * goes to, or NULL; where that has %p or %n in it, processes besides the first have files of their own. */
void leak_report_text(struct buf *out, const struct prof *p, const char *log);

/* Appends to seep's own text what --verbose and --gen-suppressions ask for. */
void leak_report_more(struct buf *out, const struct prof *p);

/* Before the report: finds the processes that it is about (focus.h; all of o->chosen with o->everyone), judges
 * what --fail-on says of those, and leaves in `o` what JSON has to tell of it. */
void leak_report_judge(const struct prof *p, struct report_opts *o);

/* After it: files asked for besides; conditions that are met, and what other programs among `chosen` (NULL = all)
 * lost, are told if `tell`; then the exit status, which is `status` unless there is something to complain of. */
int leak_report_end(struct prof *p, const bool *chosen, int status, bool tell);

#endif
