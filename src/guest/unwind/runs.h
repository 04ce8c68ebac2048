/* SPDX-License-Identifier: MIT */
/* runs.h -- skips several frames at once. Inside the unwinder only; runs.c says how. */
#ifndef SEEP_UNWIND_RUNS_H
#define SEEP_UNWIND_RUNS_H

#include <stdint.h>

#define RUN_FRAMES 8
#define RUNS_BITS 7
#define RUN_BP_KEPT UINT32_MAX /* in the register */

/* Frames that followed one another, innermost first, each with a constant size. */
struct unw_run {
	uintptr_t pc;	     /* of the innermost; 0: free */
	uint32_t generation; /* of the rules */
	uint16_t count;	     /* frames left */
	uint16_t trust;	     /* how often it may fail before another takes its place */
	/* After leaving i + 1 frames: */
	uintptr_t pcs[RUN_FRAMES];   /* pc of the next, */
	uint64_t hashes[RUN_FRAMES]; /* hash of those left, */
	uint32_t cfas[RUN_FRAMES];   /* its sp, less that of the innermost, */
	uint32_t bp_slots
		[RUN_FRAMES]; /* where its bp is saved, likewise, or RUN_BP_KEPT */
};

struct unw_thread;
struct unw_start;

/* The hash of the whole stack at `start`, with nothing written down but runs: for stacks
 * that are never the same twice running, yet mostly known. 0 when some frame is not of
 * the simplest kinds, or the stack not the thread's own; then the ordinary walk has to
 * see. */
uint64_t runs_hash(struct unw_thread *t, const struct unw_start *start);

#endif
