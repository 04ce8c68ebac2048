/* SPDX-License-Identifier: MIT */
/* view_plot_text.c -- live bytes over time as a plot of characters.
 *
 * The largest places are stacked, the rest above them. Each character has 2 by 4 dots
 * (braille); where there are no colours to tell the places apart, each has its own
 * pattern of dots. In ASCII a character is the number of the place. RSS is a line, if it
 * fits on the same scale. Figures in the legend are those of the points, which JSON
 * has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/views/view_plot.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#define VIEW_MS UINT64_C(1000000) /* ns */

enum {
	PLOT_ALL = PLOT_LAYERS + 1,
	PLOT_RSS = PLOT_ALL, /* as if it were a layer; PLOT_ALL + 1 = nothing */
	PLOT_COLUMNS = 80,   /* in a pipe */
	PLOT_COLUMNS_LEAST = 40,
	PLOT_COLUMNS_MOST = 250,
	PLOT_ROWS = 12,
	PLOT_LEFT = 12, /* columns of the scale, with the axis, at least */
	PLOT_EDGE = 0x80,
	PLOT_MARKS = 26,
	PLOT_FIGURE = 11,
};

/* Of 8 dots in a character, by layer: rows from above, left and right. */
static const unsigned char patterns[PLOT_ALL + 1] = {0xff, 0x55, 0x33, 0x99,
						     0x21, 0x10, 0x00};

/* Bits of braille for the dot at (column, row) in a character. */
static const unsigned char dots[2][4] = {{0x01, 0x02, 0x04, 0x40},
					 {0x08, 0x10, 0x20, 0x80}};

static const enum term_style styles[PLOT_ALL + 1] = {
	TERM_LAYER_1, TERM_LAYER_2, TERM_LAYER_3, TERM_LAYER_4,
	TERM_LAYER_5, TERM_DIM,	    TERM_PLAIN};

struct canvas {
	const struct plot *pl;
	struct term term;
	bool ascii;
	unsigned columns, rows; /* characters */
	unsigned wide, high;	/* dots */
	/* layer of each dot from below, + 1; 0 = empty; with PLOT_EDGE the uppermost */
	unsigned char *grid;
	unsigned left, figure; /* columns of the scale, and of figures in the legend */
};

/* ---- the grid ---- */

/* The highest of the points that a column of dots stands for, or the last one before. */
static uint32_t
point_at(const struct canvas *c, unsigned x, uint32_t *from)
{
	const struct series_axis *a = &c->pl->o.axis;
	uint64_t length = a->ms[a->n - 1] - a->ms[0];
	uint64_t upto = a->ms[0] + length * (x + 1) / c->wide;
	uint32_t best = *from;
	bool any = false;

	while (*from + 1 < a->n && (a->ms[*from + 1] < upto || x + 1 == c->wide)) {
		++*from;
		if (!any || plot_sum(c->pl, *from) > plot_sum(c->pl, best))
			best = *from;
		any = true;
	}
	return best;
}

static unsigned
height_of(const struct canvas *c, int64_t bytes)
{
	double h = (double)bytes / (double)c->pl->top * c->high;

	if (h > c->high)
		return c->high;
	return bytes > 0 && h < 1 ? 1 : (unsigned)(h + 0.5);
}

static void
draw_column(struct canvas *c, unsigned x, uint32_t point)
{
	int64_t sum = 0;
	unsigned y = 0;

	for (uint32_t i = 0; i <= c->pl->layers; i++) {
		unsigned h;

		sum += plot_figure(c->pl, i, point);
		for (h = height_of(c, sum); y < h; y++)
			c->grid[y * c->wide + x] =
				(unsigned char)(i < c->pl->layers ? i : PLOT_LAYERS) + 1;
	}
	if (y > 0)
		c->grid[(y - 1) * c->wide + x] |= PLOT_EDGE;
	if (c->pl->rss && c->pl->o.rss_kib[point] > 0) {
		y = height_of(c, (int64_t)(c->pl->o.rss_kib[point] << 10));
		if (y > 0 && c->grid[(y - 1) * c->wide + x] == 0)
			c->grid[(y - 1) * c->wide + x] = PLOT_RSS + 1;
	}
}

