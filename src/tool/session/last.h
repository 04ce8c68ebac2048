/* SPDX-License-Identifier: MIT */
/* last.h -- which recording was saved last: what `@last` means.
 *
 * One line in ${XDG_STATE_HOME:-$HOME/.local/state}/seep/last. A run that cannot write it
 * goes on without a word; `seep doctor` tells. Beside it, in `begun`, is where the run
 * that began last means to save: if it was killed, a checkpoint or whoever finds its
 * folder puts it there. */
#ifndef SEEP_SESSION_LAST_H
#define SEEP_SESSION_LAST_H

#include "tool/util/err.h"

/* Path of the last recording, absolute, to be freed. -ENOENT: nothing was saved yet. */
int last_read(char **ret_path, struct err *e);

/* Where the run that begins now will be saved: the last recording as soon as it is
 * there. */
void last_begin(const char *path);

/* Remembers an absolute path. `e` may be NULL. */
int last_write(const char *path, struct err *e);

/* The folder, made if need be; to be freed. */
int last_folder(char **ret_path, struct err *e);

#endif
