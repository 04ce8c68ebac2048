/* SPDX-License-Identifier: MIT */
/* screen_cells.h -- a screen as rows of cells, each a character with a style; no terminal
 * is needed to fill one.
 *
 * What does not fit is cut. Text must be UTF-8; a character that is broken, moves the
 * cursor or takes no column becomes '?'. A wide character takes two cells, the second of
 * which has the character 0. */
#ifndef SEEP_RENDER_SCREEN_CELLS_H
#define SEEP_RENDER_SCREEN_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/buf.h"
#include "tool/util/term.h"

struct cell {
	uint32_t c;
	uint8_t style; /* enum term_style */
	bool reversed;
};

struct cells {
	unsigned width, height;
	struct cell *at; /* width * height */
};

/* Blank cells. Free with cells_done. */
void cells_init(struct cells *s, unsigned width, unsigned height);
void cells_done(struct cells *s); /* legal on a zeroed one */

/* Columns that a character takes: 1 or 2; 0 = it is not shown as it is. */
unsigned cells_columns(uint32_t c);
/* The same of a text. */
unsigned cells_width(const char *text);

/* Where text goes next. */
struct pen {
	struct cells *s;
	unsigned row, col;
	unsigned end; /* first column that is not written to */
	enum term_style style;
	bool reversed;
};

struct pen pen_at(struct cells *s, unsigned row);

/* Writes text, and the same in `columns` columns: cut with "…", or filled up. */
void pen_text(struct pen *p, const char *text);
void pen_left(struct pen *p, const char *text, unsigned columns);
void pen_right(struct pen *p, const char *text, unsigned columns);
void pen_styled(struct pen *p, enum term_style style, const char *text);
/* Blanks up to this column, or this character. */
void pen_to(struct pen *p, unsigned col);
void pen_fill(struct pen *p, uint32_t c);

/* Bars of an eighth to a whole, for the newest values: one a column, at most `columns`.
 * From 0 to the largest one. */
void pen_spark(struct pen *p, const int64_t *values, unsigned n, unsigned columns);

/* Replaces what is not ASCII. */
void cells_to_ascii(struct cells *s);

/* Appends the cells of a row from column `from` to before `to`. */
void cells_piece(struct buf *out, const struct cells *s, unsigned row, unsigned from,
		 unsigned to);

/* Columns of a row without the blanks at its end. */
unsigned cells_used(const struct cells *s, unsigned row);

/* The rows as lines of text, without blanks at their ends. */
void cells_text(struct buf *out, const struct cells *s);

#endif
