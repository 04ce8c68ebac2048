/* SPDX-License-Identifier: MIT */
/* rounds.h -- rows of a profile about repeated leak checks: what each found, and when
 * blocks were lost. */
#ifndef SEEP_ROUNDS_H
#define SEEP_ROUNDS_H

#include <stdint.h>

/* One of the leak checks of a process that is checked again and again while it runs, the
 * one at its end too; or several in a row that could not be made. Those of a process
 * stand in the order of time. */
struct prof_round {
	uint32_t process;
	uint32_t why; /* string: it was not made; 0 = it was */
	uint64_t ms;
	uint64_t checks; /* rows that were put together, so that there are not too many */
	uint64_t lost_blocks, lost_bytes; /* definitely and indirectly */
	uint64_t possible_blocks, possible_bytes;
	/* Lost at an earlier check, and since then found again or freed. */
	uint64_t again_blocks, again_bytes;
	uint64_t unfollowed_blocks; /* lost, but too many to remember since when */
	uint64_t stop_ns;	    /* the process stood still; 0 = at its end */
	uint64_t late; /* checks for which that was longer than was allowed */
};

/* When blocks of a site were lost: after one such check, and before another. */
struct prof_moment {
	uint32_t site;
	uint8_t kind; /* enum prof_loss_kind */
	uint64_t from_ms, to_ms;
	uint64_t blocks, bytes;
};

#endif
