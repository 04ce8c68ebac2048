/* SPDX-License-Identifier: MIT */
/* screen.c -- the screen put together: see screen.h. */
#include "tool/render/screen/screen.h"

#include <stdlib.h>
#include <string.h>

#include "tool/render/screen/screen_impl.h"
#include "tool/util/x.h"

enum {
	WIDE = 132,
	STACKS_LEAST = 6, /* lines of the part below the table, with its heading */
	TABLE_LEAST = 3,
};

const char *const screen_sort_names[SCREEN_SORTS] = {
	[SCREEN_GROWTH] = "growth", [SCREEN_LIVE] = "live",   [SCREEN_RATE] = "rate",
	[SCREEN_AGE] = "age",	    [SCREEN_SINCE] = "since",
};

bool
screen_is_wide(unsigned width)
{
	return width >= WIDE;
}

/* ---- which rows, and in which order ---- */

/* What a row is ranked by; rows of which it is not known come last. */
static double
rank_of(const struct top_row *r, enum screen_sort sort)
{
	switch (sort) {
	case SCREEN_GROWTH:
		return r->has_rate ? r->slope : 0;
	case SCREEN_RATE:
		return r->allocs_per_s;
	case SCREEN_AGE:
		return r->age_ms == TOP_AGE_UNKNOWN ? -1 : (double)r->age_ms;
	case SCREEN_SINCE:
		return (double)(r->live_bytes - r->mark_bytes);
	default:
		return 0; /* all alike: then live bytes decide */
	}
}

struct ranked {
	double rank;
	int64_t live_bytes;
	uint32_t place;
	bool kept;
};

static int
compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->kept != y->kept)
		return x->kept ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool
passes(const struct top_row *r, const char *filter)
{
	return filter[0] == '\0' || strcasestr(r->name, filter) != NULL ||
	       strcasestr(r->where, filter) != NULL ||
	       strcasestr(r->caller, filter) != NULL;
}

size_t
screen_order(const struct top_view *v, const struct screen_ui *ui, uint32_t **ret_order)
{
	struct ranked *all = xcalloc(v->rows.len, sizeof *all);
	uint32_t *order = xcalloc(v->rows.len, sizeof *order);
	size_t n = 0;

	for (size_t i = 0; i < v->rows.len; i++) {
		const struct top_row *r = &v->rows.data[i];

		if (passes(r, ui->filter))
			all[n++] = (struct ranked){.rank = rank_of(r, ui->sort),
						   .live_bytes = r->live_bytes,
						   .place = (uint32_t)i,
						   .kept = r->kept};
	}
	if (n > 1)
		qsort(all, n, sizeof *all, compare_ranked);
	for (size_t i = 0; i < n; i++)
		order[i] = all[i].place;
	free(all);
	*ret_order = order;
	return n;
}

/* ---- drawing ---- */

static void
begin(struct drawing *d, const struct top_view *v, const struct screen_ui *ui,
      struct cells *s)
{
	*d = (struct drawing){.v = v, .ui = ui, .s = s, .wide = screen_is_wide(s->width)};
	d->norder = screen_order(v, ui, &d->order);
	for (size_t i = 0; i < d->norder; i++) {
		if (v->rows.data[d->order[i]].id == ui->selected)
			d->selected = i;
	}
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Lines for the stacks, out of `left`: what they need, but no more than half. */
static unsigned
lines_of_stacks(const struct drawing *d, unsigned left)
{
	unsigned want = screen_stack_lines(d->v) + 1, most = left / 2;

	if (d->v->open == 0 || left < STACKS_LEAST + TABLE_LEAST)
		return 0;
	if (most < STACKS_LEAST)
		most = STACKS_LEAST;
	return want < most ? want : most;
}

void
screen_draw(const struct top_view *v, const struct screen_ui *ui, unsigned width,
	    unsigned height, struct cells *ret)
{
	struct drawing d;
	unsigned last, stacks;

	cells_init(ret, width, height);
	begin(&d, v, ui, ret);
	last = height - (ui->interactive ? least(screen_last_lines(&d), height) : 0);
	d.end = last;
	screen_head(&d);
	stacks = ui->help ? 0 : lines_of_stacks(&d, last > d.row ? last - d.row : 0);
	d.end = last - stacks;
	if (ui->help)
		screen_help(&d);
	else
		screen_table(&d);
	if (stacks > 0) {
		d.row = last - stacks;
		d.end = last;
		screen_stacks(&d);
	}
	if (ui->interactive) {
		d.row = last;
		screen_last(&d);
	}
	if (ui->ascii)
		cells_to_ascii(ret);
	free(d.order);
}

unsigned
screen_height(const struct top_view *v, const struct screen_ui *ui, unsigned width,
	      uint64_t rows)
{
	struct cells s = {0};
	struct drawing d;
	uint64_t lines;

	cells_init(&s, width, SCREEN_LEAST_HEIGHT);
	begin(&d, v, ui, &s);
	d.end = SCREEN_LEAST_HEIGHT;
	screen_head(&d);
	lines = rows < d.norder ? rows : d.norder;
	lines += d.row + 1 + (rows < d.norder);
	free(d.order);
	cells_done(&s);
	return lines < 1 << 20 ? (unsigned)lines : 1 << 20;
}
