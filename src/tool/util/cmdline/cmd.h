/* SPDX-License-Identifier: MIT */
/* cmd.h -- a command of seep: one row of a const table, in a file of its own.
 *
 * cmd_call makes a struct for the options, reads them into it with the row's table,
 * counts the words that are left and calls `run`. The same rows make `seep help`, and the
 * tests compare them with man pages and completions. The functions here are the ones that
 * say something on stderr: for src/tool/cli and src/tool/compat, which print and decide
 * about exit statuses; what lies below returns a struct err. */
#ifndef SEEP_UTIL_CMD_H
#define SEEP_UTIL_CMD_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

/* Exit statuses of seep itself; `run` otherwise passes on the program's. */
enum {
	CMD_OK = 0,
	CMD_FOUND = 1, /* something was found that the user asked to be told */
	CMD_USAGE = 2,
	CMD_FAILED = 3,
};

enum { CMD_ANY_ARGS = -1 };

/* Row of the commands that print in colour. The setting lasts until the next cmd_call. */
#define CMD_COLOR_OPT                                                                    \
	{                                                                                \
		"color", 0, OPT_STRING,                                                  \
			.set = cmd_set_color, .metavar = "auto|always|never",            \
			.help = "Print in colour; auto: on a terminal, unless NO_COLOR " \
				"is set (auto)."                                         \
	}
opt_setter cmd_set_color;

struct cmd {
	const char *name;
	const char *args;	/* "PID [NAME]", for the usage line */
	const char *help;	/* half a sentence: what it answers */
	const char *man;	/* name of its manual page */
	const struct opt *opts; /* into a struct that is made for each call: */
	size_t opts_bytes;	/* its size */
	const void *defaults;	/* and what is in it before; NULL = zeros */
	int min_args, max_args; /* words besides the options; CMD_ANY_ARGS: no limit */
	/* the first word ends the options: they are a program's then */
	bool options_first;
	/* it is about processes, always: says so where /proc is not mounted */
	bool needs_proc;
	/* `run` gets all words and reads the options itself: a personality */
	bool own_options;
	/* `opts` is that struct. argv[0 … argc - 1] are the words, argv[argc] is NULL.
	 * Returns the exit status. */
	int (*run)(void *opts, int argc, char **argv);
	void (*done)(void *opts); /* frees what the options hold; or NULL */
};

/* Runs a command with options and words, and returns its exit status. */
int cmd_call(const struct cmd *c, int argc, char **argv);

/* Is it --help or -h? NULL is not. */
bool cmd_is_help(const char *word);

/* Is /proc there? */
bool cmd_has_proc(void);

/* Says "seep: MESSAGE" on stderr and returns CMD_FAILED. */
int cmd_fail(const struct err *e);

/* Says "seep CMD: MESSAGE". */
void cmd_tell(const struct cmd *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Says "seep CMD: MESSAGE" and where help is, and returns CMD_USAGE. */
int cmd_usage(const struct cmd *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a word that is empty where a process or file is to be named. */
int cmd_empty_word(const struct cmd *c);

/* Print what `seep help CMD` and `seep --version` do, and return CMD_OK. */
int cmd_help(const struct cmd *c);
int cmd_version(void);

/* A remark on stderr: "seep: MESSAGE". As in all of these, control characters of what is
 * quoted do not reach the terminal. */
void cmd_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* From now on all of these go to `f`, at once, and nothing to stderr. Borrowed. */
void cmd_say_to(FILE *f);

/* Says that a file was written, on stderr; nothing for "-". */
void cmd_wrote(const char *path);

/* As cmd_fail, but what may not be overwritten (-EEXIST) is a wrong use of the command:
 * CMD_USAGE. */
int cmd_fail_output(const struct err *e);

#endif
