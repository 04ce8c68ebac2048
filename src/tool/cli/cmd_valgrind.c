/* SPDX-License-Identifier: MIT */
/* cmd_valgrind.c -- `seep valgrind`: memcheck's options, and then `seep run`. */
#include "tool/cli/cmd_run.h"
#include "tool/cli/commands.h"
#include "tool/compat/valgrind/peer_valgrind.h"

static int
valgrind_run(void *opts, int argc, char **argv)
{
	struct run_args a = {.run = RUN_OPTS_NONE};
	int at, status;

	(void)opts;
	if (!peer_valgrind_read(&cmd_valgrind, argc, argv, &a.run, &a.leak, &at, &status))
		return status;
	status = run_program(&a, argv + at);
	leak_opts_done(&a.leak);
	return status;
}

const struct cmd cmd_valgrind = {
	.name = "valgrind",
	.args = "PROGRAM [ARG...]",
	.help = "report as valgrind's memcheck, at a small part of its cost",
	.man = "seep-valgrind",
	.needs_proc = true,
	.opts = peer_valgrind_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = valgrind_run,
};
