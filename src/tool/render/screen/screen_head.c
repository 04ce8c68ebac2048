/* SPDX-License-Identifier: MIT */
/* screen_head.c -- above the table: which process, its verdict, totals, memory, and how
 * the table is made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/render/figure.h"
#include "tool/render/screen/screen_impl.h"
#include "tool/render/wrap.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#define DOT " \xc2\xb7 "
#define GAP "  "

enum {
	VERDICT_LINES = 2,	/* on a small screen, */
	VERDICT_LINES_TALL = 4, /* and on one of at least */
	TALL = 40,
	SPARK = 18, /* columns, */
	SPARK_WIDE = 48,
};

static void
next_line(struct drawing *d)
{
	if (d->row < d->end)
		d->row++;
}

/* ---- which process ---- */

static void
clock_text(uint64_t time_s, char *ret, size_t size)
{
	time_t t = (time_t)time_s;
	struct tm tm;

	ret[0] = '\0';
	if (time_s != 0 && localtime_r(&t, &tm) != NULL)
		strftime(ret, size, "%H:%M:%S", &tm);
}

static void
add_state(struct buf *b, const struct top_view *v, const struct screen_ui *ui)
{
	if (ui->frozen)
		buf_add_str(b, GAP "FROZEN (p goes on)");
	if (v->end[0] != '\0')
		buf_printf(b, GAP "%s", v->end);
	else
		buf_printf(b, GAP "%s %s", v->kind == TOP_REGIONS ? "up" : "recorded for",
			   figure_ms(v->recorded_ms).s);
	if (v->paused && !v->ended)
		buf_add_str(b, ", paused");
	buf_printf(b, GAP "%s", v->exact);
}

static void
title_line(struct drawing *d)
{
	struct pen p = pen_at(d->s, d->row);
	struct buf b = {0};
	char now[16];
	unsigned width;

	clock_text(d->v->time_s, now, sizeof now);
	buf_printf(&b, "seep top  %s", d->v->name);
	if (d->v->pid != 0)
		buf_printf(&b, " (%d)", d->v->pid);
	else if (d->v->processes > 1)
		buf_printf(&b, ", %u processes", d->v->processes);
	width = cells_width(buf_str(&b));
	pen_styled(&p, TERM_BOLD, buf_str(&b));
	buf_clear(&b);
	add_state(&b, d->v, d->ui);
	p.end = d->s->width > strlen(now) + 1
			? d->s->width - (unsigned)strlen(now) - (now[0] != '\0')
			: d->s->width;
	if (p.end > width)
		pen_left(&p, buf_str(&b), p.end - width);
	p.end = d->s->width;
	pen_right(&p, now, p.end > p.col ? p.end - p.col : 0);
	buf_done(&b);
	next_line(d);
}

/* ---- the verdict ---- */

static enum term_style
style_of(enum verdict_word word)
{
	switch (verdict_severity(word)) {
	case VERDICT_SEVERITY_ERROR:
		return TERM_BAD;
	case VERDICT_SEVERITY_WARNING:
		return TERM_WARN;
	case VERDICT_SEVERITY_OK:
		return TERM_GOOD;
	default:
		return TERM_BOLD;
	}
}

/* The word in its colour, and what follows it. */
static void
verdict_line(struct drawing *d, const char *line, size_t n, bool first, bool cut)
{
	size_t word = strcspn(line, " ");
	const char *end = strstr(line, GAP);
	char *text = xmemdup0(line, n);
	struct pen p = pen_at(d->s, d->row);

	if (first && end != NULL && (size_t)(end - line) < n) {
		word = (size_t)(end - line);
		text[word] = '\0';
		pen_styled(&p, style_of(d->v->word), text);
		text[word] = ' ';
		pen_text(&p, text + word);
	} else {
		pen_text(&p, text);
	}
	if (cut && d->s->width > 2) {
		p.col = p.col < p.end - 2 ? p.col : p.end - 2;
		pen_text(&p, " \xe2\x80\xa6");
	}
	free(text);
	next_line(d);
}

static void
verdict_lines(struct drawing *d)
{
	unsigned most = d->s->height >= TALL ? VERDICT_LINES_TALL : VERDICT_LINES, n = 0;
	struct buf b = {0};

	buf_add_str(&b, d->v->verdict);
	wrap_text(&b, 0, d->s->width);
	for (const char *at = buf_str(&b); *at != '\0' && n < most; n++) {
		size_t len = strcspn(at, "\n");
		const char *after = at + len + (at[len] != '\0');

		verdict_line(d, at, len, n == 0, n + 1 == most && *after != '\0');
		at = after;
	}
	buf_done(&b);
}

/* ---- totals ---- */

