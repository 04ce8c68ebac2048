/* SPDX-License-Identifier: MIT */
/* diff_table.c -- the places of a comparison as a table: which are listed, and which are
 * folded.
 *
 * A place is its function and the caller; where two listed places read the same, as many
 * more callers as it takes. Before and after are in one unit, growth is in its own, so
 * that a small change of something large shows. Where a row is wider than the terminal,
 * its place has a line of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/diff/diff_page.h"
#include "tool/render/figure.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

/* ---- places ---- */

/* The stack of a place, `frames` of it, innermost first. Returns how many there were to
 * show. */
static unsigned
diff_place_text(const struct diff_page *g, const struct diff_place *x, unsigned frames,
		struct buf *out)
{
	unsigned side = x->there[DIFF_NEW] ? DIFF_NEW : DIFF_OLD, n = 0;
	struct skip_pos pos;

	if (x->node[side] == 0) {
		buf_add_str(out, "(no stack)");
		return 1;
	}
	pos = skip_first(g->o->skip[side], x->node[side]);
	do {
		if (n > 0)
			buf_add_str(out, DIFF_FROM);
		diff_frame_text(out, g->o->p[side], pos);
		n++;
	} while (n < frames && skip_next(g->o->skip[side], &pos));
	if (x->kept != NULL)
		buf_printf(out, " (libc keeps it: %s)", x->kept);
	return n;
}

static void
diff_row_place(struct diff_page *g, struct diff_row *r)
{
	struct buf text = {0};

	if (diff_place_text(g, r->x, r->frames, &text) < r->frames)
		r->frames = UINT32_MAX; /* the whole stack is shown */
	free(r->place);
	r->place = buf_take(&text);
}

/* Adds callers to places that read the same, until they do not or there are no more. */
static void
diff_tell_apart(struct diff_page *g)
{
	for (unsigned round = 2; round < g->o->frames; round++) {
		struct strtab texts = {0};
		VEC(uint32_t) seen = {0};
		bool again = false;

		for (size_t i = 0; i < g->rows.len; i++) {
			uint32_t id = strtab_add(&texts, g->rows.data[i].place);

			while (seen.len <= id)
				vec_push(&seen, 0);
			seen.data[id]++;
		}
		for (size_t i = 0; i < g->rows.len; i++) {
			struct diff_row *r = &g->rows.data[i];

			if (seen.data[strtab_add(&texts, r->place)] < 2 ||
			    r->frames == UINT32_MAX)
				continue;
			r->frames++;
			diff_row_place(g, r);
			again = true;
		}
		strtab_done(&texts);
		vec_done(&seen);
		if (!again)
			return;
	}
}

/* ---- rows ---- */

static bool
diff_unchanged(const struct diff_place *x)
{
	return x->value[DIFF_OLD] == x->value[DIFF_NEW] &&
	       x->beside[DIFF_OLD] == x->beside[DIFF_NEW];
}

static uint64_t
diff_place_size(const struct diff_place *x)
{
	return fmt_abs(diff_less(x->value[DIFF_NEW], x->value[DIFF_OLD]));
}

static enum diff_fold
diff_fold(const struct diff_page *g, const struct diff_place *x, size_t listed)
{
	size_t rows = g->o->rows != 0 ? g->o->rows : DIFF_ROWS;
	bool lost = x->mark == DIFF_LEAK;

	if (g->o->all)
		return g->o->rows == 0 || listed < rows ? DIFF_LIST : DIFF_FOLD_SMALL;
	if (!lost && diff_unchanged(x))
		return DIFF_FOLD_SAME;
	if (x->noise)
		return DIFF_FOLD_NOISE;
	if (lost && g->o->rows == 0 && g->d->answer.word == VERDICT_LEAK_MINOR)
		rows = DIFF_MINOR_ROWS;
	if (listed >= rows)
		return DIFF_FOLD_SMALL;
	/* Ranked, first what is lost: when the largest is small, all are, and the largest
	 * of them are listed. */
	return g->d->in_bytes && g->o->rows == 0 && listed > 0 &&
			       diff_place_size(x) < DIFF_SMALL_BYTES &&
			       g->most >= DIFF_SMALL_BYTES
		       ? DIFF_FOLD_SMALL
		       : DIFF_LIST;
}

