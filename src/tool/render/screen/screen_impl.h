/* SPDX-License-Identifier: MIT */
/* screen_impl.h -- what the files screen*.c share. */
#ifndef SEEP_RENDER_SCREEN_IMPL_H
#define SEEP_RENDER_SCREEN_IMPL_H

#include "tool/render/screen/screen.h"

#define SCREEN_DASH 0x2500

/* One screen being drawn. */
struct drawing {
	const struct top_view *v;
	const struct screen_ui *ui;
	struct cells *s;
	unsigned row;	 /* the next one that is free */
	unsigned end;	 /* first row behind those that may be used now */
	uint32_t *order; /* places of rows */
	size_t norder;
	size_t selected; /* place in `order` */
	bool wide;
};

/* Whether there is room for all columns. */
bool screen_is_wide(unsigned width);

/* screen_head.c: what stands above the table; draws nothing but counts if d->s has no
 * cells. */
void screen_head(struct drawing *d);

/* screen_table.c: heading and rows. */
void screen_table(struct drawing *d);

/* screen_stacks.c: the stacks of the open row. */
void screen_stacks(struct drawing *d);
unsigned screen_stack_lines(const struct top_view *v);

/* screen_keys.c: the list of keys in place of the table, and the last lines. */
void screen_help(struct drawing *d);
unsigned screen_last_lines(const struct drawing *d);
void screen_last(struct drawing *d);

/* The column, and its name: of which mark. */
const char *screen_sort_heading(enum screen_sort sort);

#endif
