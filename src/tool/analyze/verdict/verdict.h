/* SPDX-License-Identifier: MIT */
/* verdict.h -- the verdict on a recording: one word, and the figures that stand behind
 * it.
 *
 * Collects the facts of each process (verdict_rules.h) and has them decided; then those
 * of the processes in focus together, for the headline. Memory that libc keeps by design
 * (skip.h) is counted apart and is never a finding. A process that was not recorded, or
 * was replaced by exec, has no verdict of its own. */
#ifndef SEEP_ANALYZE_VERDICT_H
#define SEEP_ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth_places.h"
#include "tool/analyze/process/coverage.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/model/prof.h"

struct verdict_figures {
	struct verdict_answer answer;
	int64_t bytes, blocks; /* left behind, or live now */
	uint32_t places; /* sites that lost blocks; if none did, that have some left */
	int64_t held_bytes, held_blocks; /* live when exit began, freed since */
	int64_t kept_bytes, kept_blocks; /* libc's own */
	bool past;			 /* allocator calls were, or may be, not seen */
	bool checked;			 /* it is known which blocks are lost: */
	int64_t loss_bytes[PROF_LOSS_KINDS],
		loss_blocks[PROF_LOSS_KINDS];	 /* without libc's */
	int64_t leftover_bytes, leftover_blocks; /* of the possible ones; see prof_loss */
	int64_t younger_bytes, younger_blocks;	 /* of no kind; see prof_check */
	/* Lost, but not judged (managed.h), and whose blocks these are; no part of
	 * loss_bytes. */
	int64_t managed_bytes, managed_blocks;
	int64_t known_bytes, known_blocks; /* lost, but known from a baseline; likewise */
	const struct runtime_info *managed;
	unsigned lost_intervals; /* as in verdict_facts */
	/* bytes a second, when losses are spread over the run; else 0 */
	double lost_rate;
	double var_bytes, var_blocks; /* sampled: variances of these */
	uint64_t live_samples;
	uint64_t allocs, frees, alloc_bytes, temps;
	uint64_t samples;
	uint64_t late_samples; /* as in verdict_facts */
	/* Sampled: a loss of fewer bytes may have left no sample (verdict_loss_limit); 0
	 * = exact. */
	uint64_t loss_limit_bytes;
};

enum verdict_state {
	VERDICT_JUDGED = 0,
	VERDICT_NOT_RECORDED,
	VERDICT_REPLACED, /* by exec, which took its memory away */
};

/* The highest peak of a single process. */
struct verdict_peak {
	int64_t bytes;
	double var;	       /* sampled: its variance */
	uint32_t process, row; /* row: most bytes then; UINT32_MAX = none */
};

struct verdict {
	/* Of the processes in focus that have its word, or, of a leak, that lost
	 * something. */
	struct verdict_figures all;
	struct verdict_figures *each; /* for every process of the profile */
	uint8_t *state;		      /* enum verdict_state, for every process */
	uint32_t main;		      /* the process that was started; 0 = none */
	uint32_t nchosen;	      /* processes chosen */
	uint32_t nrecorded;	      /* of these */
	uint32_t nfocus;	      /* in focus */
	uint32_t nfound;	      /* of these stand behind `all` */
	uint32_t going_on;	      /* processes that went on when the run was saved */
	struct verdict_peak peak, focus_peak; /* of all chosen, and of those in focus */
	struct coverage coverage;	      /* of those in focus */
};

/* Bytes, or blocks, lost definitely or indirectly. */
int64_t verdict_lost(const int64_t of_kinds[PROF_LOSS_KINDS]);

/* The loss that leaves no sample in one recording of twenty: X bytes leave none with
 * probability exp(-X / rate), and exp(-3) is 5 %. 0 for a rate of 0, an exact
 * recording. */
uint64_t verdict_loss_limit(uint64_t rate_bytes);

/* Is this one of the words for a definite loss? */
bool verdict_is_leak(enum verdict_word word);

/* Does process `i` stand behind the headline? `focus` as given to verdict_init. */
bool verdict_is_found(const struct verdict *v, uint32_t i, const bool *focus);

/* The verdict on one site, whose growth is `x`: the words are those of the whole, but a
 * loss is LEAK whatever its size. What grows like a leak and is known to be reachable is
 * GROWING. */
enum verdict_word verdict_of_site(const struct verdict *v, const struct growth_place *x,
				  const struct sites_row *row);

/* `ss` must be of the same profile and processes and of SITES_AT_END. `focus` are those
 * of `chosen` that the headline is about (focus.h); NULL = all of them. `growth` is of
 * the sites in `growth_sites` and of the processes in focus; NULL = nothing is known of
 * growth. Free with verdict_done. */
void verdict_init(struct verdict *ret_verdict, const struct prof *p,
		  const struct sites *ss, const bool *chosen, const bool *focus,
		  const struct growth_places *growth, const struct sites *growth_sites);
/* The peaks anew, of these processes, with rows of `ss`. */
void verdict_find_peaks(struct verdict *v, const struct prof *p, const struct sites *ss,
			const bool *chosen, const bool *focus);

void verdict_done(struct verdict *v); /* legal on a zeroed one */

#endif
