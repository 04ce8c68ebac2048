/* SPDX-License-Identifier: MIT */
/* growth.h -- does an allocation site grow, and does it grow like a leak? Figures of one
 * site in one process in, a word and its evidence out.
 *
 * 	LEAK likely   the site frees most of its blocks, but those that outlive a certain age are
 * 	              hardly ever freed and keep arriving evenly until the end
 * 	GROWING       it grows, but not like that; `why` says what is different
 * 	STEADY        has live blocks and does not grow
 * 	OK            has no live blocks
 * 	NO VERDICT    watched for fewer than 10 intervals, and not rising
 *
 * docs/internals/growth.md has the rules and their measured error rates. No percentages
 * of certainty: each word comes with the figures behind it.
 *
 * Pure: nothing is read, printed or kept elsewhere. Whether the blocks are lost or
 * reachable is not known here. */
#ifndef SEEP_ANALYZE_GROWTH_H
#define SEEP_ANALYZE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/vec.h"

enum growth_word {
	GROWTH_UNKNOWN = 0, /* NO VERDICT */
	GROWTH_OK,
	GROWTH_STEADY,
	GROWTH_GROWING,
	GROWTH_LEAK,
};

/* Why it is only GROWING; SHORT and FEW also say why there is no verdict, OLDER and RSS
 * also why it is STEADY. */
enum growth_why {
	GROWTH_WHY_NONE = 0,
	GROWTH_WHY_SHORT,   /* too few intervals */
	GROWTH_WHY_FEW,	    /* too few blocks, or samples */
	GROWTH_WHY_UNEVEN,  /* with pauses that chance does not explain */
	GROWTH_WHY_SLOWING, /* less and less: a cache that fills? */
	GROWTH_WHY_FREED,   /* blocks of every age are freed */
	GROWTH_WHY_OLDER,   /* blocks of its sizes from before the recording are freed */
	GROWTH_WHY_RSS,	    /* the resident memory of the process does not grow with it */
	GROWTH_WHY_STEPS,   /* in steps: bursts count once */
	/* evenly, but nothing of it was ever freed: so does a cache */
	GROWTH_WHY_NEVER_FREED,
	GROWTH_WHY_LARGER, /* as many blocks as before, but larger ones */
	/* rose while the process ran, and was freed at its end */
	GROWTH_WHY_FREED_AT_EXIT,
	GROWTH_WHYS,
};

enum {
	GROWTH_INTERVALS = 10,	   /* fewest that are judged */
	GROWTH_SAMPLES = 10,	   /* fewest blocks, or samples, that make a leak */
	GROWTH_NEVER_FREED = 20,   /* the same for a site that freed nothing yet */
	GROWTH_FREED_PART = 20,	   /* at most one block in 20 of an age is freed */
	GROWTH_LIMIT_SAMPLES = 27, /* expected, so that GROWTH_NEVER_FREED turn up */
	GROWTH_AGES = 28,	   /* ages asked about: 0, 1, 2, 4, 8 … ms */
};

/* Totals of the site at a moment, or at the lowest moment since the point before.
 * Sampled: counts are samples, bytes are estimates. */
struct growth_point {
	uint64_t ms;
	int64_t bytes;	       /* live */
	int64_t allocs, frees; /* ever */
};

/* A block that is live at the end. Sampled: a sample, with the bytes that it stands
 * for. */
struct growth_birth {
	uint64_t ms;
	double bytes;
};

/* The figures of one site. Start with growth_begin; growth_done when it is not needed any
 * more. */
struct growth {
	/* Snapshots; the last one is the end, or the beginning of exit. */
	VEC(struct growth_point) points;
	VEC(struct growth_birth) births; /* blocks whose birth is known, oldest first */
	double listed; /* share of its live blocks that are among the births */
	/* variance of the bytes that one sample stands for; exact: 0 */
	double sample_var;
	uint64_t first_ms; /* its first allocation */
	/* Blocks freed at an age of at least 2^(i-1) ms; [0]: all that were freed. */
	uint64_t freed[GROWTH_AGES];
	bool ended;	    /* the process has ended: */
	int64_t left_bytes; /* still live then */
};

struct growth_verdict {
	enum growth_word word;
	enum growth_why why;
	double slope, error;  /* bytes a second, and its standard error */
	unsigned grew;	      /* in so many of */
	unsigned intervals;   /* that the time was cut into */
	uint64_t from_ms, ms; /* the time judged */
	int64_t samples; /* blocks or samples that came in it, less those that went */
	int64_t bytes;	 /* live at its end */
	int64_t allocs, frees; /* ever */
	uint64_t oldest_ms;    /* age of the oldest live block; 0 = not known */
	/* of GROWING and NO VERDICT: about this much longer would tell */
	uint64_t more_ms;
	/* The blocks that outlived `mature_ms`, the first age at which hardly any is
	 * freed; both counts are 0 when there is no such age. */
	uint64_t mature_ms;
	uint64_t mature_live, mature_freed;
	uint64_t most_ms; /* nine in ten frees come within this age; 0 = at once */
	/* Of GROWTH_WHY_STEPS. */
	unsigned steps;
	uint64_t last_step_ms, step_ms; /* how long ago, and the usual distance */
	/* Of GROWTH_WHY_LARGER: so many blocks. */
	int64_t blocks;
	/* Of GROWTH_WHY_FREED_AT_EXIT: from and up to which size. */
	int64_t low_bytes, high_bytes;
	/* Of GROWTH_WHY_OLDER and _RSS, in bytes a second: what it seems to keep, and
	 * what is older and goes; `slope` is the rest. */
	double came, older;
};

/* A site without figures. `sample_var`: 0 when every block was counted. */
void growth_begin(struct growth *g, double sample_var);

/* Adds the totals at a later moment; one that is not later is left out. */
void growth_add(struct growth *g, const struct growth_point *x);

/* Adds a live block, not older than the one before. */
void growth_add_birth(struct growth *g, uint64_t ms, double bytes);

/* What the figures say. Without at least two points before the end only the births are
 * judged. */
struct growth_verdict growth_judge(const struct growth *g);

void growth_done(struct growth *g); /* legal on a zeroed one */

/* "LEAK likely" … Static. */
const char *growth_word_name(enum growth_word word);

/* "slowing" …, for JSON; NULL for GROWTH_WHY_NONE. Static. */
const char *growth_why_name(enum growth_why why);

/* Bytes a second below which a leak would most likely not have shown in `ms` with one
 * sample per `rate_bytes`. An exact recording (rate 0) has no such limit in bytes, only
 * one in blocks: GROWTH_SAMPLES in that time. */
double growth_limit(uint64_t rate_bytes, uint64_t ms);

#endif