static void
total_text(struct buf *b, const struct top_view *v)
{
	buf_printf(b, "in %s",
		   figure_things(v->live_blocks, v->var_live_blocks, "block").s);
	buf_printf(b, DOT "peak %s", figure_bytes(v->peak_bytes, 0, false).s);
	buf_printf(b, DOT "%s allocs (%s/s), %s frees", fmt_count(v->allocs).s,
		   fmt_count((uint64_t)(v->allocs_per_s + 0.5)).s, fmt_count(v->frees).s);
}

static void
live_line(struct drawing *d)
{
	const struct top_view *v = d->v;
	unsigned spark = d->wide ? SPARK_WIDE : SPARK;
	struct pen p = pen_at(d->s, d->row);
	struct buf b = {0};

	if (v->kind != TOP_REGIONS) {
		buf_printf(&b, "live %s ",
			   figure_bytes(v->live_bytes, v->var_live_bytes, false).s);
		pen_text(&p, buf_str(&b));
		pen_spark(&p, v->live, v->nseries, spark);
		pen_text(&p, GAP);
	}
	buf_clear(&b);
	if (v->rss_kib > 0) {
		buf_printf(&b, "RSS %s ", fmt_size(v->rss_kib << 10).s);
		pen_text(&p, buf_str(&b));
		if (v->rss != NULL)
			pen_spark(&p, v->rss, v->nseries, spark);
		pen_text(&p, GAP);
	}
	next_line(d);
	if (v->kind != TOP_REGIONS) {
		buf_clear(&b);
		total_text(&b, v);
		p = pen_at(d->s, d->row);
		pen_left(&p, buf_str(&b), d->s->width);
		next_line(d);
	}
	buf_done(&b);
}

/* Resident memory by what it is; the parts add up to it. */
static void
account_line(struct drawing *d)
{
	const struct top_view *v = d->v;
	uint64_t live = v->live_bytes > 0 ? (uint64_t)v->live_bytes >> 10 : 0;
	uint64_t known = v->stack_kib + v->static_kib, heap;
	uint64_t own = v->own_kib, files;
	struct pen p = pen_at(d->s, d->row);
	struct buf b = {0};

	if (v->kind != TOP_LIVE || v->ended || v->anon_kib < known ||
	    v->rss_kib < v->anon_kib)
		return;
	heap = v->anon_kib - known;
	files = v->rss_kib - v->anon_kib;
	own = own < files ? own : files;
	live = live < heap ? live : heap;
	buf_printf(&b, "RSS = live %s + freed or mapped %s + stacks %s",
		   fmt_size(live << 10).s, fmt_size((heap - live) << 10).s,
		   fmt_size(v->stack_kib << 10).s);
	buf_printf(&b, " + static %s + files %s + seep %s",
		   fmt_size(v->static_kib << 10).s, fmt_size((files - own) << 10).s,
		   fmt_size(own << 10).s);
	pen_left(&p, buf_str(&b), d->s->width);
	buf_done(&b);
	next_line(d);
}

/* ---- how the table is made ---- */

static void
children_text(struct buf *b, const struct top_view *v)
{
	enum { LISTED = 3 };

	if (v->children.len == 0)
		return;
	buf_printf(b, "%s%s: ", b->len > 0 ? DOT : "",
		   figure_things((int64_t)v->children.len, 0, "child process").s);
	for (size_t i = 0; i < v->children.len && i < LISTED; i++)
		buf_printf(b, "%s%d", i > 0 ? ", " : "", v->children.data[i]);
	if (v->children.len > LISTED)
		buf_add_str(b, " \xe2\x80\xa6");
}

static void
choice_line(struct drawing *d)
{
	const struct top_view *v = d->v;
	struct pen p = pen_at(d->s, d->row);
	struct buf b = {0}, right = {0};
	unsigned width;

	if (v->mark != NULL)
		buf_printf(&b, "since mark \"%s\" at %s", v->mark,
			   figure_ms(v->mark_ms).s);
	else if (v->marks.len > 0)
		buf_printf(&b, "%s", figure_things((int64_t)v->marks.len, 0, "mark").s);
	if (d->ui->filter[0] != '\0')
		buf_printf(&b, "%sfilter \"%s\"", b.len > 0 ? DOT : "", d->ui->filter);
	children_text(&b, v);
	if (v->period_ms > 1000)
		buf_printf(&b, "%severy %s", b.len > 0 ? DOT : "",
			   figure_ms(v->period_ms).s);
	buf_printf(&right, "sort: %s", screen_sort_names[d->ui->sort]);
	width = cells_width(buf_str(&right));
	p.style = TERM_DIM;
	if (d->s->width > width + 1)
		pen_left(&p, buf_str(&b), d->s->width - width - 1);
	pen_right(&p, buf_str(&right), d->s->width > p.col ? d->s->width - p.col : 0);
	buf_done(&b);
	buf_done(&right);
	next_line(d);
}

void
screen_head(struct drawing *d)
{
	title_line(d);
	verdict_lines(d);
	live_line(d);
	account_line(d);
	choice_line(d);
}
