/* SPDX-License-Identifier: MIT */
/* peer_pprof_names.h -- names and frames of a profile, made as google/pprof shows them. */
#ifndef SEEP_CLI_PEER_PPROF_NAMES_H
#define SEEP_CLI_PEER_PPROF_NAMES_H

struct prof;

/* C++ functions lose their template arguments, frames inside an allocator's library get a name,
 * and heap profiles in text, which cannot say so, ask to drop the allocator's frames. For a
 * profile whose names are in place. */
void pprof_names(struct prof *p);

/* Samples of one stack and the same labels become one, as pprof has it when it reads a file. */
void pprof_merge_samples(struct prof *p);

#endif
