/* SPDX-License-Identifier: MIT */
/* heap-profiler.h -- gperftools' heap profiler as libseep.so offers it, for programs that
 * switch it on and off themselves. Link with -ltcmalloc from the folder beside include/,
 * or run with LD_PRELOAD=libseep.so. In a process that has the real tcmalloc these are
 * the real ones. */
#ifndef SEEP_COMPAT_GPERFTOOLS_HEAP_PROFILER_H
#define SEEP_COMPAT_GPERFTOOLS_HEAP_PROFILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Profile what is allocated from now on, into files PREFIX.0001.heap and so on. Nothing
 * happens when it is on already. */
void HeapProfilerStart(const char *prefix);

/* Is it on? 1 or 0. */
int IsHeapProfilerRunning(void);

/* Switch it off and forget what was recorded. No file is written. */
void HeapProfilerStop(void);

/* Write a file now. `reason` is shown in the message about it. Nothing happens when it is
 * off. */
void HeapProfilerDump(const char *reason);

/* The profile as text, to be freed with free(); an empty one when it is off. */
char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
