/* SPDX-License-Identifier: MIT */
/* jemalloc.h -- what programs that are profiled through jemalloc's interface include.
 *
 * Only that interface: the profiler's settings and mallctl with its profiling names,
 * answered by libseep.so (man seep-dropin). Memory comes from the allocator that the
 * program has anyway, so jemalloc's arenas, caches and the *allocx functions are not
 * here. */
#ifndef SEEP_COMPAT_JEMALLOC_H
#define SEEP_COMPAT_JEMALLOC_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Define one of these to set options in the program: read before main, the second after
 * the environment. */
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder;

/* Read the value of a name into `oldp` (`*oldlenp` bytes), write `newlen` bytes at
 * `newp`, or both; pointers that are NULL are left out. Returns 0 or an error number;
 * errno is not changed. */
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
/* The same in two steps: the number of a name, and its use. */
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp,
		 void *newp, size_t newlen);

/* State of the profiler as text, to `write_cb` or, if that is NULL, to stderr. */
void malloc_stats_print(void (*write_cb)(void *, const char *), void *cbopaque,
			const char *opts);

#ifdef __cplusplus
}
#endif

#endif
