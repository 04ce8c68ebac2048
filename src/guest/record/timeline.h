/* SPDX-License-Identifier: MIT */
/* timeline.h -- live bytes and RSS over time, in a table of fixed size. */
#ifndef SEEP_TIMELINE_H
#define SEEP_TIMELINE_H

#include "guest/record/file/recorder.h"

/* Add a point for `t->now_ms`. When the table is full every second point is dropped and
 * the distance doubled, so it always spans the whole run. Skipped when another thread is
 * at it. */
void timeline_point(struct recorder *r, struct thread *t);

/* A lone thread follows the live bytes in private; let readers see them now and then. */
static inline void
timeline_show_live(struct recorder *r, struct thread *t)
{
	__atomic_fetch_add(&r->head->live_bytes, t->live_bytes - t->live_shown,
			   __ATOMIC_RELAXED);
	t->live_shown = t->live_bytes;
}

#endif
