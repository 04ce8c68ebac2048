/* SPDX-License-Identifier: MIT */
/* attach_foot.h -- the last lines of a report on attached processes: each of them as a
 * whole, what attaching to it cost, and what is left. */
#ifndef SEEP_RENDER_ATTACH_FOOT_H
#define SEEP_RENDER_ATTACH_FOOT_H

#include <stdbool.h>

#include "tool/target/attach/session.h"
#include "tool/util/buf.h"

/* Appends, a line each: where its resident memory is now, and what the recording does not
 * cover. Nothing of a process that has ended. False if the process seems to have no heap
 * that seep leaks could search. */
bool attach_account(struct buf *out, const struct session *s);

/* "pid 4711, up 12 d, limit 4.00 GiB · 60 s, … · detached, nothing left" and the like,
 * one line each. */
void attach_foot(struct buf *out, const struct session *s, bool detached);

/* "detached, nothing left" or what stays. */
void attach_left(struct buf *out, const struct detached *d);

#endif
