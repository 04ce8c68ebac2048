/* SPDX-License-Identifier: MIT */
/* junit.h -- the result as JUnit's XML, which every CI server shows: a suite for each
 * process, a failed case for each error in it, and a case for each condition. */
#ifndef SEEP_RENDER_JUNIT_H
#define SEEP_RENDER_JUNIT_H

#include "tool/analyze/verdict/judge.h"
#include "tool/render/leaks/memcheck.h"

struct junit_opts {
	bool baseline; /* what it has is marked (judge.h): losses that are left are new */
	/* nothing was looked at for leaks: conditions on them are undecided */
	bool blind;
	bool implied; /* the condition was not given, but comes with the baseline */
};

/* Appends the document. Conditions must have been judged. With conditions, these decide
 * what failed: a record fails if one about its kind is met, and is output of a case that
 * passed otherwise. */
void junit_xml(struct buf *out, const struct prof *p, const struct skip *s,
	       const bool *chosen, const struct memcheck_opts *o, const struct judge *g,
	       const struct junit_opts *more);

#endif
