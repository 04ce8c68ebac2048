/* SPDX-License-Identifier: MIT */
/* screen_table.c -- the rows: sites, or the regions of a process that nobody records.
 *
 * A narrow screen has room for two columns that depend on what was chosen: growth, or the
 * change since the mark; and the share freed, or what rows are sorted by. A wide one has
 * them all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/render/screen/screen_impl.h"
#include "tool/util/fmt.h"

#define ARROW "\xe2\x86\x90 "

enum {
	GROWTH_COLUMNS = 18,
	SIZE_COLUMNS = 9,
	COUNT_COLUMNS = 9,
	SHARE_COLUMNS = 6,
	AGE_COLUMNS = 8,
	CHANGE_COLUMNS = 10,
	TREND_COLUMNS = 12,
	WORD_COLUMNS = 12,
	CALLER_LEAST = 9, /* else it is left out */
};

enum column {
	COL_WORD,
	COL_GROWTH,
	COL_SINCE,
	COL_LIVE,
	COL_BLOCKS,
	COL_FREED,
	COL_AGE,
	COL_RATE,
	COL_TREND,
	COLUMNS,
};

static const struct {
	const char *heading;
	unsigned columns;
} column_facts[COLUMNS] = {
	[COL_WORD] = {"VERDICT", WORD_COLUMNS},
	[COL_GROWTH] = {"GROWTH/MIN", GROWTH_COLUMNS},
	[COL_SINCE] = {"SINCE", CHANGE_COLUMNS},
	[COL_LIVE] = {"LIVE", SIZE_COLUMNS},
	[COL_BLOCKS] = {"BLOCKS", COUNT_COLUMNS},
	[COL_FREED] = {"FREED", SHARE_COLUMNS},
	[COL_AGE] = {"OLDEST", AGE_COLUMNS},
	[COL_RATE] = {"ALLOC/S", COUNT_COLUMNS},
	[COL_TREND] = {"TREND", TREND_COLUMNS},
};

/* Which columns there are, as bits. */
static unsigned
columns_of(const struct drawing *d)
{
	unsigned all = 1u << COL_LIVE;

	if (d->v->kind == TOP_REGIONS)
		return all | 1u << COL_GROWTH | 1u << COL_SINCE |
		       (d->wide ? 1u << COL_TREND : 0);
	all |= 1u << COL_BLOCKS;
	if (d->wide)
		return all | 1u << COL_WORD | 1u << COL_GROWTH | 1u << COL_FREED |
		       1u << COL_AGE | 1u << COL_RATE | 1u << COL_TREND |
		       (d->v->mark != NULL ? 1u << COL_SINCE : 0);
	all |= 1u << (d->v->mark != NULL ? COL_SINCE : COL_GROWTH);
	switch (d->ui->sort) {
	case SCREEN_RATE:
		return all | 1u << COL_RATE;
	case SCREEN_AGE:
		return all | 1u << COL_AGE;
	default:
		return all | 1u << COL_FREED;
	}
}

/* ---- one cell ---- */

/* "+1.02 ± 0.18 MiB": the unit of time is in the heading. */
static void
growth_text(char *ret, size_t size, const struct top_row *r)
{
	struct figure_str f;
	char *per;

	ret[0] = '\0';
	if (!r->has_rate)
		return;
	f = growth_text_rate(r->slope, r->error, false);
	per = strstr(f.s, "/min");
	if (per != NULL)
		*per = '\0';
	snprintf(ret, size, "%s", growth_text_has_rate(r->slope) ? f.s : "0");
}

/* Before an estimate. */
static const char *
about(const struct top_row *r)
{
	return r->var_live_bytes > 0 ? "~" : "";
}

static void
cell_text(char *ret, size_t size, const struct top_row *r, enum column c)
{
	int64_t since = r->live_bytes - r->mark_bytes;

	switch (c) {
	case COL_GROWTH:
		growth_text(ret, size, r);
		break;
	case COL_SINCE:
		snprintf(ret, size, "%s", fmt_size_signed(since).s);
		break;
	case COL_LIVE:
		snprintf(ret, size, "%s%s", about(r),
			 figure_bytes(r->live_bytes, 0, false).s);
		break;
	case COL_BLOCKS:
		snprintf(ret, size, "%s%s", about(r), figure_count(r->live_blocks, 0).s);
		break;
	case COL_FREED:
		snprintf(ret, size, "%s", fmt_percent(r->frees, r->allocs).s);
		break;
	case COL_AGE:
		snprintf(ret, size, "%s",
			 r->age_ms == TOP_AGE_UNKNOWN ? "" : figure_ms(r->age_ms).s);
		break;
	case COL_RATE:
		snprintf(ret, size, "%s",
			 r->allocs_per_s > 0 && r->allocs_per_s < 1
				 ? "<1"
				 : fmt_count((uint64_t)(r->allocs_per_s + 0.5)).s);
		break;
	default:
		ret[0] = '\0';
	}
}

static enum term_style
style_of(enum verdict_word word)
{
	if (word == VERDICT_LEAK || word == VERDICT_LEAK_LIKELY)
		return TERM_BAD;
	return word == VERDICT_GROWING ? TERM_WARN : TERM_PLAIN;
}

/* A shape for the word, as the colour alone would not do. */
static const char *
shape_of(const struct top_row *r)
{
	switch (r->verdict) {
	case VERDICT_LEAK:
	case VERDICT_LEAK_LIKELY:
		return "\xe2\x97\x8f";
	case VERDICT_GROWING:
		return "\xe2\x97\x90";
	case VERDICT_STEADY:
	case VERDICT_OK:
		return "\xe2\x97\x8b";
	default:
		return " ";
	}
}

