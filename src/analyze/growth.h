/* SPDX-License-Identifier: MIT */
/* growth.h -- is this growing, and is that a leak? A series of totals in, a word out.
 *
 * A series is what one place had allocated and freed at several moments. Its verdict is one of a
 * few fixed words, and beside it the figures that it rests on; there are no percentages of
 * certainty. docs/internals/growth.md has the rules and why they are so:
 *
 *	LEAK likely   grew in 9 of 10 intervals or more, less than one block in 20 was ever freed,
 *	              10 blocks or samples or more came, and growth is not slowing down
 *	GROWING       grows, but one of these is missing; more_ms says how much longer would tell
 *	HELD          went only after exit had begun
 *	STEADY        has something, and does not grow
 *	OK            has nothing
 *
 * Pure: nothing is read, printed or kept elsewhere. Whether what grows is lost or reachable it
 * does not know; nor can it know that a cache which is half full will be full one day. */
#ifndef SEEP_ANALYZE_GROWTH_H
#define SEEP_ANALYZE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

enum growth_word {
	GROWTH_UNKNOWN = 0, /* too few looks to say anything */
	GROWTH_OK,
	GROWTH_STEADY,
	GROWTH_HELD,
	GROWTH_GROWING,
	GROWTH_LEAK,
};

/* Why it is only GROWING. */
enum growth_why {
	GROWTH_WHY_NONE = 0,
	GROWTH_WHY_SHORT,   /* too few intervals */
	GROWTH_WHY_FEW,	    /* too few blocks, or samples */
	GROWTH_WHY_UNEVEN,  /* did not grow all the time */
	GROWTH_WHY_SLOWING, /* less and less: a cache that fills? */
	GROWTH_WHY_FREED,   /* too many of its blocks are freed */
	GROWTH_WHY_OLDER, /* blocks of its sizes that are older than the recording go: also of STEADY */
	GROWTH_WHY_RSS, /* not known, but the process does not become larger: so, too */
};

enum {
	GROWTH_INTERVALS = 10,	/* fewest that make a leak, and most into which many looks
				      are put together */
	GROWTH_SAMPLES = 10,	/* fewest blocks, or samples, that make one */
	GROWTH_FREED_PART = 20, /* one block in so many freed: no leak */
	GROWTH_LIMIT_SAMPLES = 13, /* expected, so that enough of them turn up */
};

/* Totals at a moment. Sampled: counts are samples, bytes are estimates. */
struct growth_point {
	uint64_t ms;
	int64_t bytes;	       /* live */
	int64_t allocs, frees; /* ever */
};

/* Start with growth_begin; growth_done when it is not needed any more. */
struct growth {
	VEC(struct growth_point) points;
	double sample_var; /* variance of the bytes that one sample stands for; exact: 0 */
};

struct growth_verdict {
	enum growth_word word;
	enum growth_why why;  /* of GROWING */
	double slope, error;  /* bytes a second, and its standard error */
	unsigned grew;	      /* in so many of */
	unsigned intervals;   /* that the time was cut into */
	uint64_t from_ms, ms; /* the time judged: a start phase may be left out */
	int64_t samples; /* blocks or samples that came in it, less those that went */
	int64_t bytes;	 /* live at its end */
	int64_t allocs, frees; /* ever, for the share freed */
	uint64_t oldest_ms;    /* age of the oldest live block; 0 = not known */
	uint64_t mature_ms;    /* over 0: the share freed is of blocks older than this */
	uint64_t more_ms;      /* of GROWING: about so much longer would tell */
	/* Of GROWTH_WHY_OLDER and _RSS, in bytes a second: what it seems to keep, and what is older and
	 * goes; `slope` is the rest. */
	double came, older;
};

/* A series without points. `sample_var`: 0 when every block was counted. */
void growth_begin(struct growth *g, double sample_var);

/* Adds the totals at a later moment; one that is not later is left out. */
void growth_add(struct growth *g, const struct growth_point *x);

/* What the points so far say. May be asked at any time, and again after more. */
struct growth_verdict growth_judge(const struct growth *g);

void growth_done(struct growth *g); /* legal on a zeroed one */

/* "LEAK likely" …; for GROWTH_UNKNOWN "". */
const char *growth_word_name(enum growth_word word);

/* Bytes a second below which a leak would most likely not have shown in `ms` with one sample per
 * `rate_bytes`. An exact recording (rate 0) has no such limit in bytes, only one in blocks:
 * GROWTH_SAMPLES in that time. */
double growth_limit(uint64_t rate_bytes, uint64_t ms);

#endif