static void
draw(struct canvas *c)
{
	uint32_t from = 0;

	c->grid = xcalloc((size_t)c->wide * c->high, 1);
	for (unsigned x = 0; x < c->wide; x++) {
		/* The first column begins with the first point. */
		uint32_t point = point_at(c, x, &from);

		draw_column(c, x, point);
	}
}

/* ---- characters ---- */

static void
add_styled(struct buf *out, const struct canvas *c, enum term_style style,
	   const char *text, size_t n)
{
	bool plain = style == TERM_PLAIN;

	buf_add_str(out, plain ? "" : term_on(&c->term, style));
	buf_add(out, text, n);
	buf_add_str(out, plain ? "" : term_off(&c->term));
}

/* A character of braille, in three bytes. */
static void
add_braille(struct buf *out, const struct canvas *c, unsigned char set, unsigned layer)
{
	char text[] = {(char)0xe2, (char)(0xa0 | set >> 6), (char)(0x80 | (set & 0x3f))};

	if (set == 0)
		buf_add_char(out, ' ');
	else
		add_styled(out, c, styles[layer], text, sizeof text);
}

/* Is the dot drawn? Without colours a layer is its pattern, and the uppermost dot. */
static bool
is_drawn(const struct canvas *c, unsigned layer, unsigned dx, unsigned dy)
{
	return c->term.colour || layer >= PLOT_RSS ||
	       (patterns[layer] >> (dy * 2 + dx) & 1) != 0;
}

static void
add_dots(struct buf *out, const struct canvas *c, unsigned column, unsigned row)
{
	unsigned count[PLOT_ALL + 1] = {0}, most = PLOT_RSS;
	unsigned char set = 0;

	for (unsigned dx = 0; dx < 2; dx++) {
		for (unsigned dy = 0; dy < 4; dy++) {
			unsigned y = c->high - 1 - (row * 4 + dy);
			unsigned dot = c->grid[y * c->wide + column * 2 + dx];
			unsigned layer = (dot & ~(unsigned)PLOT_EDGE) - 1;

			if (dot == 0 ||
			    ((dot & PLOT_EDGE) == 0 && !is_drawn(c, layer, dx, dy)))
				continue;
			set |= dots[dx][dy];
			if (++count[layer] > count[most])
				most = layer;
		}
	}
	add_braille(out, c, set, most);
}

static void
add_letter(struct buf *out, const struct canvas *c, unsigned column, unsigned row)
{
	unsigned layer =
		c->grid[(c->high - 1 - row) * c->wide + column] & ~(unsigned)PLOT_EDGE;
	char letter = layer == 0		 ? ' '
		      : layer == PLOT_RSS + 1	 ? '~'
		      : layer == PLOT_LAYERS + 1 ? '.'
						 : (char)('0' + layer);

	add_styled(out, c, layer == 0 ? TERM_PLAIN : styles[layer - 1], &letter, 1);
}

static void
row_end(struct buf *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add_char(out, '\n');
}

static void
add_amount(struct buf *out, const struct canvas *c, int64_t bytes, size_t width)
{
	figure_right(out, plot_amount(c->pl, bytes).s, width);
}

static void
add_rows(struct buf *out, const struct canvas *c)
{
	for (unsigned row = 0; row < c->rows; row++) {
		size_t from = out->len;

		if (row == 0)
			add_amount(out, c, c->pl->top, c->left - 2);
		else if (row == c->rows / 2)
			add_amount(out, c, c->pl->top * (c->rows - row) / c->rows,
				   c->left - 2);
		figure_pad(out, from, c->left - 2, 1);
		buf_add_str(out, c->ascii ? "|" : "\xe2\x94\x82");
		for (unsigned column = 0; column < c->columns; column++)
			(c->ascii ? add_letter : add_dots)(out, c, column, row);
		row_end(out);
	}
}

