/* SPDX-License-Identifier: MIT */
/* attached_around.h -- `seep attach --around CMD`: what a process has more, or less,
 * after a command than before it. */
#ifndef SEEP_SESSION_ATTACHED_AROUND_H
#define SEEP_SESSION_ATTACHED_AROUND_H

#include "tool/session/attach/attached.h"

#define AROUND_BEFORE "before"
#define AROUND_AFTER "after"

/* Runs `command` by sh -c between two marks of the first session, and keeps all going
 * meanwhile. Its status as the shell tells it (128 + signal) is in *ret_status. A signal
 * that ends us ends the command, too. */
int around_run(struct attached_sessions *ss, const char *command, int *ret_status,
	       struct err *e);

/* Where its recording goes if the user names no file: beside the name of the last one. To
 * be freed. */
int around_output(int pid, char **ret_path, struct err *e);

#endif
