/* SPDX-License-Identifier: MIT */
/* covered.h -- the most of a process's anonymous memory that can be malloc's, from looks
 * at it.
 *
 * malloc keeps what was freed, so it may have more than is live: but never more than was
 * live at a time, nor, once memory was given back, more than was there then or has been
 * live since. */
#ifndef SEEP_TARGET_COVERED_H
#define SEEP_TARGET_COVERED_H

#include <stdint.h>

/* All zero before the first look. */
struct covered {
	uint64_t kib;
	uint64_t before_kib; /* set by the caller: what was there before the recording */
	int64_t peak_bytes, live_bytes; /* private: when last looked at */
};

/* A look at a process with `anon_kib` of anonymous memory that is not the recorder's;
 * `peak` and `live` are in bytes, as its recording has them (livefile_head). */
static inline void
covered_look(struct covered *c, int64_t peak, int64_t live, uint64_t anon_kib)
{
	/* A figure that stands still may be old: one thread shows it now and then. */
	int64_t high = peak > c->peak_bytes ? peak : live != c->live_bytes ? live : 0;
	uint64_t kib = c->before_kib + (high > 0 ? (uint64_t)high >> 10 : 0);

	c->peak_bytes = peak;
	c->live_bytes = live;
	if (kib > c->kib)
		c->kib = kib;
	if (anon_kib < c->kib)
		c->kib = anon_kib;
}

#endif
