/* SPDX-License-Identifier: MIT */
/* tally.h -- a figure added up by something else than code: threads, sizes, labels.
 *
 * Of a graph that was made already, so the same filters hold: only sites that are in it
 * count. Rows come largest first. What a profile cannot tell is not guessed; `missing`
 * says what it is. */
#ifndef SEEP_ANALYZE_TALLY_H
#define SEEP_ANALYZE_TALLY_H

#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"

struct tally_row {
	uint32_t thread; /* of the profile; 0 = ended and other threads */
	/* of sizes: those of this class are larger, and at most the next */
	uint64_t over_bytes;
	uint64_t max_bytes; /* UINT64_MAX = no limit */
	uint32_t key, text,
		unit; /* of labels: strings of the profile; text 0: a number */
	int64_t number;
	double value, var;
};

struct tally {
	struct tally_row *rows;
	uint32_t nrows;
	double total;
	const char *
		missing; /* why there is nothing, or not all; NULL = nothing is missing */
	bool in_blocks;	 /* rows are in blocks, whatever the query's unit */
};

/* Which thread has it, or allocated it. */
void tally_threads(struct tally *ret_tally, const struct prof *p,
		   const struct graph_query *q, const struct graph *g);

/* How large the blocks are, in classes of powers of two, smallest first. */
void tally_sizes(struct tally *ret_tally, const struct prof *p,
		 const struct graph_query *q, const struct graph *g);

/* Labels, by key, then largest first. A site counts in full for each of its labels. */
void tally_labels(struct tally *ret_tally, const struct prof *p,
		  const struct graph_query *q, const struct graph *g);

void tally_done(struct tally *t); /* legal on a zeroed one */

#endif
