/* SPDX-License-Identifier: MIT */
/* cmd.c -- what commands say on stderr, or where a log is kept instead. Each message is one
 * line, written at once, so that it does not mix with what the program prints there. */
#include "tool/util/cmdline/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/util/buf.h"
#include "tool/util/clean.h"
#include "tool/util/term.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

static FILE *say_to; /* NULL: stderr */

__attribute__((format(printf, 2, 0))) static void
say(const struct cmd *c, const char *fmt, va_list ap, const char *behind)
{
	struct buf b = {0}, message = {0};
	FILE *to = say_to != NULL ? say_to : stderr;

	buf_add_str(&b, "seep");
	if (c != NULL)
		buf_printf(&b, " %s", c->name);
	buf_add_str(&b, ": ");
	buf_vprintf(&message, fmt, ap);
	clean_text(&b, buf_str(&message));
	buf_printf(&b, "%s\n", behind);
	fputs(buf_str(&b), to);
	fflush(to);
	buf_done(&message);
	buf_done(&b);
}

void
cmd_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NULL, fmt, ap, "");
	va_end(ap);
}

void
cmd_tell(const struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, fmt, ap, "");
	va_end(ap);
}

void
cmd_say_to(FILE *f)
{
	say_to = f;
}

bool
cmd_has_proc(void)
{
	return access("/proc/self/stat", F_OK) == 0;
}

int
cmd_fail(const struct err *e)
{
	cmd_note("%s%s", e->msg,
		 cmd_has_proc() ? ""
				: " (/proc is not mounted: processes cannot be seen)");
	return CMD_FAILED;
}

int
cmd_usage(const struct cmd *c, const char *fmt, ...)
{
	struct buf behind = {0};
	va_list ap;

	buf_printf(&behind, " (seep %s --help)", c->name);
	va_start(ap, fmt);
	say(c, fmt, ap, buf_str(&behind));
	va_end(ap);
	buf_done(&behind);
	return CMD_USAGE;
}

int
cmd_empty_word(const struct cmd *c)
{
	return cmd_usage(c, "an argument is empty; usage: seep %s %s", c->name, c->args);
}

int
cmd_help(const struct cmd *c)
{
	struct buf b = {0};
	struct term term;
	bool has_opts = c->opts != NULL && c->opts[0].name != NULL;

	term_init(&term, clean_fd(stdout));
	printf("usage: seep %s%s%s%s\n%s\n", c->name, has_opts ? " [OPTIONS]" : "",
	       *c->args != '\0' ? " " : "", c->args, c->help);
	if (has_opts)
		opt_usage(c->opts, term.columns, &b);
	if (b.len > 0)
		printf("\n%s", buf_str(&b));
	printf("\nMore: man %s\n", c->man);
	buf_done(&b);
	return CMD_OK;
}

int
cmd_version(void)
{
	puts("seep " SEEP_VERSION);
	return CMD_OK;
}

void
cmd_wrote(const char *path)
{
	if (strcmp(path, "-") != 0)
		fprintf(stderr, "wrote %s\n", path);
}

int
cmd_fail_output(const struct err *e)
{
	cmd_fail(e);
	return e->code == -EEXIST ? CMD_USAGE : CMD_FAILED;
}
