/* SPDX-License-Identifier: MIT */
/* value.h -- the sample index: which figure of a stack is counted, and whether it is
 * known.
 *
 * live, peak, allocated and temporary, each in bytes or in objects. Profiles of other
 * tools have only some of these; the others are refused with a word, never shown as
 * zeros. Filters that look at single blocks (thread, size, age) are applied here, because
 * they change a stack's figure instead of leaving the stack out. Pure. */
#ifndef SEEP_ANALYZE_VALUE_H
#define SEEP_ANALYZE_VALUE_H

#include <stdbool.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"

extern const char *const value_names[PROF_VALUES];

/* The figure for every site of a profile, row by row. */
struct values {
	double *v;
	double *var; /* variances; NULL in an exact profile */
};

/* Figures of the chosen processes' sites, 0 for the others. Free with values_done. */
void values_load(struct values *ret_values, const struct prof *p,
		 const struct graph_query *q);
void values_done(struct values *v); /* legal on a zeroed one */

/* Calls back for every live block that passes the query's filters of blocks, with what it
 * stands for in the query's unit, and the variance of that. */
typedef void values_block(void *ctx, const struct prof_block *b, double value,
			  double var);
void values_each_block(const struct prof *p, const struct graph_query *q,
		       values_block *each, void *ctx);

/* The number that people know a thread by. */
uint32_t value_thread_number(const struct prof_thread *t);

/* A thread of a process as blocks name it, in one word. */
uint64_t value_thread_key(uint32_t process, uint32_t serial);

/* What to show when nothing was asked for: what the file asks for, else live where it is
 * known, else allocated. *ret_objects is set only where the file says so. */
enum prof_value value_default(const struct prof *p, bool *ret_objects);

/* "live" … "temporary", the same with a unit ("peak-objects"), and pprof's names, which
 * say bytes or objects too: inuse_space, alloc_objects, space, … *ret_objects is left
 * alone by the plain ones. -EINVAL otherwise. */
int value_parse(const char *word, enum prof_value *ret_value, bool *ret_objects,
		struct err *e);

/* Whether the profile has this figure at all, and under these filters. -ENODATA says what
 * it has. */
int value_check(const struct prof *p, const struct graph_query *q, struct err *e);

/* Whether the profile knows what was live at this point; false sets the message. */
bool value_has_point(const struct prof *p, enum sites_at at, struct err *e);

#endif
