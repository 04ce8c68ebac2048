/* SPDX-License-Identifier: MIT */
/* screen_stacks.c -- below the table: the stacks of the row that is open, with their
 * source lines. */
#include <stdio.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/screen/screen_impl.h"
#include "tool/util/fmt.h"

enum { INDENT = 4, NAME_MOST = 40, WHERE_MOST = 32 };

unsigned
screen_stack_lines(const struct top_view *v)
{
	unsigned n = v->stacks_left_out > 0;

	for (size_t i = 0; i < v->stacks.len; i++)
		n += 1 + v->stacks.data[i].nframes;
	return n;
}

static const struct top_row *
open_row(const struct top_view *v)
{
	for (size_t i = 0; i < v->rows.len; i++) {
		if (v->rows.data[i].id == v->open)
			return &v->rows.data[i];
	}
	return NULL;
}

static void
heading_line(struct drawing *d)
{
	const struct top_row *r = open_row(d->v);
	size_t n = d->v->stacks.len + d->v->stacks_left_out;
	struct pen p = pen_at(d->s, d->row++);
	struct buf b = {0};

	if (r == NULL)
		return;
	p.col = 0;
	p.end = d->s->width > 1 ? 1 : d->s->width;
	pen_fill(&p, SCREEN_DASH);
	p.end = d->s->width;
	buf_printf(&b, " %s %s ", r->name, r->where);
	pen_styled(&p, TERM_BOLD, buf_str(&b));
	buf_clear(&b);
	buf_printf(&b, "  %s", figure_things((int64_t)n, 0, "stack").s);
	if (r->age_ms != TOP_AGE_UNKNOWN)
		buf_printf(&b, ", oldest block %s", figure_ms(r->age_ms).s);
	buf_printf(&b, ", %s of %s freed ", fmt_count(r->frees).s,
		   fmt_count(r->allocs).s);
	pen_text(&p, buf_str(&b));
	pen_fill(&p, SCREEN_DASH);
	buf_done(&b);
}

/* Columns of names and of places, in all stacks. */
static void
measure(const struct top_view *v, unsigned *ret_name, unsigned *ret_where)
{
	*ret_name = *ret_where = 0;
	for (size_t i = 0; i < v->stacks.len; i++) {
		const struct top_stack *s = &v->stacks.data[i];

		for (unsigned k = 0; k < s->nframes; k++) {
			unsigned name = cells_width(s->frames[k].name);
			unsigned where = cells_width(s->frames[k].where);

			if (name > *ret_name)
				*ret_name = name;
			if (where > *ret_where)
				*ret_where = where;
		}
	}
	*ret_name = *ret_name < NAME_MOST ? *ret_name : NAME_MOST;
	*ret_where = *ret_where < WHERE_MOST ? *ret_where : WHERE_MOST;
}

static void
stack_line(struct drawing *d, size_t i)
{
	const struct top_stack *s = &d->v->stacks.data[i];
	struct pen p = pen_at(d->s, d->row);
	struct buf b = {0};

	buf_printf(&b, "%3zu  %s in %s, %s of %s freed", i + 1,
		   figure_bytes(s->live_bytes, s->var_live_bytes, false).s,
		   figure_things(s->live_blocks, 0, "block").s, fmt_count(s->frees).s,
		   fmt_count(s->allocs).s);
	pen_text(&p, buf_str(&b));
	buf_done(&b);
}

static void
frame_line(struct drawing *d, const struct top_frame *f, unsigned name, unsigned where)
{
	struct pen p = pen_at(d->s, d->row);

	pen_to(&p, INDENT);
	pen_left(&p, f->name, name);
	pen_text(&p, "  ");
	p.style = TERM_NAME;
	pen_left(&p, f->where, where);
	p.style = TERM_PLAIN;
	pen_text(&p, "  ");
	pen_left(&p, f->source, p.end > p.col ? p.end - p.col : 0);
}

void
screen_stacks(struct drawing *d)
{
	const struct top_view *v = d->v;
	unsigned lines = screen_stack_lines(v), room = d->end - d->row - 1;
	unsigned skip = d->ui->scroll, name, where, at = 0;

	heading_line(d);
	measure(v, &name, &where);
	if (lines <= room)
		skip = 0;
	else if (skip > lines - room)
		skip = lines - room;
	for (size_t i = 0; i < v->stacks.len; i++) {
		const struct top_stack *s = &v->stacks.data[i];

		for (unsigned k = 0; k <= s->nframes && d->row < d->end; k++, at++) {
			if (at < skip)
				continue;
			if (k == 0)
				stack_line(d, i);
			else
				frame_line(d, &s->frames[k - 1], name, where);
			d->row++;
		}
	}
	if (v->stacks_left_out > 0 && d->row < d->end) {
		struct pen p = pen_at(d->s, d->row++);
		char text[64];

		snprintf(text, sizeof text, "     %u more stacks", v->stacks_left_out);
		pen_text(&p, text);
	}
}
