/* SPDX-License-Identifier: MIT */
/* peer_pprof_raw.h -- -raw of google/pprof: the whole profile as text. */
#ifndef SEEP_COMPAT_PEER_PPROF_RAW_H
#define SEEP_COMPAT_PEER_PPROF_RAW_H

#include "tool/model/prof.h"
#include "tool/util/buf.h"

/* Samples, locations and mappings, numbered from 1 as they stand in the profile.
 * `two_columns`: live memory alone, of a file that does not call it so. */
void pprof_raw(struct buf *out, const struct prof *p, bool two_columns);

#endif
