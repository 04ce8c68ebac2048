/* SPDX-License-Identifier: MIT */
/* peer_text.c -- tables and stacks as jeprof prints them: column by column, blank by
 * blank. */
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
peer_total(struct buf *out, const struct jeprof_stacks *s, const struct peer_unit *u,
	   const char *thread)
{
	if (s->g.unfiltered == 0)
		return;
	if (thread != NULL)
		buf_printf(out, "Total (t%s): ", thread);
	else
		buf_add_str(out, "Total: ");
	peer_figure(out, u, s->g.unfiltered, false);
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
peer_text(struct buf *out, const struct jeprof_stacks *s, const struct peer_unit *u,
	  bool by_cum, int64_t limit)
{
	uint32_t *rank = xcalloc(s->g.nentries, sizeof *rank);
	double sum = 0;

	graph_rank(&s->g, GRAPH_SIGNED | (by_cum ? GRAPH_BY_CUM : 0), rank);
	for (uint32_t i = 0; i + 1 < s->g.nentries && limit != 0; i++, limit--) {
		const struct graph_entry *r = &s->g.entries[rank[i]];
		size_t from = out->len;

		sum += r->flat;
		if (r->flat == 0 && r->cum == 0)
			continue;
		peer_figure(out, u, r->flat, false);
		peer_right(out, from, 8);
		from = out->len;
		peer_percent(out, r->flat, s->g.total);
		peer_right(out, from, 6);
		from = out->len;
		peer_percent(out, sum, s->g.total);
		peer_right(out, from, 6);
		from = out->len;
		peer_figure(out, u, r->cum, false);
		peer_right(out, from, 8);
		from = out->len;
		peer_percent(out, r->cum, s->g.total);
		peer_right(out, from, 6);
		clean_text(out, jeprof_text(s, rank[i]));
		buf_add_char(out, '\n');
	}
	free(rank);
}

/* ---- stacks ---- */

/* The name of a function in a folded stack: nothing in it may end the frame. */
static void
peer_collapsed_name(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out)
{
	const struct jeprof_frames *f = ctx;
	const struct jeprof_sym *y = &f->syms[f->slots[loc] + inl];

	(void)leaf;
	if (y->full == 0)
		buf_printf(out, "%016" PRIx64, f->locs[loc].address);
	else
		clean_text(out, strtab_str(&f->text, y->full));
	for (size_t k = 0; k < out->len; k++) {
		if (out->data[k] == ';')
			out->data[k] = ':';
	}
	if (y != jeprof_function(f, loc))
		buf_add_str(out, "[inline]");
}

void
peer_collapsed(struct buf *out, struct jeprof_frames *f, const double *figures)
{
	struct jeprof_naming how = {.name = peer_collapsed_name, .ctx = f};
	struct jeprof_stacks s;
	VEC(uint32_t) path = {0};

	jeprof_stacks_init(&s, f, figures, &how);
	for (size_t i = 0; i < s.list.len; i++) {
		for (uint32_t n = s.list.data[i].node; n != 0; n = s.g.nodes[n].parent)
			vec_push(&path, s.g.nodes[n].entry);
		while (path.len > 0) {
			buf_add_str(out, jeprof_text(&s, path.data[--path.len]));
			buf_add_char(out, path.len > 0 ? ';' : ' ');
		}
		buf_printf(out, "%.0f\n", trunc(s.list.data[i].value) + 0.0);
	}
	vec_done(&path);
	jeprof_stacks_done(&s);
}
