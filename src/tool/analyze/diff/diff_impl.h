/* SPDX-License-Identifier: MIT */
/* diff_impl.h -- between the files of diff.h: which rows of two sides are one place. */
#ifndef SEEP_ANALYZE_DIFF_IMPL_H
#define SEEP_ANALYZE_DIFF_IMPL_H

#include "tool/analyze/diff/diff.h"
#include "tool/analyze/growth/growth_places.h"
#include "tool/util/map.h"

/* How a module of one side stands to those of the other. */
enum diff_module {
	DIFF_MODULE_UNKNOWN = 0, /* not there, or nothing says which build it is */
	DIFF_MODULE_SAME,
	DIFF_MODULE_REBUILT,
};

/* Both profiles with their texts in one table. */
struct diff_both {
	const struct prof *p[2];
	struct strtab strings;
	/* string of `strings` for one of the profile, + 1; 0 = not asked yet */
	uint32_t *names[2];
	uint8_t *states[2]; /* enum diff_module, for every module */
	uint32_t *builds
		[2]; /* for every module: string of its build-id, else of its name */
	uint32_t *families[2]; /* of its name, which both builds of a program go by */
};

void diff_both_init(struct diff_both *b, const struct prof *old, const struct prof *new);
void diff_both_done(struct diff_both *b);
uint32_t diff_name(struct diff_both *b, unsigned side, uint32_t id);

struct diff_match {
	uint32_t *place[2]; /* for every row of that side's sites */
	uint32_t nplaces;
	bool *moved; /* for every place */
};

/* `ss` and `skip`: those of the two sides. Free with diff_match_done. */
void diff_match_init(struct diff_match *ret_match, struct diff_both *b,
		     const struct sites ss[2], const struct diff_query *q);
void diff_match_done(struct diff_match *m);

/* ---- a comparison that is being made ---- */

struct diff_make {
	struct diff d;
	const struct prof *p[2];
	const struct diff_query *q;
	struct diff_both both;
	struct sites ss[2];
	struct sites_total *totals[2]; /* of every place */
	struct growth_places growth;   /* of the new side's rows */
	double rate[2];		       /* mean distance of samples in bytes; 0 = exact */
	bool interval; /* counters of both sides are known, so what was done between is */
	bool checked[2]; /* it is known what that side lost */
};

/* Is that process one of those that are compared? */
bool diff_chosen(const struct diff_make *m, unsigned side, uint32_t process);

/* ---- diff_verdict.c ---- */

/* Is it known what that side lost? Leak checks are of the end only. */
bool diff_checked(const struct diff_make *m, unsigned side);

bool diff_is_noise(int64_t old, int64_t new, double var);

/* What the place lost from the old side to the new one. */
void diff_set_losses(const struct diff_make *m, struct diff_place *x,
		     const struct sites_total *old, const struct sites_total *new);

enum diff_mark diff_mark_of(const struct diff_make *m, const struct diff_place *x);

/* The verdict, when all places have their marks. */
void diff_decide(struct diff_make *m);

#endif
