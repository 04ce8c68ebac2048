/* SPDX-License-Identifier: MIT */
/* scanmaps.h -- the mappings of a process or core as a leak check wants them. */
#ifndef SEEP_SESSION_SCANMAPS_H
#define SEEP_SESSION_SCANMAPS_H

#include "tool/leak/scan.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/vec.h"

struct scanmaps VEC_BODY(struct scan_map);

/* Adds the mapping `a`. Memory that the program has written and closed since (mprotect)
 * is marked SCAN_SEALED, page by page, so one mapping may become several. `f` is the
 * process that stands still; NULL: a core, in which nothing is known about pages. */
void scanmaps_add(struct scanmaps *to, const struct memmap_area *a,
		  const struct freeze *f);

#endif
