/* SPDX-License-Identifier: MIT */
/* progress.h -- one line on the terminal while a quiet program runs.
 *
 * Shown only when nobody else is likely to write there: stderr is a terminal and ours is
 * its foreground group, but stdout, where programs print, goes elsewhere. It begins after
 * two seconds, leaves the cursor at the line's start, so that whatever comes overwrites
 * it, and is wiped in the end. */
#ifndef SEEP_CLI_PROGRESS_H
#define SEEP_CLI_PROGRESS_H

#include <stdbool.h>

#include "tool/target/run/ticker.h"
#include "tool/util/term.h"

struct progress {
	struct term term;
	bool wanted;
	bool shown;
};

void progress_init(struct progress *p);
bool progress_wanted(const struct progress *p);

/* Shows or renews the line. */
void progress_show(struct progress *p, const char *program, struct ticker *t);

/* Wipes it. */
void progress_done(struct progress *p);

#endif
