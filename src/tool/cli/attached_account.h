/* SPDX-License-Identifier: MIT */
/* attached_account.h -- what a report on an attached process says of the process as a whole. */
#ifndef SEEP_CLI_ATTACHED_ACCOUNT_H
#define SEEP_CLI_ATTACHED_ACCOUNT_H

#include "tool/model/prof.h"
#include "tool/target/attach/session.h"
#include "tool/util/buf.h"

/* Appends, a line each: where its resident memory is now, and what the recording does not cover. Nothing of a process
 * that has ended. False if the process seems to have no heap that seep leaks could search. */
bool attached_account(struct buf *out, const struct session *s);

/* Adds to `p` the memory limit of the process, which runs and whose row `process` is; `before_kib`: its heap when
 * it was attached to, 0 = it was not, or not known. */
void attached_account_limit(struct prof *p, uint32_t process, int pid,
			    uint64_t before_kib);

#endif
