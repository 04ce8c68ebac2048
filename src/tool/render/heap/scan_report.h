/* SPDX-License-Identifier: MIT */
/* scan_report.h -- a heap that nobody recorded, for people and programs: what is lost of
 * it, what is in it, who holds it, what malloc keeps.
 *
 * The answer comes first, the evidence next, one next step last, as in report.h. */
#ifndef SEEP_RENDER_SCAN_REPORT_H
#define SEEP_RENDER_SCAN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/process/scan_growth.h"
#include "tool/model/heapscan.h"
#include "tool/render/figure.h"
#include "tool/util/buf.h"
#include "tool/util/fmt.h"
#include "tool/util/term.h"

enum {
	SCAN_ROWS = 10,
	SCAN_LEAK_ROWS = 6,  /* of lost blocks, two lines each: they fit on a screen */
	SCAN_MINOR_ROWS = 3, /* of LEAK (minor) */
};

struct scan_opts {
	const struct term *term; /* NULL = plain */
	bool ascii, bytes, all;
	bool attached;	    /* seep is in the process: that says who allocates */
	unsigned kinds;	    /* bits 1 << enum heapscan_kind to list; 0 = definite */
	uint32_t rows;	    /* 0 = SCAN_ROWS */
	const char *target; /* the user's word, for the next step */
};

/* `seep leaks`: what is lost. */
void scan_leaks_text(struct buf *out, const struct heapscan *s,
		     const struct scan_opts *o);

/* Groups that have blocks of these kinds, in the order in which they are listed: row 1
 * first. To be freed by the caller. */
uint32_t *scan_order(const struct heapscan *s, unsigned kinds, size_t *ret_n);

/* `seep report` of a heap: what is in it, who holds it, what malloc keeps, and with `g`
 * (or NULL) what grew since an earlier look. */
void scan_heap_text(struct buf *out, const struct heapscan *s,
		    const struct scan_growth *g, const struct scan_opts *o);

/* Everything as JSON, for both commands (docs/json.md); `g` may be NULL. */
void scan_json(struct buf *out, const struct heapscan *s, const struct scan_growth *g);

/* Stop and pause, threads, blocks; for a core what it is of. A line. */
void scan_about(struct buf *out, const struct heapscan *s);

/* A size as the options ask for it, and a change of one with its sign. */
struct figure_str scan_bytes(const struct scan_opts *o, uint64_t bytes);
struct fmt_str scan_change(const struct scan_opts *o, int64_t bytes);

/* ---- scan_verdict.c ---- */

/* The first lines: the verdict, and further words that match. `g` may be NULL. */
void scan_verdict(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
		  const struct scan_opts *o);

/* All that is said of a heap that could not be read. */
void scan_unreadable(struct buf *out, const struct heapscan *s,
		     const struct scan_opts *o);

/* The summary: how much is definitely lost, possibly lost, still reachable. A line. */
void scan_sums(struct buf *out, const struct heapscan *s, const struct scan_opts *o);

#endif
