/* SPDX-License-Identifier: MIT */
/* top.h -- what `seep top` looks at, again and again: a recorded process, a recording, or
 * a process that nobody records.
 *
 * A recorded process is neither stopped nor asked: its recording is read as `seep report`
 * reads it, so that all figures are the same. Names are looked up once. How a site grows
 * is judged from looks at the totals that are taken meanwhile. Reading costs no more than
 * a fortieth of the time: a large recording is read less often, and top_period_ms says
 * how often. Prints nothing. */
#ifndef SEEP_SESSION_TOP_H
#define SEEP_SESSION_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/verdict/report_data.h"
#include "tool/format/input.h"
#include "tool/session/load.h"
#include "tool/session/names/names.h"
#include "tool/session/top/top_view.h"
#include "tool/session/watch/watcher.h"

struct top;

struct top_opts {
	uint64_t every_ms; /* between two looks; 0 = one look only */
	struct load_opts load;
	struct names_opts names;
	const char
		*mark; /* compare with it; NULL = none. -ENOENT if there is none such */
};

/* Opens what the word means and looks at it for the first time. Free with top_close,
 * NULL is fine. */
int top_open(const char *word, const struct top_opts *o, struct top **ret, struct err *e);
void top_close(struct top *t);

/* Looks again. A process that has ended is no failure: this is its last state then, and
 * later calls do nothing. */
int top_look(struct top *t, struct err *e);

/* Whether the next look is due; and how far apart they are now. */
bool top_due(const struct top *t);
uint64_t top_period_ms(const struct top *t);

/* What there is to see; `open`: id of the row whose stacks are wanted, 0 = none. Replaces
 * what was in it. */
void top_view(struct top *t, uint64_t open, struct top_view *ret);

/* Compares with this mark from now on, NULL = with none. */
int top_compare(struct top *t, const char *mark, struct err *e);

/* Sets a mark in the recording, and compares with it. */
int top_mark(struct top *t, const char *name, struct err *e);

/* How long attaching is expected to stop the process each time; what speaks against it is
 * the error. Of TOP_REGIONS only. */
int top_may_attach(const struct top *t, uint64_t *ret_stop_ns, struct err *e);

/* Attaches to the process, which is TOP_LIVE from then on, as seep attach does: sampled,
 * with its default rate and budget. */
int top_attach(struct top *t, struct err *e);

/* What we attached with, NULL = we did not. It must be ticked every 10 ms or so. */
struct session *top_session(const struct top *t);
void top_tick(struct top *t);

/* Takes the recorder out again; false: not all of it, which is noted. */
bool top_detach(struct top *t);

enum top_kind top_kind(const struct top *t);
bool top_ended(const struct top *t);

/* What reports are made of; NULL for TOP_REGIONS. Good until the next look. */
const struct prof *top_prof(const struct top *t);
struct skip *top_skip(const struct top *t);
const struct report_data *top_report_data(const struct top *t);
/* The same for TOP_REGIONS; else NULL. */
struct watcher *top_watcher(const struct top *t);

#endif
