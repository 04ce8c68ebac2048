/* SPDX-License-Identifier: MIT */
/* moment_words.h -- when blocks were lost, in words; for recorded processes and others.
 *
 * What is printed is never narrower than the interval: its beginning is rounded down, its
 * end up. */
#ifndef SEEP_RENDER_MOMENT_WORDS_H
#define SEEP_RENDER_MOMENT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/sites/moments.h"
#include "tool/util/buf.h"
#include "tool/util/json.h"

/* Appends "between 12.00 and 14.01 s", of times over a quarter of an hour "between
 * 0:20:00 and 0:20:10"; where it ends at 0, "before the first check". */
void moment_interval(struct buf *out, const struct prof_moment *m);

/* Appends " (12 of 40 blocks; others between 14.00 and 16.01 s)" behind the first of `n`
 * intervals, which are in the order of time and of one site; nothing if these are all of
 * the `blocks`. */
void moment_others(struct buf *out, const struct prof_moment *all, size_t n,
		   uint64_t blocks);

/* Appends "checked for leaks 4 times, the last at 2.0 s …" with the end of line. `why`:
 * the text of s->failed_why. */
void moment_checks(struct buf *out, const struct moments_sum *s, const char *why);

/* The members of an element of "loss_checks"; `why`: the text of x->why. */
void round_json(struct json *j, const struct prof_round *x, const char *why);

#endif
