/* SPDX-License-Identifier: MIT */
/* under.h -- the real allocator below the layers that put something around blocks
 * (zone.c, fence.c).
 *
 * An allocator may call its own functions by name, which are our hooks then: what it asks
 * for in the middle of a call is its own matter, and must come from itself as it is. */
#ifndef SEEP_UNDER_H
#define SEEP_UNDER_H

#include "guest/rt/rt_tls.h"
#include "shared/compiler.h"

#include <stdbool.h>

enum { UNDER_INSIDE = 2 }; /* in tls.resolving, with where that was */

/* Once, before any layer: the functions in `next` say when they are inside. */
void under_install(void);

/* Does realloc to 0 bytes free the block and return NULL, as glibc's does? Others hand
 * out a new one. */
bool under_zero_frees(void);

/* Is this thread inside of the real allocator? */
static ALWAYS_INLINE bool
under_inside(void)
{
	return (tls.resolving & UNDER_INSIDE) != 0;
}

#endif
