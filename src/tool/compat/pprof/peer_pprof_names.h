/* SPDX-License-Identifier: MIT */
/* peer_pprof_names.h -- names and frames of a profile, made as google/pprof shows
 * them. */
#ifndef SEEP_COMPAT_PEER_PPROF_NAMES_H
#define SEEP_COMPAT_PEER_PPROF_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct prof;

/* Which frames of a pprof file have two names, of which pprof shows the first as it
 * is. */
struct pprof_given {
	bool *both;
	uint32_t n;
};

/* Before names are resolved. Taken back by pprof_names. */
void pprof_given_init(struct pprof_given *ret, const struct prof *p);

/* C++ functions lose their template arguments, frames inside an allocator's library get a
 * name, and heap profiles in text, which cannot say so, ask to drop the allocator's
 * frames. For a profile whose names are in place. */
void pprof_names(struct prof *p, struct pprof_given *given);

/* Samples of one stack and the same labels become one, as pprof has it when it reads a
 * file. */
void pprof_merge_samples(struct prof *p);

#endif
