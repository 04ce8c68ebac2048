/* SPDX-License-Identifier: MIT */
/* pager.h -- text for people: through a pager on a terminal, straight out otherwise. */
#ifndef SEEP_CLI_PAGER_H
#define SEEP_CLI_PAGER_H

#include <stdbool.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Writes all of it to standard output. On a terminal it goes through $PAGER, or less -FRX
 * when that is not set, unless `off`, $PAGER is empty or "cat", or there is no such
 * program. A reader who has seen enough is no failure. */
int pager_print(const struct buf *out, bool off, struct err *e);

#endif
