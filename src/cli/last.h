/* SPDX-License-Identifier: MIT */
/* last.h -- which recording was saved last: what `@last` means.
 *
 * One line in ${XDG_STATE_HOME:-$HOME/.local/state}/seep/last. A run that cannot write it
 * goes on without a word; `seep doctor` tells. */
#ifndef SEEP_CLI_LAST_H
#define SEEP_CLI_LAST_H

#include "util/err.h"

/* Path of the last recording, absolute, to be freed. -ENOENT: nothing was saved yet. */
int last_read(char **ret_path, struct err *e);

/* Remembers an absolute path. `e` may be NULL. */
int last_write(const char *path, struct err *e);

/* The folder, made if need be; to be freed. */
int last_folder(char **ret_path, struct err *e);

#endif
