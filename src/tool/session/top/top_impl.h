/* SPDX-License-Identifier: MIT */
/* top_impl.h -- what the files top*.c share. Nothing outside of the folder includes
 * it. */
#ifndef SEEP_SESSION_TOP_IMPL_H
#define SEEP_SESSION_TOP_IMPL_H

#include "tool/session/attach/attached.h"
#include "tool/session/top/top.h"
#include "tool/session/top/top_names.h"
#include "tool/session/watch/outside.h"
#include "tool/target/proc/covered.h"
#include "tool/target/run/livefile.h"
#include "tool/target/run/looks.h"
#include "tool/util/map.h"

/* What was counted at a look, for the rates of the next one. */
struct top_counts {
	struct map allocs; /* by id of a row */
	uint64_t all_allocs;
	int64_t live_bytes;
	uint64_t ns; /* CLOCK_MONOTONIC; 0 = there was no such look */
};

struct top {
	struct top_opts o;
	enum top_kind kind;
	char *name, *mark;
	int pid;
	bool ended;
	uint64_t period_ms, next_ns;
	uint64_t view_ns; /* processor time of the last view */

	/* TOP_LIVE */
	struct livefile live;
	struct looks looks;
	struct outside *outside;
	struct covered covered;
	struct top_names *names;
	struct top_counts before, now;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	bool fresh;	    /* the counts of this look are not in `now` yet */

	/* TOP_LIVE and TOP_FILE */
	struct loaded loaded; /* TOP_FILE: owns the profile */
	struct prof *p;
	struct skip *skip;
	struct report_data d;

	/* TOP_LIVE, where we attached: the one session; `live` is not used then */
	struct attached_sessions attached;
	bool detached;

	/* TOP_REGIONS */
	struct watchers watched;
	uint64_t first_ns;
};

/* top_attach.c: what the session has recorded, as a profile without names. */
int top_load_attached(struct top *t, struct prof *p, struct err *e);

/* top_rows.c: the rows of a profile, and the stacks of one. */
void top_rows(struct top *t, struct top_view *v);
void top_stacks(const struct top *t, uint64_t open, struct top_view *v);

#endif
