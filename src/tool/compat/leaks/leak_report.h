/* SPDX-License-Identifier: MIT */
/* leak_report.h -- what was lost, told as the options in leak_opts.h want it. */
#ifndef SEEP_COMPAT_LEAK_REPORT_H
#define SEEP_COMPAT_LEAK_REPORT_H

#include <stdbool.h>

#include "tool/analyze/sites/skip.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/model/prof.h"
#include "tool/render/leaks/memcheck_errors.h"
#include "tool/render/report/report.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/util/buf.h"
#include "tool/util/vec.h"

/* One report: starts with `o` alone, and leak_report_end empties it. */
struct leak_report {
	struct leak_opts *o;
	unsigned met;	   /* conditions of --fail-on */
	bool baseline;	   /* there is one, and what it has is marked */
	bool *focus;	   /* for every process: verdict and exit status are about it */
	bool file_failed;  /* a file could not be written */
	struct skip *skip; /* made while names are short: rules are written for those */
	struct memcheck_errors wrong; /* uses of the heap */
	VEC(const char *) words;      /* of our own command line, in: */
	struct buf words_text;
};

/* Before anything is told and after the profile was saved: what is suppressed is marked
 * so. Names must be in place. */
void leak_report_prepare(struct leak_report *r, struct prof *p);

/* The part of it that marks what is suppressed. `s` must be of `p`. */
void leak_report_suppress(struct leak_opts *l, struct prof *p, const struct skip *s);

/* Marks in `chosen` the processes of a run that are to be told, and says whether these
 * are not all: forked children and programs that were started may be left out. */
bool leak_report_choose(const struct leak_opts *l, const struct prof *p, bool *chosen);

/* Whether the report is in another tool's words; else it is seep's own, text or JSON. */
bool leak_report_foreign(const struct leak_opts *l);

/* How a leak check is made whose result is told like this. Borrows `l`. */
struct leakcheck_how leak_report_how(struct leak_opts *l);

/* Appends the report of every process in focus in those words. `log`: the name of the
 * file that it goes to, or NULL; where that has %p or %n in it, processes besides the
 * first have files of their own. */
void leak_report_text(struct leak_report *r, struct buf *out, const struct prof *p,
		      const char *log);

/* Appends to seep's own text what --verbose and --gen-suppressions ask for. */
void leak_report_more(struct leak_report *r, struct buf *out, const struct prof *p);

/* Before the report: finds the processes that it is about (focus.h; all of o->chosen with
 * o->everyone), judges what --fail-on says of those, and leaves in `o` what JSON has to
 * tell of it. */
void leak_report_judge(struct leak_report *r, const struct prof *p,
		       struct report_opts *o);

/* After it: files asked for besides; conditions that are met, and what other programs
 * among `chosen` (NULL = all) lost, are told if `tell`; then the exit status, which is
 * `status` unless there is something to complain of. */
int leak_report_end(struct leak_report *r, struct prof *p, const bool *chosen, int status,
		    bool tell);

#endif
