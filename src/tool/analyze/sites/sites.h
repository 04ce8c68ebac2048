/* SPDX-License-Identifier: MIT */
/* sites.h -- places: the sites of a profile as people tell them apart.
 *
 * A site of the recording is one stack in one process. A place is what a report prints as
 * one row: the stacks of all chosen processes that are the same after the allocator's own
 * frames are left out (skip.h), compared by function, file and line where these are known
 * and by address where not. Figures are sums of the recording's own columns; nothing is
 * estimated here but the variances of columns that the recording has none for. */
#ifndef SEEP_ANALYZE_SITES_H
#define SEEP_ANALYZE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/managed.h"
#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"

/* What rows are ranked by. */
enum sites_by {
	SITES_LIVE = 0,	 /* bytes live at the chosen point */
	SITES_PEAK,	 /* bytes live when its process had its peak */
	SITES_COUNT,	 /* number of allocations */
	SITES_ALLOCATED, /* bytes ever allocated */
	SITES_TEMPORARY, /* allocations freed right after */
	SITES_LOST,	 /* bytes lost, when the process was looked at */
	SITES_BY_MAX,
};

extern const char *const sites_by_names[SITES_BY_MAX];

/* Which moment the live columns are of. */
enum sites_at {
	SITES_AT_END = 0, /* the last state recorded: now, or the process's end */
	SITES_AT_PEAK,
	SITES_AT_EXIT, /* when exit began */
	SITES_AT_MARK,
};

struct sites_point {
	enum sites_at at;
	char mark[64]; /* name or number of the mark */
};

struct sites_total {
	uint64_t allocs, frees, alloc_bytes, free_bytes, temps, temp_bytes;
	int64_t live_bytes, live_blocks; /* at the chosen point */
	int64_t at_peak_bytes, at_peak_blocks;
	int64_t at_exit_bytes, at_exit_blocks;
	int64_t loss_bytes[PROF_LOSS_KINDS],
		loss_blocks[PROF_LOSS_KINDS];  /* without these: */
	int64_t managed_bytes, managed_blocks; /* lost, but not judged (managed.h) */
	int64_t known_bytes, known_blocks;     /* lost, and a baseline has it (judge.h) */
	int64_t lost_bytes, lost_blocks;       /* of the kinds asked for */
	/* indirectly lost because of the definite ones among them */
	int64_t through_bytes;
	uint64_t samples, live_samples;
	/* Variances, 0 in exact profiles; those of counts are the bytes' own, stack by
	 * stack, which is right where all blocks of a stack have one size. */
	double var_alloc_bytes, var_live_bytes, var_allocs, var_live_blocks;
};

struct sites_row {
	uint32_t node; /* of the stack with most bytes allocated: shown for all of them */
	uint32_t stacks;  /* different stacks put together here */
	uint32_t process; /* the one, or the first of several */
	uint32_t processes;
	const char *kept; /* what libc keeps here, NULL = it is the program's own */
	struct sites_total t;
	int64_t peak_bytes; /* sum of the largest live bytes of each of its stacks */
	uint64_t first_ms;
};

struct sites {
	struct sites_row *rows; /* ranked, the program's own before what libc keeps */
	uint32_t nrows;
	uint32_t
		*row_of_site; /* for every site of the profile; UINT32_MAX = not chosen */
	struct sites_total total;
	const struct runtime_info *
		*managed; /* for every loss, as managed_losses has it */
};

struct sites_query {
	const bool *chosen; /* for every process of the profile; NULL = all */
	struct sites_point point;
	enum sites_by by;
	unsigned
		loss_kinds; /* bits 1 << enum prof_loss_kind that SITES_LOST is about; 0 =
				sites_root_kinds */
	unsigned depth;	    /* frames that tell places apart; 0 = the whole stack */
};

/* Groups and ranks. `s` must belong to `p`. Free with sites_done. */
void sites_init(struct sites *ret_sites, const struct prof *p, const struct skip *s,
		const struct sites_query *q);
void sites_done(struct sites *s); /* legal on a zeroed one */

/* Ranks by another column; costs far less than grouping anew. Row numbers change. */
void sites_rank(struct sites *s, const struct prof *p, enum sites_by by);

/* Adds the figures of `from`. */
void sites_total_join(struct sites_total *t, const struct sites_total *from);

/* What a row is ranked by, and the figure beside it (blocks for bytes, bytes for
 * counts). */
int64_t sites_value(const struct sites_total *t, enum sites_by by);
int64_t sites_beside(const struct sites_total *t, enum sites_by by);

/* True when the ranked figure is in bytes. */
bool sites_in_bytes(enum sites_by by);

/* Kinds of loss that count unless others are asked for. */
enum {
	SITES_LOSS_KINDS = 1 << PROF_LOSS_DEFINITE | 1 << PROF_LOSS_INDIRECT,
};

/* The kinds of SITES_LOSS_KINDS that rows are made of when none are asked for: memory
 * that is indirectly lost is counted at the site of the block it was lost with, as
 * through_bytes. If no such block is left, as when a suppression hides it, indirect
 * losses have rows of their own. */
unsigned sites_root_kinds(const struct prof *p);

/* Variance of sites_value in a sampled profile; 0 in an exact one. Where the recording
 * has none it is derived: bytes at the peak as a share of the bytes allocated. */
double sites_variance(const struct sites_total *t, enum sites_by by);

/* The same for `n` of the allocations counted in `t`. */
double sites_count_variance(const struct sites_total *t, uint64_t n);

/* Variance of a number of blocks that have so many bytes with that variance. */
double sites_blocks_variance(int64_t blocks, int64_t bytes, double var_bytes);

#endif