const char *
screen_verdict_name(const struct top_row *r)
{
	return r->verdict == VERDICT_NO_VERDICT ? NULL : verdict_word_name(r->verdict);
}

/* ---- one line ---- */

/* Name, file and line, and its caller where there is room. */
static void
site_text(struct pen *p, const struct top_row *r)
{
	unsigned left = p->end > p->col ? p->end - p->col : 0, name, where;
	unsigned caller = cells_width(r->caller);
	struct buf b = {0};

	figure_function(&b, r->name, left);
	name = cells_width(buf_str(&b));
	where = r->where[0] != '\0' ? cells_width(r->where) + 1 : 0;
	/* The name gives way to the place, but keeps half. */
	if (name + where > left && where < left / 2)
		name = left - where;
	if (name > left)
		name = left;
	pen_left(p, buf_str(&b), name);
	if (where > 0 && p->col < p->end) {
		pen_text(p, " ");
		p->style = p->reversed ? TERM_PLAIN : TERM_NAME;
		left = p->end - p->col;
		pen_left(p, r->where, where - 1 < left ? where - 1 : left);
		p->style = TERM_PLAIN;
	}
	left = p->end > p->col ? p->end - p->col : 0;
	if (caller > 0 && left >= CALLER_LEAST + 3) {
		pen_text(p, " " ARROW);
		left = p->end - p->col;
		pen_left(p, r->caller, caller < left ? caller : left);
	}
	if (r->kept)
		pen_text(p, "  (kept by libc)");
	buf_done(&b);
}

static void
row_line(struct drawing *d, const struct top_row *r, bool selected)
{
	unsigned columns = columns_of(d);
	struct pen p = pen_at(d->s, d->row);
	char text[128];

	p.reversed = selected;
	if (d->v->kind != TOP_REGIONS)
		pen_styled(&p, style_of(r->verdict), shape_of(r));
	for (enum column c = 0; c < COLUMNS; c++) {
		if ((columns >> c & 1) == 0)
			continue;
		if (c == COL_WORD) {
			const char *word = screen_verdict_name(r);

			pen_text(&p, " ");
			p.style = style_of(r->verdict);
			pen_left(&p, word != NULL ? word : "", WORD_COLUMNS - 1);
			p.style = TERM_PLAIN;
		} else if (c == COL_TREND) {
			unsigned to = p.col + 1 + TREND_COLUMNS;

			pen_text(&p, " ");
			pen_spark(&p, r->trend, r->ntrend, TREND_COLUMNS - 1);
			pen_to(&p, to);
		} else {
			cell_text(text, sizeof text, r, c);
			pen_text(&p, " ");
			pen_right(&p, text, column_facts[c].columns);
		}
	}
	pen_text(&p, "  ");
	site_text(&p, r);
	if (selected)
		pen_fill(&p, ' ');
	d->row++;
}

static void
heading_line(struct drawing *d)
{
	unsigned columns = columns_of(d);
	struct pen p = pen_at(d->s, d->row);

	p.style = TERM_BOLD;
	if (d->v->kind != TOP_REGIONS)
		pen_text(&p, " ");
	for (enum column c = 0; c < COLUMNS; c++) {
		const char *heading = column_facts[c].heading;

		if ((columns >> c & 1) == 0)
			continue;
		if (d->v->kind == TOP_REGIONS && c == COL_LIVE)
			heading = "RESIDENT";
		if (d->v->kind == TOP_REGIONS && c == COL_SINCE)
			heading = "CHANGE";
		pen_text(&p, " ");
		if (c == COL_WORD)
			pen_left(&p, heading, WORD_COLUMNS - 1);
		else if (c == COL_TREND)
			pen_left(&p, heading, TREND_COLUMNS);
		else
			pen_right(&p, heading, column_facts[c].columns);
	}
	pen_text(&p, "  ");
	pen_text(&p, d->v->kind == TOP_REGIONS ? "REGION" : "SITE");
	d->row++;
}

static void
more_line(struct drawing *d, size_t n)
{
	struct pen p = pen_at(d->s, d->row);
	char text[96];

	p.style = TERM_DIM;
	snprintf(text, sizeof text, "  %s more %s%s", fmt_count(n).s,
		 d->v->kind == TOP_REGIONS ? "region" : "site", n == 1 ? "" : "s");
	pen_text(&p, text);
	d->row++;
}

void
screen_table(struct drawing *d)
{
	size_t first = 0, room;

	if (d->row >= d->end)
		return;
	heading_line(d);
	room = d->end > d->row ? d->end - d->row : 0;
	if (d->norder == 0 && room > 0) {
		struct pen p = pen_at(d->s, d->row);

		pen_text(&p, d->ui->filter[0] != '\0'
				     ? "  no site passes the filter (Esc clears it)"
				     : "  nothing was recorded yet");
		return;
	}
	/* A page at a time; the last line says how many more there are. */
	if (d->norder > room && room > 1) {
		room--;
		first = d->selected / room * room;
	}
	for (size_t i = first; i < d->norder && i - first < room; i++)
		row_line(d, &d->v->rows.data[d->order[i]],
			 d->ui->interactive && i == d->selected);
	if (first + room < d->norder && d->row < d->end)
		more_line(d, d->norder - first - room);
}
