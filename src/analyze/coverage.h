/* SPDX-License-Identifier: MIT */
/* coverage.h -- how much of a process's memory the recording speaks of.
 *
 * Compared are the anonymous memory that the kernel counted and the most that was recorded as
 * live at one time, with what malloc adds to each block. The most and not the last: memory that
 * was freed stays with malloc and is still anonymous, and it was covered. Programs that keep
 * their memory elsewhere (pymalloc, Go, a JVM, mmap) come out low, and then a report gives no
 * verdict. Little memory proves nothing, as stacks and libc alone take some. Nor is there a
 * verdict when more allocations found no room in the recording than did. */
#ifndef SEEP_ANALYZE_COVERAGE_H
#define SEEP_ANALYZE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/prof.h"

enum {
	COVERAGE_MIN_BYTES = 8 << 20, /* less anonymous memory than this says little */
	COVERAGE_BLOCK_BYTES = 24,    /* malloc's header and rounding, for each block */
};

struct coverage {
	uint64_t recorded_bytes; /* most at one time, with malloc's own share */
	uint64_t anon_bytes;	 /* 0 = not known */
	uint64_t seen,
		missed;	  /* allocations (sampled: samples), and how many found no room */
	bool say;	  /* worth a line in the report */
	bool partial;	  /* under half: no verdict */
	uint32_t process; /* the one that hides most; 0 = none */
};

/* Sums over the chosen processes (NULL = all) that were recorded. */
struct coverage coverage_of(const struct prof *p, const bool *chosen);

#endif
