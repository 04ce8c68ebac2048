/* SPDX-License-Identifier: MIT */
/* cmd.c -- what commands say on stderr, or where a log is kept instead. Each message is one
 * line, written at once, so that it does not mix with what the program prints there. */
#include "tool/cli/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "tool/render/figure.h"
#include "tool/util/buf.h"

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
