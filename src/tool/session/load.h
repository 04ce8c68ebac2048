/* SPDX-License-Identifier: MIT */
/* load.h -- from the words of a command line to one profile.
 *
 * A word is a file of any format, "-", a URL, a PID, the name of a process that is being
 * recorded, that of a folder with a recording that could not be saved, or @last, with an
 * optional point in time behind @. Several are summed up, but for dumps that one process
 * wrote one after the other: of these the last counts, because each holds all of it. They
 * are told by their names, as jemalloc and gperftools number them, else by what they
 * hold. A program among several words only says what the others are of. */
#ifndef SEEP_SESSION_LOAD_H
#define SEEP_SESSION_LOAD_H

#include <stdbool.h>

#include "tool/format/input.h"
#include "tool/model/prof.h"
#include "tool/target/run/livefile.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

struct load_opts {
	const char *exe;       /* the program, as --exe says; NULL = not told */
	uint64_t max_unpacked; /* bytes */
};

#define LOAD_OPTS_NONE                                                                   \
	{                                                                                \
		.max_unpacked = INPUT_MAX_UNPACKED                                       \
	}

/* A row of the option table of every command that reads files of others, whose struct has
 * a struct load_opts at the offset `base`. */
#define LOAD_OPTS(base)                                                                        \
	{                                                                                      \
		"max-unpacked", 0, OPT_SIZE,                                                   \
			.at = (base) + offsetof(struct load_opts, max_unpacked),               \
			.metavar = "N",                                                        \
			.help = "Refuse files that are larger than N bytes uncompressed (4G)." \
	}

struct loaded {
	struct prof *p;
	char *point;	 /* behind the last @, "" = none */
	int pid;	 /* of a process that runs, else 0 */
	char *name;	 /* of what is shown, for titles */
	const char *exe; /* the program that was named, borrowed from argv; NULL = none */
	unsigned sources; /* profiles read */
	unsigned series;  /* dumps of one process that were given: the last is shown */
	bool live;	  /* read from a running process */
};

/* Loads all words; none at all is @last. `o`: NULL = as usual. Free with
 * loaded_done, also after a failure. */
int load_targets(int argc, char **argv, const struct load_opts *o,
		 struct loaded *ret_loaded, struct err *e);
/* Sets the message for a word that is a program which no process runs. */
int load_refuse_program(const char *what, struct err *e);
void loaded_done(struct loaded *l); /* legal on a zeroed one */

/* What the recording `f`, the first one in `p`, cannot know about its process, which
 * runs: its memory now, its limit, and what it had before it was attached to. */
void load_look_at(struct prof *p, struct livefile *f);

#endif
