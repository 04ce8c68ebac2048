/* SPDX-License-Identifier: MIT */
/* leak_rounds.h -- `seep leaks PID --every`: the leak check of a running process, again
 * and again, until the time is over, the process has ended or the user has seen enough.
 *
 * Always on a copy. A line for each check as it is made; what the last of them found, and
 * when each block was lost, is the report. */
#ifndef SEEP_COMPAT_LEAK_ROUNDS_H
#define SEEP_COMPAT_LEAK_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/compat/leaks/leak_demand.h"
#include "tool/session/leaks/loss_watch.h"

struct leak_rounds {
	uint64_t every_ns; /* 0 = one check */
	uint64_t for_ns, count;
};

/* Rows of an option table, in whose struct they are at the offset `base`. */
/* clang-format off */
#define LEAK_ROUNDS_AT(base, member) .at = (base) + offsetof(struct leak_rounds, member)
#define LEAK_ROUNDS_OPTS(base)                                                          \
	{"every", 0, OPT_DURATION, LEAK_ROUNDS_AT(base, every_ns), .metavar = "TIME",   \
	 .help = "Repeat the check at this interval, on a copy, and report when "       \
		 "blocks were lost."},                                                  \
	{"for", 0, OPT_DURATION, LEAK_ROUNDS_AT(base, for_ns), .metavar = "TIME",       \
	 .help = "With --every, end after TIME (0 = when the process ends, or at "      \
		 "Ctrl-C)."},                                                           \
	{"count", 0, OPT_U64, LEAK_ROUNDS_AT(base, count), .metavar = "N",              \
	 .help = "With --every, end after N checks (0 = no limit)."}
/* clang-format on */

/* Whether they make sense, those of leak_demand.h too: 0 or an exit status. */
int leak_rounds_check(const struct leak_rounds *o, const struct leak_demand *d,
		      const struct cmd *cmd);

/* The line of one check, at `ms` on the caller's clock. `place`: of most of what is new,
 * or NULL. */
void leak_rounds_line(struct buf *out, const struct loss_watch *w, const char *place);

/* Checks the running process behind `f` and adds what the last check found to `p`. Lines
 * go to stdout unless `quiet`. Fails when no check could be made. */
int leak_rounds_look(const struct leak_rounds *o, struct leak_demand *d,
		     struct leak_opts *l, struct livefile *f, bool quiet, struct prof *p,
		     struct leakcheck *ret_check, struct err *e);

#endif
