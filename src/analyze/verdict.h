/* SPDX-License-Identifier: MIT */
/* verdict.h -- the one word at the top of a report, and the figures that stand behind it.
 *
 * Looks at what each process left behind. What libc keeps by design (skip.h) is counted apart
 * and does not turn a clean program into one that was not. A process that was killed, still
 * runs, or was replaced by exec had no occasion to free, so its memory is called live and not
 * "not freed". Where its memory was looked at (leak/classify.h), what was lost is known, and what was
 * left but not lost is no finding. */
#ifndef SEEP_ANALYZE_VERDICT_H
#define SEEP_ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/coverage.h"
#include "analyze/sites.h"
#include "model/prof.h"

enum verdict_word {
	VERDICT_NONE = 0, /* nothing was recorded */
	VERDICT_OK,
	VERDICT_HELD,	   /* all freed, but much of it only after exit began */
	VERDICT_REPLACED,  /* exec took its memory away; nothing can be said against it */
	VERDICT_LIVE,	   /* still running, or ended by force */
	VERDICT_NOT_FREED, /* whether it was lost is not known */
	VERDICT_LEAK,	   /* some of it was lost */
	VERDICT_PARTIAL,   /* too little of its memory was seen */
};

/* A program that gives back this much of its peak only at exit is HELD; static objects of
 * C++ libraries alone must not make one so. */
enum {
	VERDICT_HELD_MIN_BYTES = 64 << 10,
	VERDICT_HELD_PERCENT = 10,
};

struct verdict_figures {
	enum verdict_word word;
	int64_t bytes, blocks; /* left behind, or live now */
	uint32_t places;
	int64_t held_bytes, held_blocks; /* live when exit began, freed since */
	int64_t kept_bytes, kept_blocks; /* libc's own */
	bool checked; /* the memory of it, of all of them, was looked at; these are known: */
	int64_t loss_bytes[PROF_LOSS_KINDS],
		loss_blocks[PROF_LOSS_KINDS]; /* without libc's */
	double var_bytes, var_blocks;	      /* sampled: variances of these */
	uint64_t live_samples;
	uint64_t allocs, frees, alloc_bytes, temps;
	uint64_t samples;
};

/* The highest peak of a single process. */
struct verdict_peak {
	int64_t bytes;
	uint32_t process, row; /* row: most bytes then; UINT32_MAX = none */
};

struct verdict {
	struct verdict_figures
		all; /* of the processes in focus that have the worst word */
	struct verdict_figures *each;	      /* for every process of the profile */
	uint32_t nchosen;		      /* processes chosen */
	uint32_t nrecorded;		      /* of these */
	uint32_t nfocus;		      /* in focus */
	uint32_t nfound;		      /* of these have the word of `all` */
	uint32_t count[VERDICT_PARTIAL + 1];  /* processes by word */
	struct verdict_peak peak, focus_peak; /* of all chosen, and of those in focus */
	struct coverage coverage;	      /* of those in focus */
};

const char *verdict_word_name(enum verdict_word word);

/* Bytes, or blocks, lost in any way. */
int64_t verdict_lost(const int64_t of_kinds[PROF_LOSS_KINDS]);

/* `ss` must be of the same profile, processes and of SITES_AT_END. `focus` are those of `chosen`
 * that the word is about (focus.h); NULL = all of them. Free with verdict_done. */
void verdict_init(struct verdict *ret_verdict, const struct prof *p,
		  const struct sites *ss, const bool *chosen, const bool *focus);
void verdict_done(struct verdict *v); /* legal on a zeroed one */

#endif
