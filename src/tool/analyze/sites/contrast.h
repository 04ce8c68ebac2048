/* SPDX-License-Identifier: MIT */
/* contrast.h -- what tells the lost blocks of a line from the freed ones.
 *
 * Blocks that one line of the program allocates are split by who called it; those of one
 * row, by the thread that allocated them or by their size, so that the figures are those
 * of the row. A split is clear when at least CONTRAST_BLOCKS were lost and as many freed,
 * and CONTRAST_PERCENT of the lost ones and of the freed ones are in parts that have
 * hardly any of the other. Anything less is not worth a word: it would be a guess.
 *
 * Of single blocks it is not known which are lost, only how many of a site. Threads and
 * sizes are compared only where nearly all blocks that are left are lost. */
#ifndef SEEP_ANALYZE_CONTRAST_H
#define SEEP_ANALYZE_CONTRAST_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"

enum {
	CONTRAST_BLOCKS = 8,
	CONTRAST_PERCENT = 95,
	CONTRAST_PARTS = 3, /* that the lost ones may be in */
};

enum contrast_by { CONTRAST_NONE = 0, CONTRAST_CALLER, CONTRAST_THREAD, CONTRAST_SIZE };

/* The lost ones, or the freed ones. */
struct contrast_side {
	uint64_t blocks, of; /* lost or freed, of those allocated in these parts */
	uint32_t parts;
	/* The largest part: */
	struct skip_pos
		caller;	      /* the frame by which its stacks differ from the others' */
	uint32_t thread;      /* of the profile; 0 = threads that have ended, */
	uint32_t thread_name; /* string: their name if they have one, else 0 */
	uint64_t over_bytes, max_bytes; /* sizes of all parts; UINT64_MAX = no limit */
};

struct contrast_found {
	enum contrast_by by;
	bool only; /* no lost block is in another part */
	struct contrast_side lost, freed;
	uint32_t line; /* a number: rows that have the same have one answer */
};

struct contrast;

/* For the rows of `ss`; all three are borrowed. Never NULL; free with contrast_free (NULL
 * is fine). */
struct contrast *contrast_new(const struct prof *p, const struct skip *s,
			      const struct sites *ss);
void contrast_free(struct contrast *c);

/* Of the lost blocks of `row`, or of the line that they come from; false when nothing is
 * clear. */
bool contrast_find(struct contrast *c, uint32_t row, struct contrast_found *ret_found);

#endif
