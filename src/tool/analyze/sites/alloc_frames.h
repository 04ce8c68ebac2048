/* SPDX-License-Identifier: MIT */
/* alloc_frames.h -- which locations are the inside of an allocator's library.
 *
 * Libraries of allocators are mostly stripped, so their frames cannot be recognised by
 * name. But not every frame of such a library allocates: libseep.so also calls the
 * program's main, and a profile that jemalloc wrote while libseep.so was loaded has that
 * frame at the outer end of every stack. Only frames next to the allocation count: those
 * that no frame of other code separates from it. */
#ifndef SEEP_ANALYZE_ALLOC_FRAMES_H
#define SEEP_ANALYZE_ALLOC_FRAMES_H

#include <stdbool.h>

#include "tool/model/prof.h"

/* For every location of `p`: is it such a frame in some stack? Names must be in place. To
 * be freed. */
bool *alloc_frames(const struct prof *p);

#endif