static void
diff_fill_row(struct diff_page *g, struct diff_row *r)
{
	const struct diff_place *x = r->x;
	bool plain = g->o->bytes || !g->d->in_bytes;

	r->growth = diff_change(diff_less(x->value[DIFF_NEW], x->value[DIFF_OLD]), x->var,
				plain, DIFF_NO_UNIT);
	r->before = plain ? diff_exactly(x->value[DIFF_OLD])
			  : diff_in_unit((double)x->value[DIFF_OLD], g->unit, 0);
	r->after = plain ? diff_exactly(x->value[DIFF_NEW])
			 : diff_in_unit((double)x->value[DIFF_NEW], g->unit, 0);
	r->beside =
		g->d->has_blocks
			? diff_change(diff_less(x->beside[DIFF_NEW], x->beside[DIFF_OLD]),
				      x->var_beside, g->d->in_bytes || g->o->bytes,
				      DIFF_NO_UNIT)
			: xstrdup("");
	r->freed =
		g->freed
			? xstrdup(fmt_percent(x->frees < x->allocs ? x->frees : x->allocs,
					      x->allocs)
					  .s)
			: xstrdup("");
}

void
diff_choose_rows(struct diff_page *g, struct diff_folded folded[DIFF_FOLDS])
{
	double most = 0;

	for (uint32_t i = 0; i < g->d->nplaces; i++) {
		const struct diff_place *x = &g->d->places[i];
		enum diff_fold fold = diff_fold(g, x, g->rows.len);
		uint64_t *largest = fold == DIFF_LIST ? &g->most : &folded[fold].most;

		if (diff_place_size(x) > *largest)
			*largest = diff_place_size(x);
		if (fold == DIFF_LIST) {
			struct diff_row *r = vec_add(&g->rows);

			r->x = x;
			r->frames = 2;
			diff_row_place(g, r);
			g->freed = g->freed || x->allocs > 0;
		} else {
			folded[fold].places++;
			folded[fold].net +=
				diff_less(x->value[DIFF_NEW], x->value[DIFF_OLD]);
			folded[fold].var += x->var;
		}
	}
	diff_tell_apart(g);
	for (size_t i = 0; i < g->rows.len; i++) {
		for (unsigned s = 0; s < 2; s++) {
			double n = (double)fmt_abs(g->rows.data[i].x->value[s]);

			most = n > most ? n : most;
		}
	}
	g->unit = diff_unit(most);
	for (size_t i = 0; i < g->rows.len; i++)
		diff_fill_row(g, &g->rows.data[i]);
}

void
diff_rows_done(struct diff_page *g)
{
	for (size_t i = 0; i < g->rows.len; i++) {
		struct diff_row *r = &g->rows.data[i];

		free(r->growth);
		free(r->before);
		free(r->after);
		free(r->beside);
		free(r->freed);
		free(r->place);
	}
	vec_done(&g->rows);
}

/* ---- the table ---- */

struct diff_widths {
	size_t number, growth, before, after, pair, beside, freed, mark;
};

static void
diff_wider(size_t *width, const char *text)
{
	size_t n = figure_width(text);

	if (n > *width)
		*width = n;
}

/* Puts what was added since `place` into a line of its own, if the row is wider than the
 * terminal. */
static void
diff_break(const struct diff_page *g, size_t from, size_t place)
{
	unsigned columns = g->o->term != NULL ? g->o->term->columns : 0;
	char *rest;

	if (columns == 0 || figure_width(buf_str(g->out) + from) <= columns)
		return;
	rest = xstrdup(buf_str(g->out) + place);
	while (place > from && g->out->data[place - 1] == ' ')
		place--;
	g->out->len = place;
	buf_printf(g->out, "\n    %s", rest);
	free(rest);
}

static void
diff_head(struct diff_page *g, const struct diff_widths *w)
{
	struct buf *out = g->out;
	const char *beside = g->d->in_bytes ? "blocks" : "bytes";
	size_t from;

	figure_right(out, "growth", w->number + 2 + w->growth);
	buf_add_str(out, "  ");
	figure_right(out, "before", w->before);
	from = out->len;
	buf_printf(out, DIFF_TO "after%s%s", g->d->in_bytes ? " " : "",
		   !g->d->in_bytes ? ""
		   : g->o->bytes   ? "bytes"
				   : diff_units[g->unit]);
	if (g->d->has_blocks || g->freed)
		figure_pad(out, from, w->pair + 3, 0);
	if (g->d->has_blocks)
		figure_right(out, beside, w->beside + 2);
	if (g->freed)
		figure_right(out, "freed", w->freed + 2);
	buf_add_char(out, '\n');
}

