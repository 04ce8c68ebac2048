/* SPDX-License-Identifier: MIT */
/* sample.h -- Poisson sampling in bytes: distance to the next sample, and its weight. */
#ifndef SEEP_SAMPLE_H
#define SEEP_SAMPLE_H

#include "shared/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SAMPLE_FILTER_SLOTS = 1 << 16,
	SAMPLE_COUNT_ONE = 1024, /* est_allocs and est_frees count in 1/1024 */
	SAMPLE_VAR_UNIT = 64,	 /* bytes */
};

/* Which addresses may be sampled ones: how many live samples share each slot. A free that
 * finds 0 here passes by. 255 stays 255. `mask` makes one question of three: with a
 * single slot every free is looked at, or none. */
struct sample_filter {
	size_t mask; /* slots less 1 */
	uint8_t slots[];
};

/* One for each KiB, neighbours side by side: the frees of a program that works on some
 * part of its heap then look at few cache lines. Spread by a hash they take all of the
 * first-level cache. */
static ALWAYS_INLINE size_t
sample_slot(const struct sample_filter *f, uintptr_t addr)
{
	return addr >> 10 & f->mask;
}

/* Is there no sample at `addr`? */
static ALWAYS_INLINE bool
sample_is_none(const struct sample_filter *f, uintptr_t addr)
{
	return __atomic_load_n(&f->slots[sample_slot(f, addr)], __ATOMIC_RELAXED) == 0;
}

static inline size_t
sample_filter_bytes(void)
{
	return sizeof(struct sample_filter) + SAMPLE_FILTER_SLOTS;
}

extern SEEP_OWN const struct sample_filter sample_all, sample_none; /* of one slot */

void sample_filter_init(struct sample_filter *f); /* zeroed, of sample_filter_bytes */
void sample_filter_add(struct sample_filter *f, uintptr_t addr);
void sample_filter_del(struct sample_filter *f, uintptr_t addr);

/* What a sampled block of `bytes` stands for at a mean distance of `rate` bytes. */
struct sample_weight {
	uint64_t bytes; /* bytes / p */
	uint64_t count; /* 1 / p, in 1/SAMPLE_COUNT_ONE */
	uint64_t var;	/* (bytes / p)^2 * (1 - p), in SAMPLE_VAR_UNIT^2 */
};

struct sample_weight sample_weigh(uint64_t bytes, uint64_t rate);

/* Bytes to the next sample: exponentially distributed with mean `rate`, at least 1.
 * `state` is the thread's random state, seeded on first use. */
uint64_t sample_next(uint64_t *state, uint64_t rate);

/* -ln(u) for u in (0, 1] and 1 - exp(-x) for x >= 0, good to 1e-9: libm is not ours to
 * call. */
double sample_neg_log(double u);
double sample_probability(double x);

#endif
