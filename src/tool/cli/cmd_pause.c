/* SPDX-License-Identifier: MIT */
/* cmd_pause.c -- `seep pause` and `seep resume`: one word to a recorder at work. */
#include <stdio.h>

#include "tool/cli/commands.h"
#include "tool/target/run/control.h"
#include "tool/target/run/find.h"

static int
set_paused(const char *what, bool paused)
{
	struct livefile f = {.fd = -1};
	struct err e = {0};
	bool was;

	if (target_find_writable(what, &f, &e) < 0)
		return cmd_fail(&e);
	was = livefile_head(&f).paused;
	control_pause(&f, paused);
	printf("%d %s%s\n", f.pid, was == paused ? "already " : "",
	       paused ? "paused: new allocations are not recorded, frees are"
		      : "recording");
	livefile_close(&f);
	return CMD_OK;
}

static int
pause_run(void *opts, int argc, char **argv)
{
	(void)opts;
	(void)argc;
	return set_paused(argv[0], true);
}

static int
resume_run(void *opts, int argc, char **argv)
{
	(void)opts;
	(void)argc;
	return set_paused(argv[0], false);
}

const struct cmd cmd_pause = {
	.name = "pause",
	.args = "PID|NAME",
	.help = "stop recording new allocations",
	.man = "seep-control",
	.needs_proc = true,
	.min_args = 1,
	.max_args = 1,
	.run = pause_run,
};

const struct cmd cmd_resume = {
	.name = "resume",
	.args = "PID|NAME",
	.help = "continue recording",
	.man = "seep-control",
	.needs_proc = true,
	.min_args = 1,
	.max_args = 1,
	.run = resume_run,
};
