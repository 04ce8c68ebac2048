/* SPDX-License-Identifier: MIT */
/* outside.h -- a recorded process's memory by kind over time: what grows that malloc did
 * not hand out, and what malloc keeps while the program's own memory is flat.
 *
 * Looked at together with the totals of its sites (looks.h), 20 to 40 times in a run, and
 * less often where reading its mappings is dear: for no more than 60 ms, and from then on
 * a five-hundredth of a core. */
#ifndef SEEP_SESSION_OUTSIDE_H
#define SEEP_SESSION_OUTSIDE_H

#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/target/proc/covered.h"
#include "tool/target/run/livefile.h"

enum { OUTSIDE_LOOKS = 2 }; /* at a process, before it is worth a look of ours */

struct outside;

/* A look at the process behind `f` at `ms` of its recording. *o is made at the first one;
 * NULL before. Never fails: a process that cannot be looked at says nothing. */
void outside_look(struct outside **o, struct livefile *f, uint64_t ms);

/* The last look, at a process that has `anon_kib` of anonymous memory. `ends`: it stands
 * at its end. */
void outside_last(struct outside **o, struct livefile *f, uint64_t ms, uint64_t anon_kib,
		  bool ends);

/* What was found, as rows of prof.memories, and what malloc had at most. `from_start`:
 * recorded from its first allocation on. */
void outside_save(struct outside *o, struct prof *p, uint32_t process,
		  const struct covered *covered, bool from_start);

void outside_free(struct outside *o); /* NULL is fine */

#endif
