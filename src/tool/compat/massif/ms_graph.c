/* SPDX-License-Identifier: MIT */
/* ms_graph.c -- see ms_graph.h.
 *
 * A snapshot is a bar in the column of its time: `#` the peak, `@` one with stacks, `:`
 * any other; of several in one column the higher rank shows. Columns between two bars
 * have a line at the height of the earlier. A row is full when the snapshot reaches its
 * upper end. All sums are doubles, as they are in ms_print, so that rounding is the
 * same. */
#include "tool/compat/massif/ms_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/buf.h"
#include "tool/util/x.h"

enum { LABEL_COLUMNS = 5 };

struct label {
	char text[32];
	const char *unit;
};

/* Cells of the graph without its axes, rows from the bottom, counted from 1. */
struct canvas {
	unsigned width, height;
	char *cells;
};

static char *
cell(const struct canvas *c, unsigned x, unsigned y)
{
	return &c->cells[(size_t)(y - 1) * c->width + x - 1];
}

/* ---- labels ---- */

static void
label_text(struct label *l, double v, double scaled)
{
	if (v < 1000)
		snprintf(l->text, sizeof l->text, "%5d", (int)v);
	else if (scaled < 10)
		snprintf(l->text, sizeof l->text, "%5.3f", scaled);
	else if (scaled < 100)
		snprintf(l->text, sizeof l->text, "%5.2f", scaled);
	else
		snprintf(l->text, sizeof l->text, "%5.1f", scaled);
}

/* Units of 1024 each, from 1000 on. */
static struct label
label_binary(double v, const char *const units[9])
{
	struct label l = {.unit = units[0]};
	double scaled = v;

	for (unsigned i = 1; i < 9 && scaled >= 1000; i++) {
		scaled /= 1024;
		l.unit = units[i];
	}
	label_text(&l, v, scaled);
	return l;
}

static struct label
label_ms(double v)
{
	struct label l = {.unit = "ms"};
	double scaled = v;

	if (scaled >= 1000) {
		l.unit = "s";
		scaled /= 1000;
	}
	if (scaled >= 3600) {
		l.unit = "h";
		scaled /= 3600;
	}
	label_text(&l, v, scaled);
	return l;
}

static struct label
label_bytes(double v)
{
	static const char *const units[] = {"B",  "KB", "MB", "GB", "TB",
					    "PB", "EB", "ZB", "YB"};

	return label_binary(v, units);
}

static bool
label_time(const char *unit, double v, struct label *ret)
{
	static const char *const units[] = {"i",  "ki", "Mi", "Gi", "Ti",
					    "Pi", "Ei", "Zi", "Yi"};

	if (strcmp(unit, "i") == 0)
		*ret = label_binary(v, units);
	else if (strcmp(unit, "ms") == 0)
		*ret = label_ms(v);
	else if (strcmp(unit, "s") == 0)
		*ret = label_ms(v * 1000);
	else if (strcmp(unit, "B") == 0)
		*ret = label_bytes(v);
	else
		return false;
	return true;
}

/* ---- drawing ---- */

static unsigned
rank(char c)
{
	return c == '#' ? 3 : c == '@' ? 2 : c == ':' ? 1 : 0;
}

/* Column of a time; one behind the last when it lies behind the end. */
static unsigned
column(const struct canvas *c, double time, double end)
{
	double at = time / end * c->width;

	if (time == end)
		return c->width;
	return at < c->width ? (unsigned)at + 1 : c->width + 1;
}

/* Draws the bar of a snapshot; the highest row that it fills. */
static unsigned
draw_bar(const struct canvas *c, unsigned x, char sign, double total, double row)
{
	unsigned top = 0;

	for (unsigned y = 1; y <= c->height && total >= y * row; y++) {
		if (x <= c->width && rank(sign) >= rank(*cell(c, x, y)))
			*cell(c, x, y) = sign;
		top = y;
	}
	return top;
}

static void
draw_all(const struct canvas *c, const struct ms_graph *g, double end, double peak)
{
	unsigned x = 0, top = 0;
	char sign = ':';

	for (uint32_t i = 0; i < g->nshots; i++) {
		const struct ms_shot *s = &g->shots[i];
		unsigned before = x;

		x = column(c, s->time, end);
		for (unsigned k = before + 1; top > 0 && k < x; k++)
			*cell(c, k, top) = sign;
		sign = s->peak ? '#' : s->tree ? '@' : ':';
		top = draw_bar(c, x, sign, (double)s->total, peak / c->height);
	}
}

static void
print_spaces(struct buf *out, unsigned n)
{
	while (n-- > 0)
		buf_add_char(out, ' ');
}

static void
print(struct buf *out, const struct canvas *c, const struct label *bytes,
      const struct label *time)
{
	buf_printf(out, "    %2s\n", bytes->unit);
	for (unsigned y = c->height; y > 0; y--) {
		buf_add_str(out, y == c->height ? bytes->text : "     ");
		buf_add_char(out, y == c->height ? '^' : '|');
		buf_add(out, cell(c, 1, y), c->width);
		buf_add_char(out, '\n');
	}
	buf_add_str(out, "   0 +");
	for (unsigned x = 1; x < c->width; x++)
		buf_add_char(out, '-');
	buf_printf(out, ">%s\n     0", time->unit);
	print_spaces(out, c->width > LABEL_COLUMNS ? c->width - LABEL_COLUMNS : 0);
	buf_printf(out, "%5s\n", time->text);
}

bool
ms_graph_draw(struct buf *out, const struct ms_graph *g)
{
	struct canvas c = {.width = g->width, .height = g->height};
	double end = g->shots[g->nshots - 1].time, peak = 0;
	struct label bytes, time;

	for (uint32_t i = 0; i < g->nshots; i++) {
		if ((double)g->shots[i].total > peak)
			peak = (double)g->shots[i].total;
	}
	/* An axis is never of length 0. */
	peak = peak == 0 ? 1 : peak;
	end = end == 0 ? 1 : end;
	bytes = label_bytes(peak);
	if (!label_time(g->unit, end, &time))
		return false;
	c.cells = xcalloc(c.width, c.height);
	memset(c.cells, ' ', (size_t)c.width * c.height);
	draw_all(&c, g, end, peak);
	print(out, &c, &bytes, &time);
	free(c.cells);
	return true;
}
