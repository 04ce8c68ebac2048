/* SPDX-License-Identifier: MIT */
/* mtrace.h -- glibc's mtrace()/muntrace(), without libc_malloc_debug.so. */
#ifndef SEEP_MTRACE_H
#define SEEP_MTRACE_H

/* SEEP=compat=mtrace: trace from now on, into MALLOC_TRACE or mtrace.<pid>.log, whether
 * or not the program calls mtrace(). The real allocator is known. */
void mtrace_begin(void);

/* The process ends: nothing is held back any more. Signal-safe. */
void mtrace_leaving(void);

#endif
