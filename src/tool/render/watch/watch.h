/* SPDX-License-Identifier: MIT */
/* watch.h -- what `seep watch` and `seep why` found, as text, JSON and metrics.
 *
 * Verdict first, then the regions that grow, then where the resident memory is, then one
 * next step. Nothing is printed here: text goes to a buffer. */
#ifndef SEEP_RENDER_WATCH_H
#define SEEP_RENDER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/account.h"
#include "tool/session/watch/watch_view.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

enum { WATCH_ROWS = 10 };

struct watch_opts {
	const struct term *term; /* NULL = plain */
	bool ascii;
	bool all;      /* every region */
	uint32_t rows; /* 0 = WATCH_ROWS */
	bool brief;    /* for a screen that is renewed: no account, no next step */
	bool coverage; /* say what could be recorded: `seep why` */
};

/* The whole report of one process. */
void watch_text(struct buf *out, const struct watch_view *v, const struct watch_opts *o);

/* One line for the newest snapshot, without a newline; `when` is a clock time. */
void watch_line(struct buf *out, const struct watch_view *v, const char *when);

/* The verdict's sentence alone. */
void watch_verdict(struct buf *out, const struct watch_view *v);

/* All processes as one JSON object (docs/json.md). */
void watch_json(struct buf *out, const struct watch_view *views, size_t n);

/* The same as metrics in Prometheus' text format. */
void watch_metrics(struct buf *out, const struct watch_view *views, size_t n);

/* What grows is taken for an allocator's because nothing else explains it: do that one's
 * own tables have too little for it, so that it is mappings of the program's own? */
bool watch_is_beside(const struct watch_view *v, const struct track_verdict *d);

/* Bytes that may be taken until the limit is reached, and the account's line. */
double watch_room_bytes(const struct watch_view *v);
void watch_account(struct buf *out, const struct account *a);

#endif
