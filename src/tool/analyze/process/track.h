/* SPDX-License-Identifier: MIT */
/* track.h -- a process's regions over time: which is which in the next snapshot, and what
 * grows.
 *
 * Mappings grow, shrink, split and are joined by the kernel, so a region is followed by
 * where it overlaps, and only what has a name of its own by that. Of two that became one,
 * the memory of both was always this one's; of one that fell apart, the parts go on as
 * one. Every region keeps its sizes of all snapshots; after a thousand, every second one
 * is dropped, for all, and so are regions that are gone.
 *
 * What counts is resident and swapped memory together: memory that is swapped out has not
 * gone away. Growth is a straight line through it (fit.h). Pure. */
#ifndef SEEP_ANALYZE_TRACK_H
#define SEEP_ANALYZE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/growth/fit.h"
#include "tool/analyze/process/regions.h"
#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/util/map.h"

enum {
	TRACK_SNAPSHOTS_MAX = 1024,
	TRACK_STEP_BYTES = 4096, /* resident memory changes by pages */
};

struct track_row {
	struct region last; /* as last seen; its name is the track's */
	VEC(uint64_t) kib; /* at each snapshot; 0 before it was there and after it went */
	bool gone;
	/* Shared memory that was there from the first snapshot on and has kept its size:
	 * it can only fill up, and that is no growth. */
	bool fills;
	uint64_t size_kib; /* private: of its addresses, when first seen */
	bool claimed;	   /* private: found again in the snapshot that is being added */
};

struct track {
	VEC(double) seconds;		   /* of each snapshot */
	VEC(uint64_t) total;		   /* KiB of all */
	VEC(uint64_t) kinds[REGION_KINDS]; /* KiB of each kind, also of rows long gone */
	VEC(struct track_row) rows;
	struct strtab strings;
};

/* What counts of a region: what is in memory and in swap. */
static inline uint64_t
track_kib(const struct region *r)
{
	return r->kib[MEMMAP_RSS] + r->kib[MEMMAP_SWAP];
}

/* KiB of a region at a snapshot. */
static inline uint64_t
track_row_kib(const struct track_row *row, size_t snapshot)
{
	return snapshot < row->kib.len ? row->kib.data[snapshot] : 0;
}

/* Adds a snapshot; `seconds` must not be before the last one's. */
void track_add(struct track *t, double seconds, const struct regions *rs);
void track_done(struct track *t); /* legal on a zeroed one */

/* The line through one region, through all of one kind, through everything. Shared memory
 * that only fills up is not counted to its kind. */
struct fit track_fit_row(const struct track *t, size_t row);
struct fit track_fit_kind(const struct track *t, enum region_kind kind);
struct fit track_fit_total(const struct track *t);

/* The line through the process's own memory, from a snapshot on: everything but what seep
 * has in it and shared memory that only fills up. Forecasts are made by it. */
struct fit track_fit_process(const struct track *t, size_t from);

enum track_word {
	TRACK_TOO_SHORT, /* fewer than three snapshots */
	TRACK_GROWING,
	TRACK_STEADY,
	TRACK_UNCLEAR, /* something grew in every interval, but in so few of them, or so
			* unevenly, that it may have been steps */
};

struct track_verdict {
	enum track_word word;
	enum region_kind kind; /* what grows most */
	size_t row;	  /* the one region that makes nearly all of it, or SIZE_MAX */
	unsigned regions; /* of that kind that are there */
	struct fit fit;	  /* of the row or the kind; of everything when nothing grows */
	size_t from;	  /* first snapshot that counts: the second half, if it grows much
			   * slower than the first, as when a program starts up */
	double limit;	  /* slope in bytes per second that would not have shown */
	bool stopped;	  /* it grew, but not in the second half */
	double few; /* the fastest slope that was left out as two steps of a few pages */
};

void track_judge(const struct track *t, struct track_verdict *ret_verdict);

/* The same by the table of verdicts. */
struct verdict_answer track_answer(const struct track_verdict *v);

/* Rows in order of their growth, those that change at all first; to be freed. */
size_t *track_order(const struct track *t);

#endif
