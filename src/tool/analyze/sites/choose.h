/* SPDX-License-Identifier: MIT */
/* choose.h -- what the user's words pick out of a profile: processes, points in time,
 * columns.
 *
 * All refusals name what there would have been to pick. Pure: nothing but the profile is
 * looked at, so `--process 4711` is the process of the recording, not one of this
 * machine. */
#ifndef SEEP_ANALYZE_CHOOSE_H
#define SEEP_ANALYZE_CHOOSE_H

#include <stdbool.h>

#include "tool/analyze/sites/sites.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Sets chosen[i] for every process that `which` names: a pid, what it was started
 * as, or its program with or without the folder; NULL and "all" choose all. Room for
 * p->nprocesses. -ENOENT when none is. */
int choose_processes(const struct prof *p, const char *which, bool *chosen,
		     struct err *e);

/* A word after `@` as a point in time: "peak", "exit", else a mark of one of the chosen
 * processes, by name or number; NULL and "" are the end. -ENOENT names the marks there
 * are. */
int choose_point(const struct prof *p, const bool *chosen, const char *word,
		 struct sites_point *ret_point, struct err *e);

/* Is this a snapshot of massif that has its sums, but no stacks? */
bool choose_is_sum(const struct prof *p, const bool *chosen,
		   const struct sites_point *point);

/* Appends the snapshots of massif that have stacks: "@6, @15". */
void choose_trees(const struct prof *p, struct buf *out);

/* "live" … "temporary"; -EINVAL otherwise. */
int choose_by(const char *word, enum sites_by *ret_by, struct err *e);

/* Is this the mark that `word` names, by name or number? */
bool choose_mark_is(const struct prof *p, const struct prof_mark *m, const char *word);

/* Was this the recording of a program that exec replaced? Its memory was taken from
 * it. */
bool choose_is_replaced(const struct prof *p, uint32_t process);

/* Name of a process for people: the last part of what it was started as, which may be a
 * link to its program (sh, redis-server), or of its program's path, or "?". */
struct choose_name {
	char s[256];
};
struct choose_name choose_process_name(const struct prof *p, uint32_t process);

/* Live bytes and blocks of every site of `p` at the marks of that name, the last of each
 * process: two arrays of p->nsites, for the caller to free. */
void choose_mark_figures(const struct prof *p, const char *mark, int64_t **ret_bytes,
			 int64_t **ret_blocks);

#endif
