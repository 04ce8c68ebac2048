/* SPDX-License-Identifier: MIT */
/* screen_cells.c -- see screen_cells.h. */
#include "tool/render/screen/screen_cells.h"

#include <string.h>

#include "shared/compiler.h"
#include "tool/util/clean.h"
#include "tool/util/x.h"

#define MORE "\xe2\x80\xa6"

enum { BAR = 0x2581 }; /* the lowest of eight */

void
cells_init(struct cells *s, unsigned width, unsigned height)
{
	s->width = width;
	s->height = height;
	s->at = xcalloc((size_t)width * height, sizeof *s->at);
	for (size_t i = 0; i < (size_t)width * height; i++)
		s->at[i].c = ' ';
}

void
cells_done(struct cells *s)
{
	free(s->at);
	*s = (struct cells){0};
}

/* ---- characters ---- */

/* East Asian characters and pictures that terminals draw in two columns. */
static bool
is_wide(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0x33ff},
		{0x3400, 0x4dbf},   {0x4e00, 0x9fff},	{0xa000, 0xa4cf},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},	{0xfe30, 0xfe6f},
		{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x1f300, 0x1f64f},
		{0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	};

	for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
		if (c >= wide[i].first && c <= wide[i].last)
			return true;
	}
	return false;
}

/* Marks that are drawn over the character before them. */
static bool
is_mark(uint32_t c)
{
	return (c >= 0x300 && c <= 0x36f) || (c >= 0x483 && c <= 0x489) ||
	       (c >= 0x591 && c <= 0x5bd) || (c >= 0x64b && c <= 0x65f) ||
	       (c >= 0x1ab0 && c <= 0x1aff) || (c >= 0x1dc0 && c <= 0x1dff) ||
	       (c >= 0x20d0 && c <= 0x20ff) || (c >= 0xfe00 && c <= 0xfe0f) ||
	       (c >= 0xfe20 && c <= 0xfe2f) || (c >= 0xe0100 && c <= 0xe01ef);
}

unsigned
cells_columns(uint32_t c)
{
	if (clean_harmful(c) || is_mark(c))
		return 0;
	return is_wide(c) ? 2 : 1;
}

/* The next character of a text as it is shown. */
static uint32_t
next_char(const char **at, unsigned *ret_columns)
{
	unsigned bytes = 0;
	uint32_t c = clean_decode((const unsigned char *)*at, strlen(*at), &bytes);

	if (bytes == 0) {
		bytes = 1;
		c = '?';
	}
	*at += bytes;
	*ret_columns = cells_columns(c);
	if (*ret_columns == 0) {
		*ret_columns = 1;
		c = '?';
	}
	return c;
}

unsigned
cells_width(const char *text)
{
	unsigned width = 0, columns;

	while (*text != '\0') {
		next_char(&text, &columns);
		width += columns;
	}
	return width;
}

/* ---- the pen ---- */

struct pen
pen_at(struct cells *s, unsigned row)
{
	return (struct pen){.s = s, .row = row, .end = s->width};
}

static void
put(struct pen *p, uint32_t c, unsigned columns)
{
	struct cell *at;

	if (p->row >= p->s->height || p->col + columns > p->end ||
	    p->col + columns > p->s->width) {
		p->col = p->end;
		return;
	}
	at = &p->s->at[(size_t)p->row * p->s->width + p->col];
	for (unsigned i = 0; i < columns; i++)
		at[i] = (struct cell){.c = i == 0 ? c : 0,
				      .style = (uint8_t)p->style,
				      .reversed = p->reversed};
	p->col += columns;
}

void
pen_text(struct pen *p, const char *text)
{
	unsigned columns;

	while (*text != '\0' && p->col < p->end) {
		uint32_t c = next_char(&text, &columns);

		put(p, c, columns);
	}
}

void
pen_styled(struct pen *p, enum term_style style, const char *text)
{
	enum term_style was = p->style;

	p->style = style;
	pen_text(p, text);
	p->style = was;
}

