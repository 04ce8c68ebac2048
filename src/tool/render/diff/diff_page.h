/* SPDX-License-Identifier: MIT */
/* diff_page.h -- between the files of diff_report.h: the text being written. */
#ifndef SEEP_RENDER_DIFF_PAGE_H
#define SEEP_RENDER_DIFF_PAGE_H

#include "tool/render/diff/diff_report.h"
#include "tool/util/vec.h"

#define DIFF_DOT " \xc2\xb7 "
#define DIFF_TO " \xe2\x86\x92 "
#define DIFF_FROM " \xe2\x86\x90 "
#define DIFF_MINUS "\xe2\x88\x92"
#define DIFF_ERROR " \xc2\xb1 "

struct diff_row {
	const struct diff_place *x;
	char *growth, *before, *after, *beside, *freed, *place;
	unsigned frames; /* shown of its stack */
};

struct diff_rows VEC_BODY(struct diff_row);

struct diff_page {
	struct buf *out;
	const struct diff *d;
	const struct diff_opts *o;
	struct diff_rows rows;
	unsigned unit; /* of before and after */
	uint64_t most; /* largest change of the rows */
	bool freed;    /* some place has a share freed */
};

/* What becomes of a place: is it listed, and if not, under what is it counted? */
enum diff_fold {
	DIFF_LIST = 0,
	DIFF_FOLD_SMALL,
	DIFF_FOLD_NOISE,
	DIFF_FOLD_SAME,
	DIFF_FOLDS,
};

/* Places folded together. */
struct diff_folded {
	uint64_t places;
	uint64_t most; /* largest change */
	int64_t net;
	double var;
};

/* ---- diff_figure.c ---- */

enum { DIFF_NO_UNIT = 99 };

extern const char *const diff_units[];

int64_t diff_less(int64_t a, int64_t b); /* a - b, within the range */

/* The unit that a number of bytes is best read in, and the number in a unit, with `more`
 * digits than usual. */
unsigned diff_unit(double bytes);
char *diff_in_unit(double bytes, unsigned unit, unsigned more);

/* "868,123" */
char *diff_exactly(int64_t n);

/* "+48.0 MiB", "+48.0 ± 3.1 MiB"; plain "+1,024". The unit is left out when it is
 * `known`. */
char *diff_change(int64_t by, double var, bool plain, unsigned known);

/* ---- diff_table.c ---- */

/* Fills g->rows; what is not listed is counted in `folded`. */
void diff_choose_rows(struct diff_page *g, struct diff_folded folded[DIFF_FOLDS]);
void diff_rows_done(struct diff_page *g);

void diff_table(struct diff_page *g);
void diff_folds(struct diff_page *g, const struct diff_folded folded[DIFF_FOLDS]);

#endif