/* The axis, and its times at both ends and in the middle. */
static void
add_axis(struct buf *out, const struct canvas *c)
{
	const struct series_axis *a = &c->pl->o.axis;
	uint64_t first = a->ms[0], last = a->ms[a->n - 1];
	size_t from = out->len;

	figure_right(out, "0", c->left - 2);
	figure_pad(out, from, c->left - 2, 1);
	buf_add_str(out, c->ascii ? "+" : "\xe2\x94\x94");
	for (unsigned i = 0; i < c->columns; i++)
		buf_add_str(out, c->ascii ? "-" : "\xe2\x94\x80");
	buf_add_char(out, '\n');
	from = out->len;
	figure_pad(out, from, c->left, 0);
	buf_add_str(out, fmt_duration(first * VIEW_MS).s);
	figure_pad(out, from, c->left + c->columns / 2 - 3, 1);
	buf_add_str(out, fmt_duration((first + (last - first) / 2) * VIEW_MS).s);
	figure_right(out, fmt_duration(last * VIEW_MS).s,
		     c->left + c->columns - figure_width(buf_str(out) + from));
	buf_add_char(out, '\n');
}

/* ---- the legend ---- */

static unsigned
column_of(const struct canvas *c, uint64_t ms)
{
	const struct series_axis *a = &c->pl->o.axis;
	uint64_t first = a->ms[0], length = a->ms[a->n - 1] - first;
	uint64_t x = ms > first && length > 0 ? (ms - first) * c->columns / length : 0;

	return x < c->columns ? (unsigned)x : c->columns - 1;
}

/* Letters below the axis. */
static void
add_mark_letters(struct buf *out, const struct canvas *c, const struct plot_mark *marks,
		 uint32_t n)
{
	char line[PLOT_COLUMNS_MOST + 1];

	memset(line, ' ', sizeof line);
	line[c->columns] = '\0';
	for (uint32_t i = n; i-- > 0;)
		line[column_of(c, marks[i].ms)] = (char)('a' + i);
	figure_pad(out, out->len, c->left, 0);
	buf_add_str(out, line);
	row_end(out);
}

static void
add_sample(struct buf *out, const struct canvas *c, unsigned layer)
{
	char letter[] = {layer == PLOT_RSS	? '~'
			 : layer == PLOT_LAYERS ? '.'
						: (char)('1' + layer),
			 ' '};
	unsigned char set = 0;

	buf_add_str(out, "  ");
	if (c->ascii) {
		add_styled(out, c, styles[layer], letter, sizeof letter);
		return;
	}
	for (unsigned dx = 0; dx < 2; dx++) {
		for (unsigned dy = 0; dy < 4; dy++)
			set |= layer == PLOT_RSS	    ? (dy == 0 ? dots[dx][dy] : 0)
			       : is_drawn(c, layer, dx, dy) ? dots[dx][dy]
							    : 0;
	}
	add_braille(out, c, set, layer);
	add_braille(out, c, set, layer);
}

static void
add_figures(struct buf *out, const struct canvas *c, const int64_t *figures)
{
	int64_t highest = 0, last = figures[c->pl->o.axis.n - 1];

	for (uint32_t k = 0; k < c->pl->o.axis.n; k++)
		highest = figures[k] > highest ? figures[k] : highest;
	add_amount(out, c, highest, c->figure);
	if (last == PROF_UNKNOWN)
		figure_right(out, "-", c->figure);
	else
		add_amount(out, c, last > 0 ? last : 0, c->figure);
	buf_add_str(out, "  ");
}

static void
add_legend(struct buf *out, const struct canvas *c)
{
	const struct overtime *o = &c->pl->o;
	size_t from = out->len;

	figure_pad(out, from, 4, 0);
	figure_right(out, "highest", c->figure);
	figure_right(out, "last", c->figure);
	buf_add_char(out, '\n');
	for (uint32_t i = 0; i < c->pl->layers; i++) {
		from = out->len;
		add_sample(out, c, i);
		add_figures(out, c, o->rows[i].live);
		view_name(&c->pl->v, out, from, o->rows[i].entry);
		buf_add_char(out, '\n');
	}
	if (c->pl->rest) {
		add_sample(out, c, PLOT_LAYERS);
		add_figures(out, c, c->pl->others);
		buf_printf(out, "other (%s)\n",
			   figure_things(o->nrows - c->pl->layers, 0, "place").s);
	}
	buf_add_str(out, "    ");
	add_figures(out, c, o->live);
	buf_add_str(out, "total\n");
}

