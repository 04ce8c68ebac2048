/* SPDX-License-Identifier: MIT */
/* attached_around.h -- `seep attach --around CMD`: what a process has more, or less, after a command
 * than before it. */
#ifndef SEEP_CLI_ATTACHED_AROUND_H
#define SEEP_CLI_ATTACHED_AROUND_H

#include <stdio.h>

#include "tool/cli/attached.h"

#define AROUND_BEFORE "before"
#define AROUND_AFTER "after"

/* Runs `command` by sh -c between two marks of the first session, and keeps all going meanwhile. Its
 * status as the shell tells it (128 + signal) is in *ret_status. A signal that ends us ends the
 * command, too. */
int around_run(struct attached_sessions *ss, const char *command, int *ret_status,
	       struct err *e);

/* Compares the marks in a saved recording, as `seep diff` does, into `to`. Returns an exit status. */
int around_report(FILE *to, const char *recording, bool json);

#endif
