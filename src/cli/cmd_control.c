/* SPDX-License-Identifier: MIT */
/* cmd_control.c -- `seep pause`, `resume` and `mark`: three words to a recorder at
 * work. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "target/control.h"
#include "target/find.h"
#include "util/fmt.h"

static int
set_paused(const char *what, bool paused)
{
	struct livefile f = {.fd = -1};
	struct err e = {0};
	bool was;

	if (target_find(what, &f, &e) < 0)
		return cmd_fail(&e);
	was = f.head->paused != 0;
	control_pause(&f, paused);
	printf("%d %s%s\n", f.pid, was == paused ? "already " : "",
	       paused ? "paused: new allocations are not recorded, frees are"
		      : "recording");
	livefile_close(&f);
	return CMD_OK;
}

static int
pause_run(int argc, char **argv)
{
	(void)argc;
	return set_paused(argv[0], true);
}

static int
resume_run(int argc, char **argv)
{
	(void)argc;
	return set_paused(argv[0], false);
}

static int
mark_run(int argc, char **argv)
{
	struct livefile f = {.fd = -1};
	struct control_marked m;
	struct err e = {0};
	const char *name = argc > 1 ? argv[1] : "";
	int r = target_find(argv[0], &f, &e);

	if (r == 0)
		r = control_mark(&f, name, &m, &e);
	if (r == 0)
		printf("mark %" PRIu32 "%s%s of %d: %s live at %" PRIu32
		       " stacks, %s in\n",
		       m.number, *name != '\0' ? " " : "", name, f.pid,
		       fmt_size(m.live_bytes > 0 ? (uint64_t)m.live_bytes : 0).s, m.sites,
		       fmt_duration(m.ms * 1000000).s);
	livefile_close(&f);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_pause = {
	.name = "pause",
	.args = "PID|NAME",
	.help = "stop recording new allocations",
	.man = "seep-control",
	.min_args = 1,
	.max_args = 1,
	.run = pause_run,
};

const struct cmd cmd_resume = {
	.name = "resume",
	.args = "PID|NAME",
	.help = "go on recording",
	.man = "seep-control",
	.min_args = 1,
	.max_args = 1,
	.run = resume_run,
};

const struct cmd cmd_mark = {
	.name = "mark",
	.args = "PID|NAME [MARK]",
	.help = "note what is live now, to compare with later",
	.man = "seep-control",
	.min_args = 1,
	.max_args = 2,
	.run = mark_run,
};
