/* SPDX-License-Identifier: MIT */
/* boot.h -- memory for those who ask before the real allocator is known: dlsym itself. */
#ifndef SEEP_BOOT_H
#define SEEP_BOOT_H

#include "shared/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, aligned to `align` (a power of two up to a page, at least 16). NULL only when
 * the kernel has no memory. Never given back; free() of it does nothing. */
void *boot_alloc(size_t bytes, size_t align);

bool boot_owns_slow(const void *p);
size_t boot_size(const void *p);

extern SEEP_OWN bool boot_used; /* was anything handed out? */

static inline bool
boot_owns(const void *p)
{
	return boot_used && boot_owns_slow(p);
}

#endif
