/* SPDX-License-Identifier: MIT */
/* report_data.h -- what every report says of a profile, whatever form it has: which
 * processes it is about, their sites, what grows, the verdict with its coverage and
 * losses. Text, JSON, the page and JUnit's file write what is found here; none of them
 * judges by itself. Pure. */
#ifndef SEEP_ANALYZE_REPORT_DATA_H
#define SEEP_ANALYZE_REPORT_DATA_H

#include "tool/analyze/growth/growth_places.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/verdict/verdict.h"

struct report_query {
	const bool *chosen; /* for every process; NULL = all */
	bool everyone;	    /* all of these, not only those in focus (focus.h) */
	bool no_growth;	    /* another moment than the end is asked for */
	unsigned depth;	    /* frames that tell sites apart; 0 = the whole stack */
};

/* Whoever takes a member over from it leaves zeros there. */
struct report_data {
	bool *focus;		   /* for every process: the verdict is about it */
	struct sites sites;	   /* of all chosen processes, at the end */
	struct sites growth_sites; /* of those in focus: rows of `growth` */
	struct growth_places growth;
	struct verdict v;
};

/* `s` must belong to `p`, and outlive the data. */
void report_data_init(struct report_data *ret_data, const struct prof *p,
		      const struct skip *s, const struct report_query *q);
void report_data_done(struct report_data *d); /* legal on a zeroed one */

#endif
