/* SPDX-License-Identifier: MIT */
/* names.h -- fills the names into a profile: function, file, line, inlined calls, source text.
 *
 * Joins src/model and src/sym. Each binary is opened once, and one that is not the recorded
 * build is not used: a wrong name is worse than none. Why a module has no names or lines is left
 * in its row, for the report to say. Nothing is printed, nothing is fetched from the network. */
#ifndef SEEP_CLI_NAMES_H
#define SEEP_CLI_NAMES_H

#include "model/prof.h"

struct names_opts {
	int pid; /* a process that runs this code: its files are used when ours differ; 0 = none */
	const char *sysroot;	/* put before every path; NULL = none */
	const char *debug_dirs; /* as in sym.h; NULL = the usual */
	bool no_source;		/* leave the text of source lines out */
};

/* Resolves every location that has no frames yet and sets has_names. A profile that has its names
 * is left as it is. `o` may be NULL. Cannot fail: what is not found has its reason. */
void names_resolve(struct prof *p, const struct names_opts *o);

#endif