static void
diff_print_row(struct diff_page *g, size_t number, const struct diff_row *r,
	       const struct diff_widths *w)
{
	const struct term *t = g->o->term;
	const char *mark = diff_mark_name(r->x->mark);
	struct buf *out = g->out;
	size_t start = out->len, from, place;
	char text[24];

	snprintf(text, sizeof text, "%zu", number);
	figure_right(out, text, w->number);
	figure_right(out, r->growth, w->growth + 2);
	figure_right(out, r->before, w->before + 2);
	from = out->len;
	buf_add_str(out, DIFF_TO);
	figure_right(out, r->after, w->after);
	figure_pad(out, from, w->pair + 3, 0);
	if (g->d->has_blocks)
		figure_right(out, r->beside, w->beside + 2);
	if (g->freed)
		figure_right(out, r->freed, w->freed + 2);
	buf_add_str(out, "  ");
	from = out->len;
	buf_add_str(out, mark);
	if (w->mark > 0)
		figure_pad(out, from, w->mark + 2, 0);
	place = out->len;
	buf_add_str(out, r->place);
	diff_break(g, start, place);
	/* Coloured last, so that widths are those that are seen. */
	if (t != NULL && t->colour && mark[0] != '\0') {
		char *rest = xstrdup(out->data + from + strlen(mark));

		out->len = from;
		buf_printf(out, "%s%s%s%s",
			   term_on(t, r->x->mark == DIFF_LEAK || r->x->mark == DIFF_LIKELY
					      ? TERM_BAD
					      : TERM_BOLD),
			   mark, term_off(t), rest);
		free(rest);
	}
	buf_add_char(out, '\n');
}

void
diff_table(struct diff_page *g)
{
	struct diff_widths w = {
		.number = 2, .growth = 6, .before = 6, .beside = 6, .freed = 5};
	char text[24];

	if (g->rows.len == 0)
		return;
	for (size_t i = 0; i < g->rows.len; i++) {
		const struct diff_row *r = &g->rows.data[i];

		diff_wider(&w.growth, r->growth);
		diff_wider(&w.before, r->before);
		diff_wider(&w.after, r->after);
		diff_wider(&w.beside, r->beside);
		diff_wider(&w.freed, r->freed);
		diff_wider(&w.mark, diff_mark_name(r->x->mark));
	}
	snprintf(text, sizeof text, "%zu", g->rows.len);
	diff_wider(&w.number, text);
	w.pair = w.after > 9 ? w.after : 9; /* "after MiB" */
	diff_head(g, &w);
	for (size_t i = 0; i < g->rows.len; i++)
		diff_print_row(g, i + 1, &g->rows.data[i], &w);
}

void
diff_folds(struct diff_page *g, const struct diff_folded folded[DIFF_FOLDS])
{
	const struct diff_folded *f = &folded[DIFF_FOLD_SMALL];
	uint64_t least = g->rows.len > 0 ? diff_place_size(vec_last(&g->rows)->x) : 0;
	bool small = f->most < DIFF_SMALL_BYTES && g->rows.len < DIFF_ROWS;
	char *net;

	if (f->places > 0) {
		net = diff_change(f->net, f->var, g->o->bytes || !g->d->in_bytes,
				  DIFF_NO_UNIT);
		buf_printf(g->out, "    %s more site%s", fmt_count(f->places).s,
			   f->places == 1 ? "" : "s");
		if (least < f->most)
			least = f->most;
		if (g->d->in_bytes && least >= DIFF_SMALL_BYTES && g->o->rows == 0 &&
		    small)
			buf_printf(g->out, " under 64 KiB%s",
				   f->places == 1 ? "" : " each");
		else if (!g->o->all)
			buf_printf(g->out, " of %s or less",
				   g->d->in_bytes ? fmt_size(least).s
						  : fmt_count(least).s);
		buf_printf(g->out, ", net %s (--all)\n", net);
		free(net);
	}
	f = &folded[DIFF_FOLD_NOISE];
	if (f->places > 0) {
		net = diff_change(f->net, f->var, g->o->bytes || !g->d->in_bytes,
				  DIFF_NO_UNIT);
		buf_printf(g->out,
			   "    %s %ssite%s within sampling noise, net %s (--all)\n",
			   fmt_count(f->places).s, g->rows.len > 0 ? "more " : "",
			   f->places == 1 ? "" : "s", net);
		free(net);
	}
	f = &folded[DIFF_FOLD_SAME];
	if (f->places > 0)
		buf_printf(g->out, "    %s site%s unchanged\n", fmt_count(f->places).s,
			   f->places == 1 ? "" : "s");
}
