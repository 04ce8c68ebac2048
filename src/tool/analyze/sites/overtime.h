/* SPDX-License-Identifier: MIT */
/* overtime.h -- what each place had live over time: the series of the sites (model/
 * series.h), added up by the entries of a graph.
 *
 * The graph must be of all that was ever allocated, because what was freed in the end had
 * its time, too. */
#ifndef SEEP_ANALYZE_OVERTIME_H
#define SEEP_ANALYZE_OVERTIME_H

#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/series.h"

struct overtime_row {
	uint32_t entry; /* of the graph: the innermost frame */
	int64_t *live;	/* at each point; PROF_UNKNOWN: not known */
	int64_t highest;
};

struct overtime {
	struct series_axis axis;
	int64_t *live;	   /* all that is in the graph, at each point; or PROF_UNKNOWN */
	uint64_t *rss_kib; /* of the processes, as it was measured last; 0 = not known */
	struct overtime_row *rows; /* that ever had anything, highest first */
	uint32_t nrows;
	uint32_t unknown; /* points at which the figure of some row is not known */
};

void overtime_init(struct overtime *ret, const struct prof *p, const bool *chosen,
		   const struct graph *g);
void overtime_done(struct overtime *o);

/* What the rows from `first` on had together at each point; where some are not known,
 * what the whole has beyond the others. `ret` has room for axis.n. */
void overtime_rest(const struct overtime *o, uint32_t first, int64_t *ret);

#endif
