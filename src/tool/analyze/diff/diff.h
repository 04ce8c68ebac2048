/* SPDX-License-Identifier: MIT */
/* diff.h -- two profiles, or two moments of one, compared place by place.
 *
 * Drawn from the places of sites.h, not from the graph: a place has all figures of its
 * stacks at once (bytes, blocks, allocations, frees, variances), which a row of a diff
 * needs, while a graph has one figure at a time. Places of the two sides are the same
 * when their frames are: by build-id and address where both have the same build of a
 * module, else by function, file and line. In a module that was built anew lines may have
 * moved; there the functions and files of the whole stack decide, and which line is which
 * is told by how far they moved (diff_match.c).
 *
 * Figures are never scaled or left out, but by `normalize`. Pure: profiles in, result
 * out. */
#ifndef SEEP_ANALYZE_DIFF_H
#define SEEP_ANALYZE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/model/prof.h"

/* The two sides; arrays of two are indexed by these. */
enum { DIFF_OLD = 0, DIFF_NEW = 1 };

enum diff_mark {
	DIFF_PLAIN = 0,
	/* grew, and hardly any of its blocks were ever freed; growth snapshots, if
	 * the new side has enough, do not say otherwise */
	DIFF_GROWING,
	DIFF_LIKELY, /* grew, and grows like a leak by the new side's growth snapshots */
	DIFF_LEAK,   /* more of its blocks are lost than before */
	DIFF_IS_NEW,
	DIFF_GONE,
};

/* Whether the two are of one build, as far as can be told. */
enum diff_build {
	DIFF_BUILD_UNKNOWN = 0,
	DIFF_BUILD_SAME,
	DIFF_BUILD_OTHER,   /* built anew: names in diff.rebuilt */
	DIFF_BUILD_FOREIGN, /* another program altogether */
};

struct diff_query {
	enum sites_by by;
	unsigned depth; /* as in sites_query */
	bool normalize; /* the new side scaled to the total of the old one */
	struct {
		const bool *chosen; /* as in sites_query */
		struct sites_point point;
		const struct skip *skip; /* of that side's profile */
	} side[2];
};

/* Figures are those that q.by names, and what stands beside them (sites_beside). */
struct diff_place {
	uint32_t
		node[2]; /* of each profile, for the stack to show; 0 = it is not there */
	bool there[2];
	const char *kept; /* what libc keeps here, NULL = the program's own */
	int64_t value[2], beside[2];
	int64_t lost_bytes,
		lost_blocks;	/* definitely or indirectly, since the old side */
	double var, var_beside; /* of the differences; 0 when exact */
	/* Since the old side where both are of one process and have counters, else of all
	 * that the new side did; freed only means something when `allocs` is over 0. */
	uint64_t allocs, frees;
	uint64_t samples; /* behind the new side's figure; 0 when exact */
	enum growth_word
		growth; /* of the new side while it ran; GROWTH_UNKNOWN: cannot be told */
	enum diff_mark mark;
	bool noise; /* within two standard errors of no change */
	bool moved; /* matched by function and file: its lines are other ones now */
};

struct diff {
	struct diff_place *places; /* ranked by |difference|, then by size */
	uint32_t nplaces;
	int64_t value[2], beside[2]; /* totals */
	double var, var_beside;
	struct verdict_answer answer;
	bool grew; /* the total, by more than noise */
	/* Sampled bytes: growth below this many may not show. What a loss may be without
	 * leaving a sample, or twice the standard error of the difference, whichever is
	 * more; 0 = exact. */
	double limit;
	/* Behind `answer`: places with its word as their mark, what these grew by, and
	 * what they lost. */
	uint32_t nfound;
	int64_t found_bytes, lost_bytes, lost_blocks;
	bool in_bytes, sampled, same_process;
	/* One process, but each side is of an attach of its own and counts from there:
	 * what is live on the two sides cannot be compared. Then same_process is
	 * false. */
	bool apart;
	bool process_known; /* else same_process is only not proven */
	bool has_blocks;    /* both sides count blocks */
	enum diff_build build;
	/* modules of the new profile that the old one has in another build */
	uint32_t *rebuilt;
	uint32_t nrebuilt;
	uint32_t nmoved;
	double scale; /* of --normalize; 0 = none */
	/* Two ended runs compared by what is live at their ends: the highest peak of a
	 * process on each side. */
	bool has_peaks;
	bool peak_grew; /* by more than noise and more than what is live at the end */
	int64_t peak[2];
	bool has_ms, has_rss;
	uint64_t ms; /* from the old moment to the new one */
	uint64_t rss_kib[2];
};

/* Makes the two fit for comparing, before skips are made of them: names that one has for
 * code of the same build are given to the other, and sampled figures without a variance
 * get one. */
void diff_prepare(struct prof *old, struct prof *new);

/* Compares. Free with diff_done. */
void diff_init(struct diff *ret_diff, const struct prof *old, const struct prof *new,
	       const struct diff_query *q);
void diff_done(struct diff *d); /* legal on a zeroed one */

/* Are both of one process? By its run and pid; profiles that have neither by their memory
 * maps, which address randomisation makes different in every process. */
bool diff_same_process(const struct prof *a, const struct prof *b);

/* Are these two recordings of one process that was attached to twice? */
bool diff_attached_twice(const struct prof *a, const struct prof *b);

/* The same, and not by chance: where only memory maps tell, they must have something at
 * an address that was randomised. Programs at fixed addresses (most of Go's) look alike
 * in every run. A child without a pid in its profile still looks like its parent. */
bool diff_surely_same_process(const struct prof *a, const struct prof *b);

/* For profiles of one process: is `a` the earlier? By their clock, else by what was
 * allocated. Negative, 0 when that cannot be told, or positive. */
int diff_earlier(const struct prof *a, const struct prof *b);

/* "LEAK", "LEAK likely", "GROWING", "NEW", "GONE" or "". */
const char *diff_mark_name(enum diff_mark mark);

#endif
