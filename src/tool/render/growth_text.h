/* SPDX-License-Identifier: MIT */
/* growth_text.h -- verdicts of growth in words: the rate, the evidence, what would not
 * have shown.
 *
 * Shared by every command that judges growth, so that they all say it the same way.
 * Nothing ends a line here. */
#ifndef SEEP_RENDER_GROWTH_TEXT_H
#define SEEP_RENDER_GROWTH_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth.h"
#include "tool/render/figure.h"
#include "tool/util/buf.h"

/* "+1.02 ± 0.18 MiB/min", of bytes a second; with `exact` in whole bytes. An error that
 * would not show in three digits is left out. */
struct figure_str growth_text_rate(double slope, double error, bool exact);

/* Whether there is a rate to tell: growth that only the ages of the live blocks show has
 * none, because nobody looked at the site over time. */
bool growth_text_has_rate(double slope);

/* Appends the evidence: "most blocks are freed within 0.4 s; of 372 blocks that lived
 * longer than 23 s none was freed" of a likely leak, else "33 samples, none freed, grew
 * in 11 of 12 intervals, oldest 58 s". */
void growth_text_evidence(struct buf *out, const struct growth_verdict *v, bool sampled);

/* Appends why it is only GROWING: "grew in 5 steps, the last 20 s ago; about 40 s more of
 * recording would tell a leak from a cache". Nothing for other words. */
void growth_text_needs(struct buf *out, const struct growth_verdict *v);

/* Appends "keeps 1.50 MiB/min, while 1.46 MiB/min of older blocks of these sizes are
 * freed", or the same about resident memory; only where v->older is not 0. */
void growth_text_older(struct buf *out, const struct growth_verdict *v);

/* Appends "a leak slower than 0.4 MiB/min would not show in 60 s"; for an exact
 * recording, rate 0, "a leak of fewer than 10 blocks …". The second one also says from
 * which growth on memory outside malloc is named, if that is more (bytes per second; 0 =
 * not known): "a leak slower than 0.4 MiB/min, or 2.0 MiB/min outside malloc, …". */
void growth_text_limit(struct buf *out, uint64_t rate_bytes, uint64_t ms);
void growth_text_limits(struct buf *out, uint64_t rate_bytes, uint64_t ms,
			double outside);

#endif
