/* SPDX-License-Identifier: MIT */
/* cmd_heaptrack.c -- `seep heaptrack`: heaptrack's command line, over seep's recorder.
 *
 * It starts a program, attaches to a process, or shows a file of either tool. What it
 * writes is a recording of seep, NAME.rec, and it says so: a file of heaptrack has every
 * event, a recording has sums. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/cli/cmd_run.h"
#include "tool/cli/commands.h"
#include "tool/compat/compat.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct heaptrack_args {
	const char *output, *pid, *analyze;
	bool raw, debug, inject, version;
};

#define AT(member) .at = offsetof(struct heaptrack_args, member)

static const struct opt heaptrack_opts[] = {
	{"output", 'o', OPT_STRING, AT(output), .metavar = "NAME",
	 .help = "Save the recording as NAME.rec; %p is the process id of seep, %h the "
		 "name of the machine (heaptrack.PROGRAM.%p)."},
	{"output-file", 0, OPT_STRING, AT(output), .metavar = "NAME", .help = NULL},
	{"pid", 'p', OPT_STRING, AT(pid), .metavar = "PID",
	 .help = "Record a running process until Ctrl-C, or until it ends."},
	{"analyze", 'a', OPT_STRING, AT(analyze), .metavar = "FILE",
	 .help = "Show a recording or a file of heaptrack; with words behind FILE, as "
		 "seep heaptrack_print takes them."},
	{"raw", 'r', OPT_NONE, AT(raw), .help = "Refused: seep writes recordings."},
	{"debug", 'd', OPT_NONE, AT(debug),
	 .help = "Refused: run the program in the debugger yourself."},
	{"use-inject", 0, OPT_NONE, AT(inject),
	 .help = "Accepted, without an effect: seep chooses how it gets in."},
	{"version", 'v', OPT_NONE, AT(version), .help = "Print seep's version."},
	{0},
};

/* "NAME.rec" from what -o has; folders that are missing are made, as heaptrack does. */
static char *
heaptrack_name(const char *word, const char *program)
{
	char host[256] = "";
	struct buf b = {0};
	size_t n;

	gethostname(host, sizeof host - 1);
	for (const char *at = word; at != NULL && *at != '\0'; at++) {
		if (at[0] == '%' && at[1] == 'h')
			buf_add_str(&b, host), at++;
		else if (at[0] == '%' && at[1] == 'p')
			buf_printf(&b, "%d", (int)getpid()), at++;
		else
			buf_add_char(&b, *at);
	}
	if (word == NULL)
		buf_printf(&b, "heaptrack.%s.%d", file_last_part(program), (int)getpid());
	n = b.len;
	if (n < 4 || memcmp(buf_str(&b) + n - 4, ".rec", 4) != 0)
		buf_add_str(&b, ".rec");
	return buf_take(&b);
}

static int
heaptrack_make_folders(char *path, struct err *e)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
		if (r < 0)
			r = err_sys(e, r, "%s: cannot make the folder", path);
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

/* Which file it is, to see whether there is a new one. */
static ino_t
heaptrack_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static int
heaptrack_run_program(const char *output, char **argv)
{
	struct run_args a = {.run = RUN_OPTS_NONE};
	int status;

	a.run.output = output;
	status = run_program(&a, argv);
	leak_opts_done(&a.leak);
	return status;
}

static int
heaptrack_attach(const char *output, const char *pid)
{
	char *words[] = {"--exact", "--for=0", "-o", xstrdup(output), xstrdup(pid), NULL};
	int status = cmd_call(&cmd_attach, 5, words);

	free(words[3]);
	free(words[4]);
	return status;
}

static int
heaptrack_record(const struct heaptrack_args *a, char **argv)
{
	char *output = heaptrack_name(a->output, a->pid != NULL ? a->pid : argv[0]);
	ino_t before = heaptrack_inode(output);
	struct err e = {0};
	int status;

	if (heaptrack_make_folders(output, &e) < 0)
		status = cmd_fail(&e);
	else if (a->pid != NULL)
		status = heaptrack_attach(output, a->pid);
	else
		status = heaptrack_run_program(output, argv);
	if (heaptrack_inode(output) != before)
		cmd_note(
			"%s is a recording of seep, not a file of heaptrack; look at it: "
			"seep heaptrack --analyze %s",
			output, output);
	free(output);
	return status;
}

static int
heaptrack_show(const char *file, int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 2, sizeof *words);
	const struct cmd *shown = argc > 0 ? &cmd_heaptrack_print : &cmd_report;
	int status;

	words[0] = xstrdup(file);
	for (int i = 0; i < argc; i++)
		words[1 + i] = argv[i];
	status = cmd_call(shown, argc + 1, words);
	free(words[0]);
	free(words);
	return status;
}

static int
heaptrack_refuse(const struct heaptrack_args *a)
{
	if (a->raw)
		return cmd_usage(
			&cmd_heaptrack,
			"--raw: seep writes a recording, with names; for raw data "
			"use heaptrack itself");
	return cmd_usage(
		&cmd_heaptrack,
		"--debug: use gdb --args PROGRAM, with LD_PRELOAD=libseep.so set in "
		"it (man seep-dropin)");
}

static int
heaptrack_run(void *opts, int argc, char **argv)
{
	struct heaptrack_args a = {0};
	struct err e = {0};
	int at = 0;

	(void)opts;
	/* One by one: the words behind the file of -a are heaptrack_print's. */
	while (at < argc && a.analyze == NULL && argv[at][0] == '-') {
		int used = 0;

		if (cmd_is_help(argv[at]))
			return cmd_help(&cmd_heaptrack);
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (opt_parse(heaptrack_opts, 1, argv + at, &used, &a, &e) < 0 &&
		    (used = 0, opt_parse(heaptrack_opts, at + 1 < argc ? 2 : 1, argv + at,
					 &used, &a, &e)) < 0)
			return cmd_usage(&cmd_heaptrack, "%s", e.msg);
		at += used;
	}
	if (a.version)
		return cmd_version();
	if (a.raw || a.debug)
		return heaptrack_refuse(&a);
	if (a.analyze != NULL && *a.analyze == '\0')
		return cmd_empty_word(&cmd_heaptrack);
	if (a.analyze != NULL)
		return heaptrack_show(a.analyze, argc - at, argv + at);
	if (a.pid != NULL && at < argc)
		return cmd_usage(&cmd_heaptrack,
				 "--pid and a program exclude each other");
	if (a.pid == NULL && at == argc)
		return cmd_usage(&cmd_heaptrack, "no program given");
	if (a.output != NULL && *a.output == '\0')
		return cmd_usage(&cmd_heaptrack, "--output: the name is empty");
	/* As heaptrack has it: a file that is no program is one to look at. */
	if (a.pid == NULL && file_is_regular(argv[at]) && access(argv[at], X_OK) != 0)
		return heaptrack_show(argv[at], argc - at - 1, argv + at + 1);
	return heaptrack_record(&a, argv + at);
}

const struct cmd cmd_heaptrack = {
	.name = "heaptrack",
	.args = "PROGRAM [ARG...]",
	.help = "record a program or process, with heaptrack's options",
	.man = "seep-heaptrack",
	.needs_proc = true,
	.opts = heaptrack_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = heaptrack_run,
};
