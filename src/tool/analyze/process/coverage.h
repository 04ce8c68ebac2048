/* SPDX-License-Identifier: MIT */
/* coverage.h -- how much of a process's memory the recording covers.
 *
 * Compares the anonymous memory that the kernel counted, without stacks and static data,
 * with the most that was recorded as live at one time, including what malloc adds to each
 * block. The most and not the last: memory that was freed stays with malloc and is still
 * anonymous, and it was covered. malloc may even have more than that, with several
 * arenas, caches of threads and padding for alignment: its own tables say how much.
 * Programs that keep their memory elsewhere (pymalloc, Go, a JVM, mmap) come out low.
 *
 * Each process is judged by itself: many small ones, each with a stack and libc's own
 * memory, do not add up to memory that was missed. */
#ifndef SEEP_ANALYZE_COVERAGE_H
#define SEEP_ANALYZE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"

enum {
	COVERAGE_MIN_BYTES = 8 << 20, /* less memory than this is not worth an alarm */
	COVERAGE_BLOCK_BYTES = 24,    /* malloc's header and rounding, for each block */
};

struct coverage {
	uint64_t recorded_bytes; /* most at one time, with malloc's own share */
	/* malloc's own share of that, where it is the peak of a process and that; else
	 * 0 */
	uint64_t own_bytes;
	/* of recorded_bytes: more than was ever live at one time, which malloc keeps */
	uint64_t kept_bytes;
	uint64_t anon_bytes; /* 0 = not known */
	/* of one that was attached to: what was there before; not partial */
	uint64_t before_bytes;
	bool say; /* worth a line in the report */
	/* a process has over half of its memory, and over COVERAGE_MIN_BYTES,
	 * elsewhere: the figures are of that process */
	bool partial;
	uint32_t process; /* the one that hides most; 0 = none */
};

/* Was it recorded from later on than its start? */
bool coverage_is_late(const struct prof *p, uint32_t process);

/* Of the chosen processes (NULL = all) that were recorded: the one that is partial and
 * hides most, else the sums over all. */
struct coverage coverage_of(const struct prof *p, const bool *chosen);

#endif
