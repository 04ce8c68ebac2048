/* SPDX-License-Identifier: MIT */
/* loss_records.h -- what was lost in a process, as valgrind's memcheck sums it up: loss
 * records.
 *
 * A record is what was lost in one way from one stack, as far as stacks are told apart:
 * by as many frames as are kept of each, and by fewer when less resolution is asked for.
 * The largest comes last. What libc keeps by design counts as freed, as it does there.
 * Suppressed losses make records of their own, which have numbers like the others. */
#ifndef SEEP_ANALYZE_LOSS_RECORDS_H
#define SEEP_ANALYZE_LOSS_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"
#include "tool/util/vec.h"

enum { LOSS_CALLERS = 12 };

struct loss_opts {
	/* frames kept of a stack, the allocator's too; 0 = LOSS_CALLERS */
	unsigned callers;
	bool judged;	     /* without losses that have no verdict (managed.h) */
	unsigned resolution; /* frames by which records differ; 0 = all that are kept */
};

struct loss_record {
	uint32_t site; /* the first of those it is made of: its stack is shown */
	/* string: the function that gave the memory, as in the symbol table */
	uint32_t called;
	uint8_t kind; /* enum prof_loss_kind, of a suppressed one what it would be */
	bool suppressed;
	uint64_t blocks, bytes;
	uint64_t indirect_bytes; /* definite: lost because of these */
	uint32_t first; /* row of prof.losses; the others follow in loss_records.next */
};

struct loss_records {
	VEC(struct loss_record) rows; /* row i is "loss record i + 1" */
	/* for every row of prof.losses: the next of its record, or UINT32_MAX */
	uint32_t *next;
	uint64_t bytes[PROF_LOSS_KINDS], blocks[PROF_LOSS_KINDS];
	uint64_t used_bytes, used_blocks; /* all of these */
	uint64_t allocs, frees, alloc_bytes;
};

/* Sums up process `process`. `s` must be of `p`. Free with loss_records_done. */
void loss_records_init(struct loss_records *ret_records, const struct prof *p,
		       const struct skip *s, uint32_t process, const struct loss_opts *o);
void loss_records_done(struct loss_records *r); /* legal on a zeroed one */

/* Records not suppressed whose kind is in `kinds` (bits 1 << enum prof_loss_kind). */
uint32_t loss_records_count(const struct loss_records *r, unsigned kinds);

/* ---- stacks, as valgrind has them ---- */

/* One function of a stack. Strings are borrowed from the profile; NULL where unknown. */
struct loss_frame {
	uint64_t address;		/* of the call, in the process; 0 = not known */
	const char *function, *linkage; /* for people; as in the symbol table */
	const char *whole;  /* for people, with what an inlined one is inside of */
	const char *file;   /* path */
	const char *module; /* path */
	uint32_t line;
	bool inlined; /* into the frame after it: same address */
};

struct loss_stack {
	VEC(struct loss_frame) frames; /* innermost first */
	size_t shown; /* of these: the program's start code below main is not shown */
};

/* The frames of a stack in process `process`, at most `callers` addresses, 0 =
 * LOSS_CALLERS. `called` (as in the symbol table; NULL or "" = none) becomes the
 * innermost one. Replaces what is in `ret_stack`. */
void loss_stack(const struct prof *p, uint32_t process, uint32_t node, const char *called,
		unsigned callers, struct loss_stack *ret_stack);
void loss_stack_done(struct loss_stack *s); /* legal on a zeroed one */

#endif
