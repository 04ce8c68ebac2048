/* SPDX-License-Identifier: MIT */
/* diff_report.h -- a comparison as people and programs read it.
 *
 * The text has the verdict and the sum first, then a line for each place that changed,
 * then what was folded, and how far the two can be compared. The JSON has every place
 * (docs/json.md). Nothing is printed here: text goes to a buffer. */
#ifndef SEEP_RENDER_DIFF_REPORT_H
#define SEEP_RENDER_DIFF_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/diff/diff.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

enum {
	DIFF_ROWS = 10,	     /* sites listed by default */
	DIFF_MINOR_ROWS = 3, /* lost ones among them, of a minor leak */
	DIFF_SMALL_BYTES =
		64 << 10, /* smaller changes are folded, where there are larger */
};

struct diff_opts {
	const struct prof *p[2];
	const struct skip *skip[2];
	const char *target[2]; /* as the user wrote them */
	const char *reading;   /* options that give the names, each with a blank behind;
				* NULL = none */
	enum sites_by by;
	const struct term *term; /* colours and width; NULL = plain */
	bool ascii;		 /* the locale is not UTF-8 */
	bool bytes;		 /* whole numbers instead of KiB, MiB */
	bool all;		 /* list every place, changed or not */
	uint32_t rows;		 /* places listed; 0 = DIFF_ROWS */
	unsigned frames; /* of a stack, at most, where fewer do not tell places apart */
	unsigned series; /* snapshots of one process that were given; 0 = just the two */
};

void diff_text(struct buf *out, const struct diff *d, const struct diff_opts *o);
void diff_json(struct buf *out, const struct diff *d, const struct diff_opts *o);

/* Events that are missing from a profile's totals. */
uint64_t diff_missed(const struct prof *p);

/* Appends "function file:line" of one frame. */
void diff_frame_text(struct buf *out, const struct prof *p, struct skip_pos pos);

#endif
