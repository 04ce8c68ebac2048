/* SPDX-License-Identifier: MIT */
/* columns.h -- what the tables of a profile consist of, column by column.
 *
 * Packing, reading back, merging and freeing all walk these tables, so a field cannot be
 * known to one of them and forgotten by another. A column's id in a file is its place in
 * its table, from 1: a new column is added at the end, and the place of one that goes
 * stays empty. */
#ifndef SEEP_COLUMNS_H
#define SEEP_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"

enum prof_col_kind {
	PROF_COL_UINT, /* unsigned, `bytes` bytes in memory, at most `max` */
	PROF_COL_INT,  /* signed */
	PROF_COL_REAL, /* double */
	PROF_COL_STR,  /* id of a string */
	PROF_COL_ROW,  /* row of the table `table` */
	PROF_COL_BACK, /* row of its own table, before this one */
	/* first of several rows of `table`; how many is the field behind it, a u32.
	 * Rows belong to one span only */
	PROF_COL_SPAN,
};

struct prof_col {
	uint16_t off;  /* of the field in a row */
	uint8_t bytes; /* of one value in memory */
	uint8_t kind;  /* enum prof_col_kind */
	uint8_t count; /* values: more than 1 in an array */
	uint8_t table; /* PROF_COL_ROW, PROF_COL_SPAN: enum prof_tab_id */
	bool delta;    /* in a file: as difference to the row before */
	uint64_t max;  /* PROF_COL_UINT: largest legal value */
};

struct prof_tab {
	const char *name;
	const struct prof_col *cols;
	uint16_t ncols;
	uint16_t row_bytes;
	uint16_t rows_off, n_off, cap_off; /* in struct prof */
	uint8_t first;			   /* 1: row 0 is the blank one and not stored */
	bool needed;			   /* a file without it has nothing to report */
};

/* By enum prof_tab_id. PROF_TAB_META has struct prof itself as its one row,
 * PROF_TAB_STRINGS has no columns. */
extern const struct prof_tab prof_tabs[PROF_TABS];

/* The rows of a table, from the blank one on, and their number. Not for PROF_TAB_META and
 * PROF_TAB_STRINGS. */
unsigned char *prof_tab_rows(const struct prof *p, const struct prof_tab *t,
			     uint32_t *ret_n);

#endif
