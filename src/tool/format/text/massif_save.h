/* SPDX-License-Identifier: MIT */
/* massif_save.h -- what massif's format needs to know beside the profile. */
#ifndef SEEP_FORMAT_MASSIF_SAVE_H
#define SEEP_FORMAT_MASSIF_SAVE_H

#include <stdint.h>

enum {
	MASSIF_DEPTH = 30,
	MASSIF_SNAPSHOTS = 100,
	MASSIF_DETAILED = 10,
};

/* Options of massif; format_save_opts may have NULL for the defaults. */
struct massif_opts {
	const char *desc;	/* the options as one text; NULL = none */
	uint32_t process;	/* row of the process to write; 0 = that with the most */
	unsigned depth;		/* frames of a stack */
	unsigned max_snapshots; /* at least 10 */
	unsigned detailed_freq; /* of snapshots whose stacks are known, which have them */
	double threshold;	/* per cent of a snapshot that a frame is shown from */
};

#define MASSIF_OPTS_NONE                                                                 \
	{                                                                                \
		.depth = MASSIF_DEPTH, .max_snapshots = MASSIF_SNAPSHOTS,                \
		.detailed_freq = MASSIF_DETAILED, .threshold = 1,                        \
	}

struct prof;

/* The recorded process with the highest peak; 0 = there is none. */
uint32_t massif_process(const struct prof *p);

#endif
