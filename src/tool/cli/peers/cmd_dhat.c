/* SPDX-License-Identifier: MIT */
/* cmd_dhat.c -- `seep dhat`: a run, and its recording as DHAT's JSON besides.
 *
 * The file is what `seep convert` writes of the recording, which stays beside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/cmd_run.h"
#include "tool/cli/commands.h"
#include "tool/session/log_name.h"
#include "tool/session/out_file.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct dhat_args {
	const char *output;
};

static const struct opt dhat_opts[] = {
	{"dhat-out-file", 0, OPT_STRING, .at = offsetof(struct dhat_args, output),
	 .metavar = "FILE",
	 .help = "Write FILE, and the recording as FILE.rec; %p is the process id of seep, "
		 "%q{NAME} an environment variable (dhat.out.%p)."},
	{0},
};

static int
dhat_convert(char *recording, char *output)
{
	char *words[] = {"--to=dhat", recording, output, NULL};
	int status;

	if (!file_is_regular(recording)) /* whoever could not save it has said so */
		return CMD_FAILED;
	status = cmd_call(&cmd_convert, 3, words);
	if (status == CMD_OK)
		cmd_note("open %s in valgrind's dh_view.html, or: seep report %s", output,
			 output);
	return status;
}

static int
dhat_run(void *opts, int argc, char **argv)
{
	const struct dhat_args *o = opts;
	struct run_args a = {.run = RUN_OPTS_NONE};
	struct err e = {0};
	char *output = NULL, *recording = NULL;
	int status, converted;

	(void)argc;
	if (log_name(o->output != NULL ? o->output : "dhat.out.%p", (uint32_t)getpid(), 0,
		     &output, &e) < 0)
		return cmd_usage(&cmd_dhat, "--dhat-out-file: %s", e.msg);
	if (out_check(output, "dhat", &e) < 0) {
		free(output);
		return cmd_fail_output(&e);
	}
	recording = xasprintf("%s.rec", output);
	a.run.output = recording;
	status = run_program(&a, argv);
	/* Programs that could not be started have no recording. */
	converted = a.leak.program_pid != 0 ? dhat_convert(recording, output) : CMD_OK;
	leak_opts_done(&a.leak);
	if (status == CMD_OK)
		status = converted;
	free(recording);
	free(output);
	return status;
}

const struct cmd cmd_dhat = {
	.name = "dhat",
	.args = "PROGRAM [ARG...]",
	.help = "record a program, and write what valgrind's DHAT writes of it",
	.man = "seep-dhat",
	.needs_proc = true,
	.opts = dhat_opts,
	.opts_bytes = sizeof(struct dhat_args),
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.options_first = true,
	.run = dhat_run,
};
