/* SPDX-License-Identifier: MIT */
/* cmd_valgrind.c -- `seep valgrind`: memcheck's options, and then `seep run`; and
 * `seep massif`, also as `seep valgrind --tool=massif`, which writes massif.out files at
 * its end. */
#include <string.h>

#include "tool/cli/cmd_run.h"
#include "tool/cli/commands.h"
#include "tool/compat/massif/peer_massif.h"
#include "tool/compat/valgrind/peer_valgrind.h"
#include "tool/compat/valgrind/vg_words.h"

static int
massif_run(const struct cmd *cmd, int argc, char **argv)
{
	struct peer_massif m;
	struct run_args a = {.run = RUN_OPTS_NONE,
			     .leak = {.silent = true},
			     .take = peer_massif_write,
			     .take_ctx = &m};
	int at, status;

	if (peer_massif_read(cmd, argc, argv, &a.run, &m, &at, &status)) {
		status = run_program(&a, argv + at);
		leak_opts_done(&a.leak);
	}
	peer_massif_done(&m);
	return status;
}

static int
massif_cmd_run(void *opts, int argc, char **argv)
{
	(void)opts;
	return massif_run(&cmd_massif, argc, argv);
}

const struct cmd cmd_massif = {
	.name = "massif",
	.args = "PROGRAM [ARG...]",
	.help = "write massif.out files as valgrind's massif does",
	.man = "seep-massif",
	.needs_proc = true,
	.opts = peer_massif_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = massif_cmd_run,
};

static int
valgrind_run(void *opts, int argc, char **argv)
{
	struct run_args a = {.run = RUN_OPTS_NONE};
	int at, status;

	const char *tool = vg_tool(argc, argv);

	(void)opts;
	if (tool != NULL && strcmp(tool, "massif") == 0)
		return massif_run(&cmd_valgrind, argc, argv);
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
