/* SPDX-License-Identifier: MIT */
/* attached_beat.h -- a sign of life while we are at other work.
 *
 * A recorder that hears nothing of us for ten seconds switches itself off for good.
 * Attaching to the next process, names, and a report that nobody reads can take
 * longer. */
#ifndef SEEP_SESSION_ATTACHED_BEAT_H
#define SEEP_SESSION_ATTACHED_BEAT_H

#include "tool/session/attach/attached.h"

/* From here on all of them hear of us every second, until attached_beat_end. None may be
 * closed meanwhile. Not to be nested. */
void attached_beat_begin(const struct attached_sessions *ss);
void attached_beat_end(void);

#endif
