/* SPDX-License-Identifier: MIT */
/* moments.h -- when the lost blocks of a place were lost, as repeated leak checks found
 * out. */
#ifndef SEEP_ANALYZE_MOMENTS_H
#define SEEP_ANALYZE_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/sites/sites.h"
#include "tool/model/prof.h"
#include "tool/util/vec.h"

struct moments VEC_BODY(struct prof_moment);

/* The intervals of row `row`, of all its sites and by process, kind and time. Empty: not
 * known. To be freed with vec_done. */
void moments_of(const struct prof *p, const struct sites *ss, uint32_t row,
		struct moments *ret);

/* The last mark of that process from `from_ms` on and before or at `to_ms`, or NULL.
 * Those that seep sets itself do not count. */
const struct prof_mark *moments_mark(const struct prof *p, uint32_t process,
				     uint64_t from_ms, uint64_t to_ms);

/* All checks of a process while it ran, and the one at its end. */
struct moments_sum {
	uint64_t made, failed, late;
	uint64_t again_blocks, again_bytes, unfollowed_blocks, longest_ns;
	uint64_t last_ms;    /* the last that was made, unless it was at the end */
	uint64_t failed_ms;  /* the last that was not made, */
	uint32_t failed_why; /* string: and why */
};
/* `chosen`: by process; NULL = all. */
struct moments_sum moments_sum(const struct prof_round *rounds, size_t n,
			       const bool *chosen);

/* The last check of a process that was made until then, or NULL. */
const struct prof_round *moments_round_at(const struct prof *p, uint32_t process,
					  uint64_t ms);

#endif
