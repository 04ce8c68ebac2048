/* SPDX-License-Identifier: MIT */
/* leak_demand.h -- a look for leaks in a process that runs, as a command's options want
 * it: which way, what is new since the last one, or only what it would cost. */
#ifndef SEEP_COMPAT_LEAK_DEMAND_H
#define SEEP_COMPAT_LEAK_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tool/compat/leaks/leak_opts.h"
#include "tool/model/prof.h"
#include "tool/session/leaks/leak_last.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/target/run/livefile.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/err.h"

struct leak_demand {
	bool only_new, increased, changed, dry_run;
	bool draconian; /* HEAPCHECK's: whatever is not freed nor ignored is lost */
	const char *way;
	uint64_t max_stop_ns; /* 0 = any */
	/* libseep's: where it wants bytes and blocks lost since the last look */
	uint64_t figures_fd;

	/* Without a recording no look is kept: each is the first. */
	struct leak_last_change change;
};

/* Rows of an option table, in whose struct they are at the offset `base`. */
#define LEAK_DEMAND_AT(base, member) .at = (base) + offsetof(struct leak_demand, member)
#define LEAK_DEMAND_OPTS(base)                                                                     \
	{"new", 0, OPT_NONE, LEAK_DEMAND_AT(base, only_new),                                       \
	 .help = "List only sites that had no leak at the last check."},                           \
		{"increased", 0, OPT_NONE, LEAK_DEMAND_AT(base, increased),                        \
		 .help = "List only sites that are new or leaked more since the last check."},     \
		{"changed", 0, OPT_NONE, LEAK_DEMAND_AT(base, changed),                            \
		 .help = "List only sites whose leaks changed since the last check."},             \
		{"way",                                                                            \
		 0,                                                                                \
		 OPT_STRING,                                                                       \
		 LEAK_DEMAND_AT(base, way),                                                        \
		 .metavar = "copy|stop",                                                           \
		 .help = "Check a forked copy of the process, or stop the process itself "         \
			 "(copy, if the memory suffices)."},                                       \
		{"max-stop",                                                                       \
		 0,                                                                                \
		 OPT_DURATION,                                                                     \
		 LEAK_DEMAND_AT(base, max_stop_ns),                                                \
		 .metavar = "TIME",                                                                \
		 .help = "Refuse if seep estimates that it would stop the process for "            \
			 "longer than TIME."},                                                     \
		{"figures-fd", 0, OPT_U64, LEAK_DEMAND_AT(base, figures_fd)},                      \
		{"draconian", 0, OPT_NONE, LEAK_DEMAND_AT(base, draconian)},                       \
	{                                                                                          \
		"dry-run", 0, OPT_NONE, LEAK_DEMAND_AT(base, dry_run),                             \
			.help = "Print how long the check would stop the process, and do nothing." \
	}

/* Whether the last look matters. */
bool leak_demand_since(const struct leak_demand *d);

/* Whether any of them was given; whether they make sense: 0 or an exit status. */
bool leak_demand_given(const struct leak_demand *d);
int leak_demand_check(const struct leak_demand *d, const struct cmd *cmd);

/* Looks at the running process behind `f` and adds what is found to `p`; fails when that
 * cannot be done. With --dry-run only the plan is printed, as JSON if `json`. */
int leak_demand_look(struct leak_demand *d, struct leak_opts *l, struct livefile *f,
		     bool json, struct prof *p, struct leakcheck *ret_check,
		     struct err *e);

/* The part of it that comes after the check: compares it with the one before, keeps it,
 * and adds recording and findings to `p`. */
int leak_demand_take(struct leak_demand *d, struct livefile *f, struct prof *p,
		     struct leakcheck *check, struct err *e);

/* Whether only a part was asked for, and nothing of that is lost. */
bool leak_demand_nothing(const struct leak_demand *d, const struct leakcheck *c);

/* The last lines of a report: what has changed, in which way it was looked at, how long
 * it stood still. */
void leak_demand_end(const struct leak_demand *d, FILE *to, const struct leakcheck *c);

#endif
