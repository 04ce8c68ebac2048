/* SPDX-License-Identifier: MIT */
/* cmd.c -- running a command, and what commands say on stderr, or where a log is kept
 * instead. Each message is one line, written at once, so that it does not mix with what
 * the program prints there. */
#include "tool/util/cmdline/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tool/util/buf.h"
#include "tool/util/clean.h"
#include "tool/util/term.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

enum { FILES_LEAST = 16, FILES_USUAL = 1024 };

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

int
cmd_set_color(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	static const char *const words[] = {
		[TERM_AUTO] = "auto", [TERM_ALWAYS] = "always", [TERM_NEVER] = "never"};

	(void)to;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(v->text, words[i]) == 0) {
			term_colour((enum term_when)i);
			return 0;
		}
	}
	return err_set(e, -EINVAL, "--%s: %s: must be auto, always or never", o->name,
		       v->text);
}

/* ---- running ---- */

struct words VEC_BODY(char *);

bool
cmd_is_help(const char *word)
{
	return word != NULL && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

/* Reads options and words alike. At the word that could not be read *at is left. */
static int
read_words(const struct cmd *c, int argc, char **argv, int *at, void *given,
	   struct words *ret_words, struct err *e)
{
	static const struct opt none[] = {{0}};

	while (*at < argc) {
		int before = *at;
		int r = opt_parse(c->opts != NULL ? c->opts : none, argc, argv, at, given,
				  e);
		bool ended = *at > before && strcmp(argv[*at - 1], "--") == 0;

		if (r < 0)
			return r;
		if (*at < argc)
			vec_push(ret_words, argv[(*at)++]);
		while (*at < argc && (ended || c->options_first))
			vec_push(ret_words, argv[(*at)++]);
	}
	return 0;
}

/* A variable of a script that was never set. A program that is run, and its words, are
 * looked at where it is started. */
static bool
has_empty_word(const struct cmd *c, const struct words *words)
{
	for (size_t i = 0; !c->options_first && i < words->len; i++) {
		if (words->data[i][0] == '\0')
			return true;
	}
	return false;
}

/* Has the process what a command cannot do without? What fails later for want of it would
 * name some other reason. */
static int
check_surroundings(const struct cmd *c)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_LEAST) {
		cmd_tell(
			c,
			"only %ju files may be open at once, and %d are needed; try: ulimit -n %d",
			(uintmax_t)files.rlim_cur, FILES_LEAST, FILES_USUAL);
		return CMD_FAILED;
	}
	if (c->needs_proc && !cmd_has_proc()) {
		cmd_tell(c, "/proc is not mounted: processes cannot be seen");
		return CMD_FAILED;
	}
	return CMD_OK;
}

static int
call_with(const struct cmd *c, int argc, char **argv, void *given, struct words *words)
{
	struct err e = {0};
	int at = 0, status;

	if (c->own_options) {
		status = check_surroundings(c);
		return status == CMD_OK ? c->run(given, argc, argv) : status;
	}
	if (read_words(c, argc, argv, &at, given, words, &e) < 0)
		return cmd_is_help(argv[at]) ? cmd_help(c) : cmd_usage(c, "%s", e.msg);
	if ((int)words->len < c->min_args)
		return cmd_usage(c, "incomplete; usage: seep %s %s", c->name, c->args);
	if (c->max_args != CMD_ANY_ARGS && (int)words->len > c->max_args)
		return cmd_usage(c, "too many arguments, from \"%s\" on",
				 words->data[c->max_args]);
	if (has_empty_word(c, words))
		return cmd_empty_word(c);
	status = check_surroundings(c);
	vec_push(words, NULL);
	return status == CMD_OK ? c->run(given, (int)words->len - 1, words->data)
				: status;
}

int
cmd_call(const struct cmd *c, int argc, char **argv)
{
	void *given = xcalloc(1, c->opts_bytes + 1);
	struct words words = {0};
	int status;

	term_colour(TERM_AUTO);
	if (c->defaults != NULL)
		memcpy(given, c->defaults, c->opts_bytes);
	status = call_with(c, argc, argv, given, &words);
	if (c->done != NULL)
		c->done(given);
	vec_done(&words);
	free(given);
	return status;
}
