/* SPDX-License-Identifier: MIT */
/* growth_places.h -- growth.h asked about every place of a profile.
 *
 * The series are the looks that the tool took while the program ran (prof.looks), and at
 * their end what the recording ended with, or what was there when exit began. Each
 * process is judged by itself, since each has its own clock and its own start phase; a
 * place has the worst of the words of its processes, and the growth of those that have
 * it.
 *
 * Live blocks say when they were made, and a histogram how old the freed ones were. That
 * is enough to find a leak, so recordings without snapshots are judged too, if they are
 * long enough. */
#ifndef SEEP_ANALYZE_GROWTH_PLACES_H
#define SEEP_ANALYZE_GROWTH_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/growth/growth.h"
#include "tool/analyze/sites/sites.h"
#include "tool/model/prof.h"

enum {
	GROWTH_BIRTHS_MS = 2500, /* shortest time that is judged by births alone */
	GROWTH_ROSE_BYTES =
		64 << 10, /* least growth of a process that is worth a word once it
					 was freed at exit */
};

struct growth_place {
	struct growth_verdict
		v; /* of the process with most growth among those of this word */
	double slope, error; /* of all of these processes */
	uint32_t process;    /* that `v` is of */
	uint32_t processes;  /* that have this word */
};

/* A row that leaks or grows, in one of the processes where it does. */
struct growth_part {
	uint32_t row, process;
	enum growth_word word;
	double slope;
	uint64_t ms; /* that it was watched for */
};

struct growth_places {
	struct growth_place *rows; /* for every row of the places asked about */
	uint32_t *ranked; /* rows that leak or grow: leaks first, then by growth */
	uint32_t nranked;
	struct growth_part *parts;
	uint32_t nparts;
	enum growth_word word; /* the worst; GROWTH_UNKNOWN: nothing could be judged */
	uint32_t count[GROWTH_LEAK + 1]; /* places by word */
	double slope, error;		 /* of all places that have the worst word */
	uint32_t *turning; /* rows that keep what they allocate while as much goes that is
			      older: STEADY for that reason alone */
	uint32_t nturning;
	uint64_t ms; /* longest time that a process was recorded for, */
	/* in so many intervals; 0 = by the ages of live blocks alone */
	unsigned intervals;
	enum growth_why why; /* too little was seen to judge: SHORT or FEW (samples) */
	/* live memory of a process did, but there are no snapshots of its sites */
	bool rose;
	uint64_t rate_bytes; /* the least exact sampling; 0 = exact */
};

/* `ss` must be of the same profile; which moment its figures are of does not matter.
 * Verdicts are only for rows that are the program's own. Free with growth_places_done. */
void growth_places_init(struct growth_places *ret_places, const struct prof *p,
			const struct sites *ss);
void growth_places_done(struct growth_places *g); /* legal on a zeroed one */

/* Enough was seen for a leak to be found, had there been one: only then "no growth" means
 * something. */
bool growth_places_judged(const struct growth_places *g);

#endif
