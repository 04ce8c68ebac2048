/* SPDX-License-Identifier: MIT */
/* cmd_mark.c -- `seep mark`: a snapshot of every place's live totals, in the
 * recording. */
#include <inttypes.h>
#include <stdio.h>

#include "tool/cli/commands.h"
#include "tool/target/run/control.h"
#include "tool/target/run/find.h"
#include "tool/util/fmt.h"

static int
mark_run(void *opts, int argc, char **argv)
{
	struct livefile f = {.fd = -1};
	struct control_marked m;
	struct err e = {0};
	const char *name = argc > 1 ? argv[1] : "";
	int r = target_find_writable(argv[0], &f, &e);

	(void)opts;
	if (r == 0)
		r = control_mark(&f, name, &m, &e);
	if (r == 0)
		printf("mark %" PRIu32 "%s%s of %d: %s live at %" PRIu32
		       " stack%s, %s in\n",
		       m.number, *name != '\0' ? " " : "", name, f.pid,
		       fmt_size(m.live_bytes > 0 ? (uint64_t)m.live_bytes : 0).s, m.sites,
		       m.sites == 1 ? "" : "s", fmt_duration(m.ms * 1000000).s);
	livefile_close(&f);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_mark = {
	.name = "mark",
	.args = "PID|NAME [MARK]",
	.help = "take a named snapshot, to compare with later",
	.man = "seep-control",
	.needs_proc = true,
	.min_args = 1,
	.max_args = 2,
	.run = mark_run,
};