void
pen_to(struct pen *p, unsigned col)
{
	while (p->col < col && p->col < p->end)
		put(p, ' ', 1);
}

void
pen_fill(struct pen *p, uint32_t c)
{
	while (p->col < p->end)
		put(p, c, 1);
}

void
pen_left(struct pen *p, const char *text, unsigned columns)
{
	unsigned was = p->end, to = p->col + columns < was ? p->col + columns : was;

	p->end = to;
	if (to > p->col && cells_width(text) > to - p->col) {
		p->end = to - 1;
		pen_text(p, text);
		p->end = to;
		pen_to(p, to - 1);
		pen_text(p, MORE);
	} else {
		pen_text(p, text);
	}
	pen_to(p, to);
	p->end = was;
}

void
pen_right(struct pen *p, const char *text, unsigned columns)
{
	unsigned width = cells_width(text);

	if (width < columns)
		pen_to(p, p->col + columns - width);
	pen_left(p, text, width < columns ? width : columns);
}

void
pen_spark(struct pen *p, const int64_t *values, unsigned n, unsigned columns)
{
	unsigned shown = n < columns ? n : columns;
	int64_t most = 0;

	for (unsigned i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	for (unsigned i = 0; i < shown; i++) {
		/* of more values than columns, evenly; always the last one */
		int64_t x = values[shown == n ? i : (uint64_t)(i + 1) * n / shown - 1];
		double part = most > 0 && x > 0 ? (double)x / (double)most : 0;
		unsigned eighths = (unsigned)(part * 8 + 0.5);

		put(p, BAR + (eighths > 0 ? eighths - 1 : 0), 1);
	}
}

/* ---- all of it ---- */

static char
ascii_of(uint32_t c)
{
	static const struct {
		uint32_t c;
		char ascii;
	} known[] = {
		{0x25cf, '*'}, {0x25d0, '+'}, {0x25cb, 'o'}, {0x2500, '-'}, {0x2026, '.'},
		{0xb1, '~'},   {0xb7, '.'},   {0x2190, '<'}, {0x2212, '-'}, {0xb5, 'u'},
		{0xd7, 'x'},   {0x2013, '-'}, {0x2192, '>'}, {0x25b8, '>'},
	};

	if (c < 0x80)
		return (char)c;
	if (c >= BAR && c < BAR + 8)
		return "_.,-=+*#"[c - BAR];
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].c == c)
			return known[i].ascii;
	}
	return '?';
}

void
cells_to_ascii(struct cells *s)
{
	for (size_t i = 0; i < (size_t)s->width * s->height; i++)
		s->at[i].c = s->at[i].c == 0 ? '?' : (uint32_t)ascii_of(s->at[i].c);
}

static void
add_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(out, (char)c);
		return;
	}
	if (c >= 0x10000) {
		buf_add_char(out, (char)(0xf0 | c >> 18));
		buf_add_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		buf_add_char(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else
		buf_add_char(out, (char)(0xc0 | c >> 6));
	buf_add_char(out, (char)(0x80 | (c & 0x3f)));
}

void
cells_piece(struct buf *out, const struct cells *s, unsigned row, unsigned from,
	    unsigned to)
{
	const struct cell *at = &s->at[(size_t)row * s->width];

	for (unsigned i = from; i < to; i++) {
		if (at[i].c != 0)
			add_utf8(out, at[i].c);
	}
}

unsigned
cells_used(const struct cells *s, unsigned row)
{
	const struct cell *at = &s->at[(size_t)row * s->width];
	unsigned n = s->width;

	while (n > 0 && at[n - 1].c == ' ')
		n--;
	return n;
}

void
cells_text(struct buf *out, const struct cells *s)
{
	for (unsigned row = 0; row < s->height; row++) {
		cells_piece(out, s, row, 0, cells_used(s, row));
		buf_add_char(out, '\n');
	}
}
