/* SPDX-License-Identifier: MIT */
/* snapshot.h -- a row of a profile's table of massif's snapshots (prof.h). */
#ifndef SEEP_MODEL_SNAPSHOT_H
#define SEEP_MODEL_SNAPSHOT_H

#include <stdint.h>

/* How much a snapshot has beside its sums. */
enum prof_tree { PROF_TREE_NONE = 0, PROF_TREE_DETAILED, PROF_TREE_PEAK };

/* The sums of a snapshot. The mark of the same number and process, which stands in the
 * same row of its table as long as a profile is of one file, has them by site. */
struct prof_snapshot {
	uint32_t process;
	uint32_t unit; /* string: of `time`: "i" instructions, "ms", "B" bytes */
	uint64_t number, time;
	int64_t heap_bytes, extra_bytes, stacks_bytes;
	uint8_t tree; /* enum prof_tree */
};

#endif
