/* SPDX-License-Identifier: MIT */
/* peer_text.c -- tables and stacks as jeprof prints them: column by column, blank by blank. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/render/figure.h"
#include "tool/util/x.h"

const char *
peer_unit_name(const struct peer_unit *u)
{
	return u->objects ? "objects" : u->bytes ? "B" : "MB";
}

void
peer_figure(struct buf *out, const struct peer_unit *u, double v, bool dot)
{
	if (dot && v == 0)
		buf_add_char(out, '.');
	else if (u->objects || u->bytes)
		buf_printf(out, "%.0f", trunc(v) + 0.0); /* no "-0" */
	else
		buf_printf(out, "%.1f", v / 1048576.0);
}

void
peer_percent(struct buf *out, double v, double total)
{
	if (total != 0)
		buf_printf(out, "%.1f%%", v * 100.0 / total);
	else
		buf_add_str(out, v == 0 ? "nan" : v > 0 ? "+inf" : "-inf");
}

void
peer_total(struct buf *out, const struct peer_stacks *s, const struct peer_unit *u,
	   const char *thread)
{
	if (s->total == 0)
		return;
	if (thread != NULL)
		buf_printf(out, "Total (t%s): ", thread);
	else
		buf_add_str(out, "Total: ");
	peer_figure(out, u, s->total, false);
	buf_printf(out, " %s\n", peer_unit_name(u));
}

/* Pads what was added since `from` on the left. */
static void
peer_right(struct buf *out, size_t from, size_t width)
{
	size_t n = out->len - from, pad = n < width ? width - n : 0;

	buf_room(out, pad);
	memmove(out->data + from + pad, out->data + from, n + 1);
	memset(out->data + from, ' ', pad);
	out->len += pad;
	buf_add_char(out, ' ');
}

void
peer_text(struct buf *out, const struct peer_stacks *s, const struct peer_unit *u,
	  bool by_cum, int64_t limit)
{
	uint32_t *rank = xcalloc(s->rows.len, sizeof *rank);
	double sum = 0;

	peer_rank(s, by_cum, false, rank);
	for (size_t i = 0; i + 1 < s->rows.len && limit != 0; i++, limit--) {
		const struct peer_row *r = &s->rows.data[rank[i]];
		size_t from = out->len;

		sum += r->flat;
		if (r->flat == 0 && r->cum == 0)
			continue;
		peer_figure(out, u, r->flat, false);
		peer_right(out, from, 8);
		from = out->len;
		peer_percent(out, r->flat, s->shown);
		peer_right(out, from, 6);
		from = out->len;
		peer_percent(out, sum, s->shown);
		peer_right(out, from, 6);
		from = out->len;
		peer_figure(out, u, r->cum, false);
		peer_right(out, from, 8);
		from = out->len;
		peer_percent(out, r->cum, s->shown);
		peer_right(out, from, 6);
		clean_text(out, strtab_str(&s->text, r->name));
		buf_add_char(out, '\n');
	}
	free(rank);
}

/* ---- stacks ---- */

/* The name of a function in a folded stack: nothing in it may end the frame. */
static void
peer_collapsed_name(struct buf *out, const struct peer_stacks *s, uint32_t loc,
		    uint32_t i)
{
	const struct peer_loc *l = &s->locs[loc];
	const struct peer_sym *y = &s->syms.data[l->syms + i];
	size_t from = out->len;

	if (y->full == 0)
		buf_printf(out, "%016" PRIx64, l->address);
	else
		clean_text(out, strtab_str(&s->text, y->full));
	for (size_t k = from; k < out->len; k++) {
		if (out->data[k] == ';')
			out->data[k] = ':';
	}
	if (i + 1 < l->nsyms)
		buf_add_str(out, "[inline]");
}

void
peer_collapsed(struct buf *out, const struct peer_stacks *s)
{
	for (size_t i = 0; i < s->stacks.len; i++) {
		const struct peer_stack *k = &s->stacks.data[i];
		bool first = true;

		for (uint32_t f = k->nframes; f-- > 0;) {
			uint32_t loc = s->frames.data[k->frames + f];

			for (uint32_t j = s->locs[loc].nsyms; j-- > 0; first = false) {
				if (!first)
					buf_add_char(out, ';');
				peer_collapsed_name(out, s, loc, j);
			}
		}
		buf_printf(out, " %.0f\n", trunc(k->value) + 0.0);
	}
}
