/* SPDX-License-Identifier: MIT */
/* peer_list.c -- annotated source as jeprof prints it. */
#include <inttypes.h>
#include <string.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/render/figure.h"

enum { PEER_CONTEXT = 5, PEER_LONGEST = 4000 };

static unsigned
peer_indent(const char *text)
{
	unsigned n = 0;

	for (; *text == ' ' || *text == '\t'; text++)
		n += *text == '\t' ? 8 - n % 8 : 1;
	return n;
}

/* Behind the last line with a figure, the function ends at the first brace that is not
 * further in than its beginning. */
static uint32_t
peer_list_end(const struct peer_listing *f, peer_source *source, void *ctx)
{
	const char *text = source(ctx, f->file, f->first);
	unsigned indent = text != NULL ? peer_indent(text) : 0;

	for (uint32_t i = f->last; i < f->last + PEER_LONGEST; i++) {
		text = source(ctx, f->file, i);
		if (text == NULL)
			break;
		if (i > f->first && peer_indent(text) <= indent &&
		    text[strspn(text, " \t")] == '}')
			return i;
	}
	return f->last;
}

static void
peer_list_figure(struct buf *out, const struct peer_unit *u, double v, bool dot)
{
	struct buf b = {0};

	peer_figure(&b, u, v, dot);
	buf_printf(out, "%6s ", buf_str(&b));
	buf_done(&b);
}

/* As clean_text, but with the tabs of the source. */
static void
peer_list_text(struct buf *out, const char *text)
{
	size_t from = 0;

	for (; text[from] == '\t' || text[from] == ' '; from++)
		buf_add_char(out, text[from]);
	clean_text(out, text + from);
}

void
peer_list(struct buf *out, const struct peer_listing *f, const struct peer_line *lines,
	  size_t n, const struct peer_unit *u, peer_source *source, void *ctx)
{
	uint32_t end = peer_list_end(f, source, ctx);
	uint32_t i = f->first > PEER_CONTEXT ? f->first - PEER_CONTEXT : 1;
	size_t at = 0;

	buf_add_str(out, "ROUTINE ====================== ");
	clean_text(out, f->function);
	buf_add_str(out, " in ");
	clean_text(out, f->file);
	buf_add_char(out, '\n');
	peer_list_figure(out, u, f->flat, false);
	peer_list_figure(out, u, f->cum, false);
	buf_printf(out, "Total %s (flat / cumulative)\n", peer_unit_name(u));
	for (; i <= (uint64_t)end + PEER_CONTEXT; i++) {
		const char *text = source(ctx, f->file, i);
		double flat = 0, cum = 0;

		while (at < n && lines[at].line < i)
			at++;
		for (; at < n && lines[at].line == i; at++) {
			flat += lines[at].flat;
			cum += lines[at].cum;
		}
		if (text == NULL && (i > end || i > (uint64_t)f->first + PEER_LONGEST))
			break;
		if (i == f->first)
			buf_add_str(out, "---\n");
		peer_list_figure(out, u, flat, true);
		peer_list_figure(out, u, cum, true);
		buf_printf(out, "%4" PRIu32 ": ", i);
		peer_list_text(out, text != NULL ? text : "");
		buf_add_char(out, '\n');
		if (i == end)
			buf_add_str(out, "---\n");
	}
}
