/* SPDX-License-Identifier: MIT */
/* leak_gate.h -- does what was found make the command fail? --fail-on, --baseline and JUnit's file. */
#ifndef SEEP_CLI_LEAK_GATE_H
#define SEEP_CLI_LEAK_GATE_H

#include <stdbool.h>

#include "tool/analyze/verdict/judge.h"
#include "tool/render/memcheck.h"
#include "tool/util/cmdline/cmd.h"

/* Reads the conditions and the baseline; 0, or the exit status after it has told why. */
int leak_gate_read(const struct cmd *c);

/* Whether there are conditions, and whether some are about leaks. */
bool leak_gate_given(void);
bool leak_gate_needs_check(void);

/* Whether some are and no process was looked at: then nothing can be said to have passed. */
bool leak_gate_blind(const struct prof *p, const bool *chosen);

/* Conditions as they were judged, NULL = there are none; and telling those that are met. */
const struct judge *leak_gate_result(void);
void leak_gate_tell(void);

/* Marks losses that the baseline has too; false when there is none. */
bool leak_gate_mark_known(struct prof *p, const struct skip *s);

/* Judges, and returns how many conditions are met. `s`: made while names were short. */
unsigned leak_gate_judge(const struct prof *p, const struct skip *s, const bool *chosen);

/* Writes JUnit's file, if one was asked for: after judging. False when that failed. */
bool leak_gate_junit(const struct prof *p, const struct skip *s, const bool *chosen,
		     const struct memcheck_opts *o);

#endif
