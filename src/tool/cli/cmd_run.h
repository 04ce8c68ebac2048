/* SPDX-License-Identifier: MIT */
/* cmd_run.h -- what `seep valgrind` and `seep massif` have of `seep run`: all but its
 * own options. */
#ifndef SEEP_CLI_CMD_RUN_H
#define SEEP_CLI_CMD_RUN_H

#include "tool/compat/leaks/leak_opts.h"
#include "tool/session/run/run_impl.h"

struct run_args {
	struct run_opts run;
	struct leak_opts leak;
	/* For commands that write something else than a recording: gets the whole run,
	 * with names, when the program has ended. NULL = nothing. On failure the
	 * recording is kept. */
	int (*take)(void *ctx, struct prof *p, uint32_t pid, struct err *e);
	void *take_ctx;
};

/* Starts the program, records it, reports; returns the exit status. */
int run_program(struct run_args *a, char **argv);

#endif
