/* SPDX-License-Identifier: MIT */
/* peer_opts.h -- option words as other tools read them, into seep's own option tables.
 *
 * One table (opt.h) still feeds reader, help, man page and completions. Understood beyond
 * opt.h: one dash or two before every name, options behind operands, unique beginnings of
 * names as Perl's Getopt::Long has them, --noNAME and --no-NAME for switches, and Go's
 * -name=true. An argument is behind = or the next word, whatever that begins with. "--"
 * ends the options. */
#ifndef SEEP_COMPAT_PEER_OPTS_H
#define SEEP_COMPAT_PEER_OPTS_H

#include <stdbool.h>

#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct peer_words VEC_BODY(char *);

enum peer_style {
	PEER_PERL, /* Getopt::Long: beginnings of names, case does not matter */
	PEER_GO,   /* the flag package: whole names only */
};

/* Reads all words into the struct `given`; other words go to `ret_words`,
 * borrowed. A switch that is turned off stores false, or hands its setter the text
 * "false". -EINVAL names the word. */
int peer_opts(enum peer_style style, const struct opt *table, int argc, char **argv,
	      void *given, struct peer_words *ret_words, struct err *e);

/* Sets one option of a table to a text, as typed behind a prompt; NULL for a bare
 * switch. */
int peer_opt_set(const struct opt *o, const char *text, void *given, struct err *e);

#endif
