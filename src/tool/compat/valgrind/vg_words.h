/* SPDX-License-Identifier: MIT */
/* vg_words.h -- words of a command line as valgrind reads them, whatever its tool.
 *
 * Options come from ~/.valgrindrc, $VALGRIND_OPTS, ./.valgrindrc and the command line, in
 * this order; later ones win. "--memcheck:leak-check=full" is meant for one tool alone.
 * What only steers valgrind's own machinery is taken and forgotten. */
#ifndef SEEP_COMPAT_VG_WORDS_H
#define SEEP_COMPAT_VG_WORDS_H

#include <stdbool.h>

#include "tool/util/cmdline/cmd.h"

enum {
	VG_DONE = -1, /* help was asked for and shown */
	VG_WRONG = 1, /* valgrind's exit status for a wrong command line */
};

struct vg_reader {
	const struct cmd *cmd; /* whose messages they are */
	const char *tool;      /* "memcheck" … */
	const struct opt *opts;
	void *given; /* the struct that the options are stored in */
};

/* Says what is wrong with a word; VG_WRONG. */
int vg_wrong(const struct vg_reader *r, const char *word, const char *why);

/* Reads the files, the variable and the words up to the program, which is
 * argv[*ret_at]; 0, VG_DONE, or VG_WRONG after it has said why. Words that are options
 * may be changed; those of files live as long as we do. */
int vg_read(const struct vg_reader *r, int argc, char **argv, int *ret_at);

/* The tool that the command line names last; NULL = none. */
const char *vg_tool(int argc, char **argv);

bool vg_is_yes(const char *value); /* NULL is no */

/* 0 if `value` is "yes", "no" or NULL, else VG_WRONG after it has said so. */
int vg_yes_no(const struct vg_reader *r, const char *name, const char *value);

#endif
