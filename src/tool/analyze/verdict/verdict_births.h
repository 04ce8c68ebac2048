/* SPDX-License-Identifier: MIT */
/* verdict_births.h -- when the blocks that are lost were made: once, now and then, or all
 * the time; and how many of those that are left were made late. */
#ifndef SEEP_ANALYZE_VERDICT_BIRTHS_H
#define SEEP_ANALYZE_VERDICT_BIRTHS_H

#include "tool/analyze/verdict/verdict.h"

/* Fills in lost_intervals and lost_rate of every process whose losses are known; lost[i]
 * are the blocks lost at site i. */
void verdict_find_intervals(struct verdict *v, const struct prof *p,
			    const struct sites *ss, const int64_t *lost);

/* Fills in late_samples of every process. */
void verdict_find_late(struct verdict *v, const struct prof *p, const struct sites *ss);

#endif
