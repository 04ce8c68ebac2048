/* SPDX-License-Identifier: MIT */
/* junit.h -- the result as JUnit's XML, which every CI server shows: a suite for each process, a failed case
 * for each error in it, and a case for each condition. */
#ifndef SEEP_RENDER_JUNIT_H
#define SEEP_RENDER_JUNIT_H

#include "analyze/judge.h"
#include "render/memcheck.h"

/* Appends the document. Conditions must have been judged. With conditions, these alone decide what failed: records
 * are then told as output of the cases. */
void junit_xml(struct buf *out, const struct prof *p, const struct skip *s,
	       const bool *chosen, const struct memcheck_opts *o, const struct judge *g);

#endif