static void
add_rss(struct buf *out, const struct canvas *c)
{
	if (!c->pl->has_rss)
		return;
	if (c->pl->rss)
		add_sample(out, c, PLOT_RSS);
	else
		buf_add_str(out, "    ");
	add_figures(out, c, c->pl->rss_bytes);
	buf_add_str(out, c->pl->rss ? "RSS\n" : "RSS, too high to be drawn\n");
}

static void
add_marks(struct buf *out, const struct canvas *c, const struct plot_mark *marks,
	  uint32_t n, uint32_t all)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t live = marks[i].m->live_bytes;
		size_t from = out->len;

		buf_printf(out, "  %c ", (char)('a' + i));
		figure_right(out, fmt_duration(marks[i].ms * VIEW_MS).s, c->figure);
		add_amount(out, c, live > 0 ? live : 0, c->figure);
		buf_add_str(out, "  @");
		view_words(&c->pl->v, out, from, prof_text(c->pl->v.p, marks[i].m->name));
		buf_add_char(out, '\n');
	}
	if (all > n)
		buf_printf(out, "# %s more (--json)\n",
			   figure_things(all - n, 0, "mark").s);
}

/* ---- all of it ---- */

/* The widest figure decides. */
static void
lay_out(struct canvas *c)
{
	char whole[32];
	int n = snprintf(whole, sizeof whole, "%lld", (long long)c->pl->top);
	unsigned digits = c->pl->v.o->bytes ? (unsigned)n : 0;

	c->left = digits + 3 > PLOT_LEFT ? digits + 3 : PLOT_LEFT;
	c->figure = digits + 2 > PLOT_FIGURE ? digits + 2 : PLOT_FIGURE;
	if (c->term.columns < PLOT_COLUMNS_LEAST)
		c->term.columns = PLOT_COLUMNS_LEAST;
	c->columns = c->term.columns - c->left;
	c->wide = c->columns * (c->ascii ? 1 : 2);
}

static void
prepare(struct canvas *c)
{
	const struct view_opts *o = c->pl->v.o;

	if (o->term != NULL)
		c->term = *o->term;
	c->ascii = o->ascii;
	if (c->term.columns == 0)
		c->term.columns = PLOT_COLUMNS;
	if (c->term.columns > PLOT_COLUMNS_MOST)
		c->term.columns = PLOT_COLUMNS_MOST;
	c->rows = PLOT_ROWS;
	c->high = c->rows * (c->ascii ? 1 : 4);
	lay_out(c);
}

bool
plot_text(struct buf *out, const struct view *v)
{
	struct plot pl;
	struct canvas c = {.pl = &pl};
	struct view_opts opts = *v->o;
	struct plot_mark *marks;
	uint32_t all, n;

	plot_init(&pl, v);
	if (!plot_has_points(&pl)) {
		plot_done(&pl);
		return false;
	}
	prepare(&c);
	opts.term = &c.term; /* names are cut in a pipe, too */
	pl.v.o = &opts;
	draw(&c);
	add_rows(out, &c);
	add_axis(out, &c);
	all = plot_marks(&pl, &marks);
	n = all < PLOT_MARKS ? all : PLOT_MARKS;
	if (n > 0)
		add_mark_letters(out, &c, marks, n);
	add_legend(out, &c);
	add_rss(out, &c);
	add_marks(out, &c, marks, n, all);
	if (pl.o.unknown > 0)
		buf_printf(out,
			   "# at %s some place's figure is not known: it found no room\n",
			   figure_things(pl.o.unknown, 0, "point").s);
	buf_add_char(out, '\n');
	free(marks);
	free(c.grid);
	plot_done(&pl);
	return true;
}
