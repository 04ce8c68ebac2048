/* SPDX-License-Identifier: MIT */
/* leak_gate.h -- does what was found make the command fail? --fail-on, --baseline and
 * JUnit's file. */
#ifndef SEEP_COMPAT_LEAK_GATE_H
#define SEEP_COMPAT_LEAK_GATE_H

#include <stdbool.h>

#include "tool/analyze/verdict/judge.h"
#include "tool/render/leaks/memcheck.h"
#include "tool/util/cmdline/cmd.h"

struct leak_opts;

/* Conditions, and what they are compared with. Part of leak_opts; legal when zeroed. */
struct leak_gate {
	struct judge judge;
	bool has_baseline;
	struct judge_figures base_figures;
	struct judge_places base_places;
};

/* Reads the conditions and the baseline; 0, or the exit status after it has told why. */
int leak_gate_read(const struct cmd *c, struct leak_opts *l);

/* Whether there are conditions, and whether some are about leaks. */
bool leak_gate_given(const struct leak_gate *g);
bool leak_gate_needs_check(const struct leak_gate *g);

/* Why nothing can be said to have passed: some conditions are about leaks, and no process
 * was checked or the verdict is NO VERDICT. NULL: nothing is in the way. */
const char *leak_gate_blind(const struct leak_gate *g, const struct prof *p,
			    const struct skip *s, const bool *chosen);

/* Conditions as they were judged, NULL = there are none; and telling those that are
 * met. */
const struct judge *leak_gate_result(const struct leak_gate *g);
void leak_gate_tell(const struct leak_gate *g);

/* Marks losses that the baseline has too; false when there is none. */
bool leak_gate_mark_known(const struct leak_gate *g, struct prof *p,
			  const struct skip *s);

/* Judges, and returns how many conditions are met. `s`: made while names were short. */
unsigned leak_gate_judge(struct leak_opts *l, const struct prof *p, const struct skip *s,
			 const bool *chosen);

/* Writes JUnit's file, if one was asked for: after judging. False when that failed. */
bool leak_gate_junit(const struct leak_opts *l, const struct prof *p,
		     const struct skip *s, const bool *chosen,
		     const struct memcheck_opts *o);
void leak_gate_done(struct leak_gate *g);

#endif
