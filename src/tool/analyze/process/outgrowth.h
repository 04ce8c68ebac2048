/* SPDX-License-Identifier: MIT */
/* outgrowth.h -- which kinds of a recorded process's memory grow while what it has from
 * malloc does not explain it.
 *
 * Two findings. A kind that malloc has no part in grows: stacks of threads, mappings,
 * shared memory, a runtime's heap. Or malloc's own memory grows, and so does the part of
 * it that is not live: it keeps what was freed. Either must have grown all the time and
 * to the end, over ten intervals or more; the beginning of a program is no growth.
 *
 * A runtime's heap goes up in steps and down when its collector has run: where it only
 * became much larger, that is growth that was not seen rather than growth. So are
 * mappings that make more than half of the memory at the end, or of its growth: memory is
 * compared at one moment, because a peak of malloc's that is over does not cover what
 * came later. Pure. */
#ifndef SEEP_ANALYZE_OUTGROWTH_H
#define SEEP_ANALYZE_OUTGROWTH_H

#include "tool/analyze/growth/fit.h"
#include "tool/analyze/process/track.h"

enum {
	OUTGROWTH_MAX = 8,	   /* findings */
	OUTGROWTH_INTERVALS = 10,  /* fewer say nothing */
	OUTGROWTH_BYTES = 2 << 20, /* nor does less than this */
	/* but so much that grew all the time must be watched for longer */
	OUTGROWTH_LITTLE_BYTES = 256 << 10,
	/* more of a runtime's heap or of mappings: worth telling in any case */
	OUTGROWTH_UNSEEN_BYTES = 8 << 20,
};

/* Beside the track, one of each for every snapshot of it: live bytes of malloc, and bytes
 * of the recorder's own. */
struct outgrowth_series {
	VEC(double) live, own;
	/* bytes that malloc can have at most at the last snapshot, and others
	 * had before the recording */
	double covered;
	/* Where malloc is not glibc's, its regions are all that nothing else explains;
	 * and of blocks from before the recording nobody knows. By malloc's own tables,
	 * at the last snapshot: bytes that it keeps although they were freed; < 0 = not
	 * known. */
	double kept;
	bool from_start; /* recorded from its first allocation on */
	/* the last snapshot is of its end, where a program may have tidied up */
	bool ended;
};

struct outgrowth {
	enum region_kind kind; /* REGION_KINDS: malloc's own memory */
	const char *name;      /* "thread stacks", "memory kept by malloc"; static */
	const char *remedy;    /* static, or NULL */
	struct fit fit;
	bool grows; /* all the time and to the end; else it is only larger */
};

/* What malloc keeps although it was freed, in words; and what may help. */
#define OUTGROWTH_KEPT "memory kept by malloc"
#define OUTGROWTH_KEPT_REMEDY "try malloc_trim(0), MALLOC_ARENA_MAX=2 or jemalloc"

/* The same where malloc's tables could not be read: it may be memory that the program
 * maps itself. */
#define OUTGROWTH_UNKNOWN "anonymous memory"

/* Does an allocator take its blocks from regions of this kind? */
bool outgrowth_is_mallocs(enum region_kind kind);

/* Is it known by guess which regions are malloc's, at the last snapshot? */
bool outgrowth_is_guessed(const struct track *t);

/* Does malloc's memory grow while the live blocks in it do not, and is it known by guess
 * that it is malloc's, or that they are all? Then `kept` of the series decides. */
bool outgrowth_must_ask(const struct track *t, const struct outgrowth_series *s);

/* For how long it was watched; 0: not for long enough. */
double outgrowth_seconds(const struct track *t, const struct outgrowth_series *s);

/* A kind that malloc has no part in and that grows as steadily as a finding of
 * outgrowth_find, but by less than OUTGROWTH_BYTES so far; false: none. */
bool outgrowth_little(const struct track *t, const struct outgrowth_series *s,
		      struct outgrowth *ret);

/* Fills `ret` with what grows or is larger, fastest first; how many. */
unsigned outgrowth_find(const struct track *t, const struct outgrowth_series *s,
			struct outgrowth ret[OUTGROWTH_MAX]);

#endif
