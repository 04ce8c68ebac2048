/* SPDX-License-Identifier: MIT */
/* growth_old.h -- does a place keep what it allocates, or does as much go that is older
 * than the recording?
 *
 * A recorder that came late does not see the frees of what was there before. But of these
 * blocks some were watched (prof_old), so it is known how many bytes of each size went.
 * They are set against what the places that seem to grow kept of that size, in the later
 * half of the time: in the earlier one blocks go that are only as old as others live.
 * Where nothing could be watched, two other signs together say that a place turns over:
 * the process's resident memory is flat, and at least as many blocks from before the
 * recording were freed as the places kept. */
#ifndef SEEP_ANALYZE_GROWTH_OLD_H
#define SEEP_ANALYZE_GROWTH_OLD_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth.h"
#include "tool/model/prof.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

/* Start with growth_old_init; growth_old_done when it is not needed any more. */
struct growth_old {
	const struct prof *p;
	struct growth_old_process *processes;
	struct map sums; /* process and class -> row of `kept`, from 1 on */
	VEC(struct growth_old_kept) kept;
	struct map known; /* place and row of `kept` -> row of `gains`, from 1 on */
	VEC(struct growth_old_gain) gains;
};

void growth_old_init(struct growth_old *o, const struct prof *p);
void growth_old_done(struct growth_old *o);

/* Whether the question arises: this process was recorded from later on than its start. */
bool growth_old_is_late(const struct growth_old *o, uint32_t process);

/* From when on what a place keeps is set against what is older, in ms. */
uint64_t growth_old_from_ms(const struct growth_old *o, uint32_t process);

/* A place that seems to grow has kept `bytes` since then, in blocks of `size`. All places
 * are told of, one after the other, before the first is asked about. */
void growth_old_add(struct growth_old *o, uint32_t place, uint32_t process, uint64_t size,
		    double bytes);

/* Changes the verdict of a place if what is older explains it. */
void growth_old_judge(const struct growth_old *o, uint32_t place, uint32_t process,
		      struct growth_verdict *v);

#endif
