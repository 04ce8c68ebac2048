/* SPDX-License-Identifier: MIT */
/* unrecorded.h -- what the asking commands do with a process that nobody recorded, and
 * with a core file. */
#ifndef SEEP_CLI_UNRECORDED_H
#define SEEP_CLI_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/heapscan.h"
#include "tool/model/prof.h"
#include "tool/session/heap/heap_prof.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

/* What a word of the command line means here. */
struct unrecorded {
	const char *core; /* path; NULL = a process */
	int pid;
};

struct leak_rounds;

enum unrecorded_which {
	UNRECORDED_NOT_AT_ALL, /* processes without any recording */
	UNRECORDED_NOT_ALL,    /* and those with one that does not know all blocks */
	UNRECORDED_ANY,
};

/* What the options say. */
struct unrecorded_opts {
	const char *who; /* address of which holders are asked for; NULL = none */
	uint64_t blocks; /* row whose blocks are asked for; 0 = none */
	bool show_content;
	const char *program; /* that was named beside a core; NULL = none */
	bool json, bytes, all, dry_run;
	const char *way; /* "copy", "stop"; NULL = as memory allows */
	unsigned kinds;	 /* bits 1 << enum heapscan_kind; 0 = the usual */
	unsigned error_exitcode;
	uint64_t max_stop_ns; /* 0 = any */
	/* of repeated checks; NULL = one. And whether their lines are not wanted */
	const struct leak_rounds *rounds;
	bool quiet;
};

/* Whether the word is a core file, or a process of these; any process when --who or
 * --blocks was given. False for everything else, which others know how to read or to
 * refuse. */
bool unrecorded_find(const struct unrecorded_opts *o, const char *word,
		     enum unrecorded_which which, struct unrecorded *ret);

/* Takes the program out of two words of which one is a core or a PID, in either order, as
 * gdb and eu-stack take them: returns 1, and the other word is the first. Else returns
 * `argc`. */
int unrecorded_words(struct unrecorded_opts *o, int argc, char **argv);

/* Rows for the option table of `seep leaks`, in whose struct they are at the offset
 * `base`. */
/* clang-format off */
#define UNRECORDED_OPTS(base)                                                    \
	{"who", 0, OPT_STRING, .at = (base) + offsetof(struct unrecorded_opts, who),                        \
	 .metavar = "ADDRESS",                                                           \
	 .help = "Print the chain of pointers from a root to the block at ADDRESS."},      \
	{"blocks", 0, OPT_U64, .at = (base) + offsetof(struct unrecorded_opts, blocks), .metavar = "N",      \
	 .help = "Print the contents of the blocks of row N."},                                \
	{"show-content", 0, OPT_NONE, .at = (base) + offsetof(struct unrecorded_opts, show_content),         \
	 .help = "Do not mask the contents."}
/* clang-format on */

/* Checks it again and again as o->rounds says, and prints a line for each. What the last
 * check found is c->scan. */
struct heapcheck;
struct heapcheck_opts;
int unrecorded_rounds(int pid, const struct unrecorded_opts *o,
		      const struct heapcheck_opts *how, struct heapcheck *c,
		      struct err *e);

/* How the process will be looked at: *ret_copy says whether from a copy. Tells on stderr
 * what pause to expect if that is long, and on stdout for a dry run. */
int unrecorded_plan(int pid, const struct unrecorded_opts *o, bool *ret_copy,
		    struct err *e);

/* `seep leaks` on it; prints, and returns the exit status. */
int unrecorded_leaks(const struct unrecorded *u, const char *word,
		     const struct unrecorded_opts *o);

/* The same of one whose blocks could not be read, as heapcheck_process has found out. */
struct scan_opts;
int unrecorded_unreadable(const struct heapscan *s, const char *word,
			  const struct scan_opts *show, bool json);

/* Whether seep is in it: then it cannot be attached to. 0 = a core: no. */
bool unrecorded_is_attached(int pid);

/* The same as a profile `p`, which is empty, for reports in other tools' words, and as
 * text; *ret_check is what is known of the look itself. Returns 1 when only the way was
 * asked for. */
int unrecorded_load(const struct unrecorded *u, const char *word,
		    const struct unrecorded_opts *o, struct prof *p, struct buf *text,
		    struct leakcheck *ret_check, struct err *e);

#endif
