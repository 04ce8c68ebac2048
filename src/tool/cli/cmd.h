/* SPDX-License-Identifier: MIT */
/* cmd.h -- a command of seep: one row of a const table, in a file of its own.
 *
 * main.c reads the options with the row's table, counts the words that are left and calls
 * `run`. The same rows make `seep help`, and the tests compare them with man pages and
 * completions. Only this folder prints and decides about exit statuses. */
#ifndef SEEP_CLI_CMD_H
#define SEEP_CLI_CMD_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/util/err.h"
#include "tool/util/opt.h"

/* Exit statuses of seep itself; `run` otherwise passes on the program's. */
enum {
	CMD_OK = 0,
	CMD_FOUND = 1, /* something was found that the user asked to be told */
	CMD_USAGE = 2,
	CMD_FAILED = 3,
};

enum { CMD_ANY_ARGS = -1 };

struct cmd {
	const char *name;
	const char *args; /* "PID [NAME]", for the usage line */
	const char *help; /* half a sentence: what it answers */
	const char *man;  /* name of its manual page */
	const struct opt *opts;
	int min_args, max_args; /* words besides the options; CMD_ANY_ARGS: no limit */
	bool options_first; /* the first word ends the options: they are a program's then */
	bool needs_proc; /* it is about processes, always: says so where /proc is not mounted */
	bool own_options; /* `run` gets all words and reads the options itself: a personality */
	/* argv[0 … argc - 1] are the words, argv[argc] is NULL. Returns the exit
	 * status. */
	int (*run)(int argc, char **argv);
};

extern const struct cmd cmd_attach, cmd_detach, cmd_memleak, cmd_run, cmd_report,
	cmd_pause, cmd_resume, cmd_mark, cmd_ps, cmd_doctor, cmd_jeprof, cmd_pprof,
	cmd_mtrace, cmd_flamegraph, cmd_convert, cmd_diff, cmd_watch, cmd_why, cmd_dump,
	cmd_leaks, cmd_scan, cmd_valgrind;

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

/* A remark on stderr: "seep: MESSAGE". As in all of these, control characters of what is quoted
 * do not reach the terminal. */
void cmd_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* From now on all of these go to `f`, at once, and nothing to stderr. Borrowed. */
void cmd_say_to(FILE *f);

/* `seep diff OLD NEW`, to stdout, for another command. */
int cmd_diff_two(char *old, char *new, bool json);

#endif
