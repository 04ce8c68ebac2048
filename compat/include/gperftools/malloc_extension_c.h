/* SPDX-License-Identifier: MIT */
/* malloc_extension_c.h -- what of tcmalloc's MallocExtension means something over another
 * allocator, answered by glibc's. Calls about tcmalloc's own inside (thread caches, page
 * heap, release rate) are not here: a program that needs them needs tcmalloc. */
#ifndef SEEP_COMPAT_GPERFTOOLS_MALLOC_EXTENSION_C_H
#define SEEP_COMPAT_GPERFTOOLS_MALLOC_EXTENSION_C_H

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes that the block at `p` can hold. */
static inline size_t
MallocExtension_GetAllocatedSize(const void *p)
{
	return malloc_usable_size((void *)p);
}

/* Bytes that a block of `size` would be able to hold, about. */
static inline size_t
MallocExtension_GetEstimatedAllocatedSize(size_t size)
{
	return size < 24 ? 24 : ((size + 8 + 15) & ~(size_t)15) - 8;
}

/* Free memory goes back to the kernel. */
static inline void
MallocExtension_ReleaseFreeMemory(void)
{
	malloc_trim(0);
}

/* "generic.current_allocated_bytes" and "generic.heap_size"; 0 for any other name. */
static inline int
MallocExtension_GetNumericProperty(const char *name, size_t *value)
{
	struct mallinfo2 m = mallinfo2();

	if (strcmp(name, "generic.current_allocated_bytes") == 0)
		*value = m.uordblks + m.hblkhd;
	else if (strcmp(name, "generic.heap_size") == 0)
		*value = m.arena + m.hblkhd;
	else
		return 0;
	return 1;
}

/* Two lines about the heap. */
static inline void
MallocExtension_GetStats(char *buffer, int buffer_length)
{
	struct mallinfo2 m = mallinfo2();

	if (buffer_length > 0)
		snprintf(buffer, (size_t)buffer_length,
			 "MALLOC: %12zu Bytes in use by application\n"
			 "MALLOC: %12zu Bytes obtained from the system\n",
			 m.uordblks + m.hblkhd, m.arena + m.hblkhd);
}

#endif
