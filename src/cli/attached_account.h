/* SPDX-License-Identifier: MIT */
/* attached_account.h -- what a report on an attached process says of the process as a whole. */
#ifndef SEEP_CLI_ATTACHED_ACCOUNT_H
#define SEEP_CLI_ATTACHED_ACCOUNT_H

#include "model/prof.h"
#include "target/session.h"
#include "util/buf.h"

/* Appends, a line each: where its resident memory is now, when it reaches its limit if it leaks, and what the recording
 * does not cover. Nothing of a process that has ended. */
void attached_account(struct buf *out, const struct session *s, const struct prof *p);

#endif
