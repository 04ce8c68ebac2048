/* SPDX-License-Identifier: MIT */
/* leak_demand.h -- a look for leaks in a process that runs, as a command's options want it: which way, what is
 * new since the last one, or only what it would cost. */
#ifndef SEEP_CLI_LEAK_DEMAND_H
#define SEEP_CLI_LEAK_DEMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/model/prof.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/target/run/livefile.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/err.h"

extern struct leak_demand {
	bool only_new, increased, changed, dry_run;
	bool draconian; /* HEAPCHECK's: whatever is not freed nor ignored is lost */
	const char *way;
	uint64_t max_stop_ns; /* 0 = any */
	uint64_t
		figures_fd; /* libseep's: where it wants bytes and blocks lost since the last look */
} leak_demand;

/* Rows of an option table. */
#define LEAK_DEMAND_OPTS                                                                   \
	{"new", 0, OPT_NONE, .to = &leak_demand.only_new,                                  \
	 .help = "List only places that had nothing lost at the last look."},              \
		{"increased", 0, OPT_NONE, .to = &leak_demand.increased,                   \
		 .help = "The same, and places that lost more since then."},               \
		{"changed", 0, OPT_NONE, .to = &leak_demand.changed,                       \
		 .help = "The same, and places that have less."},                          \
		{"way",                                                                    \
		 0,                                                                        \
		 OPT_STRING,                                                               \
		 .to = &leak_demand.way,                                                   \
		 .metavar = "copy|stop",                                                   \
		 .help = "Look at a copy of the process, or stop it (as memory allows)."}, \
		{"max-stop",                                                               \
		 0,                                                                        \
		 OPT_DURATION,                                                             \
		 .to = &leak_demand.max_stop_ns,                                           \
		 .metavar = "TIME",                                                        \
		 .help = "Refuse if it would have to stand still for longer."},            \
		{"figures-fd", 0, OPT_U64, .to = &leak_demand.figures_fd},                 \
		{"draconian", 0, OPT_NONE, .to = &leak_demand.draconian},                  \
	{                                                                                  \
		"dry-run", 0, OPT_NONE,                                                    \
			.to = &leak_demand.dry_run,                                        \
			.help = "Only tell how long it would stand still, and why."        \
	}

/* How a leak check is made that these options, and those of LeakSanitizer, ask for. Valid until the next call. */
const struct leakcheck_how *leak_demand_how(void);

/* Whether the last look matters. */
bool leak_demand_since(void);

/* Whether any of them was given; whether they make sense: 0 or an exit status. */
bool leak_demand_given(void);
int leak_demand_check(const struct cmd *cmd);

/* Looks at the running process behind `f` and adds what is found to `p`; fails when that cannot be done. With
 * --dry-run only the plan is printed, as JSON if `json`. */
int leak_demand_look(struct livefile *f, bool json, struct prof *p,
		     struct leakcheck *ret_check, struct err *e);

/* Whether only a part was asked for, and nothing of that is lost. */
bool leak_demand_nothing(const struct leakcheck *c);

/* The last lines of a report: what has changed, in which way it was looked at, how long it stood still. */
void leak_demand_end(FILE *to, const struct leakcheck *c);

#endif
