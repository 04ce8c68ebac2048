/* SPDX-License-Identifier: MIT */
/* cmd_run.h -- what `seep valgrind` has of `seep run`: all but its own options. */
#ifndef SEEP_CLI_CMD_RUN_H
#define SEEP_CLI_CMD_RUN_H

#include "tool/compat/leaks/leak_opts.h"
#include "tool/session/run/run_impl.h"

struct run_args {
	struct run_opts run;
	struct leak_opts leak;
};

/* Starts the program, records it, reports; returns the exit status. */
int run_program(struct run_args *a, char **argv);

#endif
