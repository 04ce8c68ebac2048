/* SPDX-License-Identifier: MIT */
/* report_places.c -- places as lists with stacks, as tables, and one a line.
 *
 * Columns are as wide as the widest entry listed, up to a limit: one very long C++ name moves
 * its own line only. On a terminal such a name is cut, in a file or pipe nothing ever is. */
#include "render/report_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/recording.h"
#include "render/figure.h"
#include "util/fmt.h"

enum {
	REPORT_FUNCTION_MAX = 48, /* columns */
	REPORT_WHERE_MAX = 40,
	REPORT_INDENT = 4,
	REPORT_TOP_ROWS = 50, /* of --top on a terminal */
};

/* One frame, as three pieces of text. */
struct report_line {
	struct buf function, where, rest;
	bool aligned; /* false: the function's text is all there is */
};

static void
report_line_done(struct report_line *l)
{
	buf_done(&l->function);
	buf_done(&l->where);
	buf_done(&l->rest);
}

/* A location without a name. */
static void
report_unnamed(struct report_line *l, const struct prof *p, const struct prof_loc *loc,
	       bool why)
{
	const struct prof_module *m = &p->modules[loc->module];

	switch (loc->kind) {
	case PROF_LOC_TRUNCATED:
		buf_add_str(&l->function, REPORT_MORE " (could not be followed further)");
		return;
	case PROF_LOC_ELIDED:
		buf_printf(&l->function, REPORT_MORE " (about %s frames left out)",
			   fmt_count(loc->offset).s);
		return;
	case PROF_LOC_CLASS:
		buf_add_str(&l->function, prof_class_name(loc->offset));
		return;
	}
	buf_printf(&l->function, "0x%" PRIx64, loc->offset);
	if (loc->module == 0) {
		buf_add_str(&l->function, " (in no module)");
		return;
	}
	buf_add_str(&l->function, " in ");
	figure_text(&l->function, skip_basename(prof_text(p, m->path)));
	if (why && m->why_no_names != 0) {
		buf_add_str(&l->function, " (");
		figure_text(&l->function, prof_text(p, m->why_no_names));
		buf_add_char(&l->function, ')');
	}
}

/* The frame at `pos`; `why` asks for the reason why there is no line. */
static void
report_line_make(struct report_line *l, const struct report *r, struct skip_pos pos,
		 bool why)
{
	const struct prof *p = r->p;
	const struct prof_loc *loc = skip_loc(p, pos);
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_module *m = &p->modules[loc->module];

	buf_clear(&l->function);
	buf_clear(&l->where);
	buf_clear(&l->rest);
	l->aligned = f != NULL && f->function != 0;
	if (!l->aligned && (f == NULL || f->line == 0)) {
		report_unnamed(l, p, loc, why);
		return;
	}
	l->aligned = true;
	if (f->function == 0)
		buf_add_char(&l->function, '?');
	else if (r->o->all)
		figure_text(&l->function, prof_text(p, f->function));
	else
		figure_function(&l->function, prof_text(p, f->function),
				REPORT_FUNCTION_MAX);
	if (f->line != 0) {
		figure_text(&l->where, skip_basename(prof_text(p, f->file)));
		buf_printf(&l->where, ":%u", f->line);
	} else {
		/* names that came with the file have no offset, and some no module */
		if (f->symbol_off != 0)
			buf_printf(&l->where, "+0x%x ", f->symbol_off);
		if (loc->module != 0) {
			buf_add_str(&l->where, "in ");
			figure_text(&l->where, skip_basename(prof_text(p, m->path)));
		}
		if (why && m->why_no_names != 0) {
			buf_add_str(&l->rest, "(no lines: ");
			figure_text(&l->rest, prof_text(p, m->why_no_names));
			buf_add_char(&l->rest, ')');
		}
	}
	if (f->inlined)
		buf_printf(&l->rest, "%s(inlined)", l->rest.len > 0 ? " " : "");
}

static size_t
report_max(size_t a, size_t b, size_t limit)
{
	return b > a && b <= limit ? b : a;
}

struct report_widths {
	size_t value, percent, beside, function, where;
};

/* How many frames of a stack are printed. */
static size_t
report_frames(const struct report *r, const struct skip_stack *st)
{
	return r->o->all || st->len <= REPORT_FRAMES ? st->len : REPORT_FRAMES;
}

static struct figure_str
report_value(const struct report *r, const struct sites_row *row, enum sites_by by)
{
	double var = sites_variance(&row->t, by);

	return sites_in_bytes(by)
		       ? figure_bytes(sites_value(&row->t, by), var, r->o->bytes)
		       : figure_things(sites_value(&row->t, by), var, "alloc");
}

/* Share of the whole list. */
static struct fmt_str
report_share(const struct sites_row *row, enum sites_by by, int64_t whole)
{
	int64_t n = sites_value(&row->t, by);

	return fmt_percent(n > 0 ? (uint64_t)n : 0, whole > 0 ? (uint64_t)whole : 0);
}

static void
report_measure_stack(const struct report *r, uint32_t node, struct report_widths *w)
{
	struct skip_stack st = {0};
	struct report_line l = {0};

	skip_stack(r->skip, node, &st);
	for (size_t k = 0; k < report_frames(r, &st); k++) {
		report_line_make(&l, r, st.data[k], false);
		if (!l.aligned)
			continue;
		w->function = report_max(w->function, figure_width(buf_str(&l.function)),
					 REPORT_FUNCTION_MAX);
		w->where = report_max(w->where, figure_width(buf_str(&l.where)),
				      REPORT_WHERE_MAX);
	}
	report_line_done(&l);
	vec_done(&st);
}

static void
report_measure(const struct report *r, const struct sites *ss, enum sites_by by,
	       int64_t whole, uint32_t rows, struct report_widths *w)
{
	memset(w, 0, sizeof *w);
	for (uint32_t i = 0; i < rows; i++) {
		const struct sites_row *row = &ss->rows[i];

		w->value = report_max(w->value, figure_width(report_value(r, row, by).s),
				      60);
		w->percent = report_max(w->percent,
					figure_width(report_share(row, by, whole).s), 20);
		report_measure_stack(r, row->node, w);
	}
}

static void
report_right(struct buf *out, const char *text, size_t width)
{
	for (size_t n = figure_width(text); n < width; n++)
		buf_add_char(out, ' ');
	buf_add_str(out, text);
}

/* Cuts what was added since `from` to the terminal's width. */
static void
report_cut(struct report *r, size_t from)
{
	unsigned columns = r->o->term != NULL ? r->o->term->columns : 0;
	const char *s = buf_str(r->out) + from;
	size_t n = 0, at = 0;

	if (columns < 20 || figure_width(s) <= columns)
		return;
	for (; s[at] != '\0'; at++) {
		n += ((unsigned char)s[at] & 0xc0) != 0x80;
		if (n == columns)
			break;
	}
	r->out->len = from + at;
	buf_add_str(r->out, REPORT_MORE);
}

static void
report_frame(struct report *r, const struct report_line *l, const struct report_widths *w,
	     const char *source)
{
	size_t start = r->out->len, from;

	buf_printf(r->out, "%*s", REPORT_INDENT, "");
	from = r->out->len;
	buf_add_str(r->out, buf_str(&l->function));
	if (l->where.len > 0) {
		figure_pad(r->out, from, w->function + 3, 2);
		from = r->out->len;
		buf_add_str(r->out, buf_str(&l->where));
	}
	if (l->where.len > 0 && (source[0] != '\0' || l->rest.len > 0))
		figure_pad(r->out, from, w->where + 3, 2);
	figure_text(r->out, source);
	if (l->rest.len > 0)
		buf_printf(r->out, "%s%s", source[0] != '\0' ? "  " : "",
			   buf_str(&l->rest));
	report_cut(r, start);
	buf_add_char(r->out, '\n');
}

static void
report_stack(struct report *r, uint32_t node, const struct report_widths *w)
{
	struct skip_stack st = {0};
	struct report_line l = {0};
	uint32_t told = 0; /* module whose reason was given last */
	size_t frames;

	skip_stack(r->skip, node, &st);
	frames = report_frames(r, &st);
	for (size_t k = 0; k < frames; k++) {
		const struct prof_frame *f = skip_frame(r->p, st.data[k]);
		uint32_t module = skip_loc(r->p, st.data[k])->module;

		report_line_make(&l, r, st.data[k], module != told);
		if (f == NULL || f->line == 0)
			told = module;
		/* The line that allocates is shown, its callers are only named. */
		report_frame(r, &l, w,
			     k == 0 && f != NULL ? prof_text(r->p, f->source) : "");
	}
	if (frames < st.len)
		buf_printf(r->out, "%*s" REPORT_MORE " %zu more frame%s (--all)\n",
			   REPORT_INDENT, "", st.len - frames,
			   st.len - frames == 1 ? "" : "s");
	if (st.len == 0)
		buf_printf(r->out, "%*s(no stack)\n", REPORT_INDENT, "");
	report_line_done(&l);
	vec_done(&st);
}

void
report_stack_of(struct report *r, uint32_t node)
{
	struct report_widths w = {0};

	report_measure_stack(r, node, &w);
	report_stack(r, node, &w);
}

/* What stands beside the ranked figure. */
static void
report_beside(struct report *r, const struct sites_row *row, enum sites_by by)
{
	const struct sites_total *t = &row->t;
	double var = sites_variance(t, SITES_COUNT);
	struct figure_str freed =
		figure_count((int64_t)t->frees, sites_count_variance(t, t->frees));

	switch (by) {
	case SITES_LIVE:
		buf_printf(r->out, "%s, %s freed",
			   figure_things(t->live_blocks, t->var_live_blocks, "block").s,
			   freed.s);
		break;
	case SITES_PEAK:
		buf_printf(
			r->out, "%s at the peak, %s now",
			figure_things(t->at_peak_blocks,
				      sites_count_variance(
					      t, t->at_peak_blocks > 0
							 ? (uint64_t)t->at_peak_blocks
							 : 0),
				      "block")
				.s,
			fmt_count(t->live_blocks > 0 ? (uint64_t)t->live_blocks : 0).s);
		break;
	case SITES_LOST:
		report_beside_lost(r, t, freed.s);
		break;
	case SITES_COUNT:
		buf_printf(r->out, "%s freed, %s in all", freed.s,
			   figure_bytes((int64_t)t->alloc_bytes, t->var_alloc_bytes,
					r->o->bytes)
				   .s);
		break;
	case SITES_ALLOCATED:
		buf_printf(r->out, "%s, %s freed",
			   figure_things((int64_t)t->allocs, var, "alloc").s, freed.s);
		break;
	default:
		buf_printf(r->out, "temporary, of %s",
			   figure_things((int64_t)t->allocs, var, "alloc").s);
	}
	if (r->v.nchosen > 1 && row->processes == 1 && !r->same) {
		buf_add_str(r->out, ", in ");
		report_process(r, row->process);
	} else if (row->processes > 1) {
		buf_printf(r->out, ", in %u processes", row->processes);
	}
	if (row->stacks > 1)
		buf_printf(r->out, ", %u stacks", row->stacks);
}

/* Rows worth listing: the program's own with something of what is ranked by. */
static uint32_t
report_listable(const struct sites *ss, enum sites_by by)
{
	uint32_t n = 0;

	while (n < ss->nrows && ss->rows[n].kept == NULL &&
	       (sites_value(&ss->rows[n].t, by) > 0 ||
		(sites_in_bytes(by) && sites_beside(&ss->rows[n].t, by) > 0)))
		n++;
	return n;
}

static uint32_t
report_limit(const struct report *r, uint32_t n, uint32_t usual)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : usual;

	return r->o->all || n <= max ? n : max;
}

/* The whole that shares are of. */
static int64_t
report_whole(const struct sites *ss, enum sites_by by)
{
	int64_t whole = 0;

	for (uint32_t i = 0; i < ss->nrows; i++) {
		if (ss->rows[i].kept == NULL && sites_value(&ss->rows[i].t, by) > 0)
			whole += sites_value(&ss->rows[i].t, by);
	}
	return whole;
}

/* Says what the list leaves out. */
static void
report_rest(struct report *r, const struct sites *ss, enum sites_by by, uint32_t from,
	    uint32_t to)
{
	int64_t value = 0;

	if (from == to)
		return;
	for (uint32_t i = from; i < to; i++)
		value += sites_value(&ss->rows[i].t, by);
	buf_printf(r->out, "%*s%s more place%s, %s%s (--all)\n", REPORT_INDENT, "",
		   fmt_count(to - from).s, to - from == 1 ? "" : "s",
		   r->sampled ? "about " : "",
		   sites_in_bytes(by) ? figure_bytes(value, 0, r->o->bytes).s
				      : figure_things(value, 0, "alloc").s);
}

void
report_list(struct report *r, const struct sites *ss, enum sites_by by)
{
	uint32_t n = report_listable(ss, by), rows = report_limit(r, n, REPORT_ROWS);
	uint32_t *grows = xcalloc(rows, sizeof *grows);
	int64_t whole = report_whole(ss, by);
	struct report_widths w;

	report_growth_rows(r, ss, rows, grows);
	report_measure(r, ss, by, whole, rows, &w);
	for (uint32_t i = 0; i < rows; i++) {
		const struct sites_row *row = &ss->rows[i];

		buf_printf(r->out, "%2u  ", i + 1);
		report_right(r->out, report_value(r, row, by).s, w.value);
		buf_add_str(r->out, "  ");
		report_right(r->out, report_share(row, by, whole).s, w.percent);
		buf_add_str(r->out, "   ");
		report_beside(r, row, by);
		buf_add_char(r->out, '\n');
		report_growth_mark(r, grows[i]);
		report_stack(r, row->node, &w);
	}
	report_rest(r, ss, by, rows, n);
	free(grows);
}

static void
report_frame_short(struct report *r, struct skip_pos pos)
{
	struct report_line l = {0};

	report_line_make(&l, r, pos, false);
	buf_add_str(r->out, buf_str(&l.function));
	if (l.where.len > 0)
		buf_printf(r->out, " %s", buf_str(&l.where));
	report_line_done(&l);
}

void
report_place(struct report *r, const struct sites_row *row)
{
	if (row->node == 0)
		buf_add_str(r->out, "(no stack)");
	else
		report_frame_short(r, skip_first(r->skip, row->node));
}

/* "function file:line ← caller file:line" */
static void
report_place_caller(struct report *r, const struct sites_row *row)
{
	struct skip_pos pos = skip_first(r->skip, row->node);

	report_place(r, row);
	if (row->node == 0 || !skip_next(r->skip, &pos))
		return;
	buf_add_str(r->out, REPORT_ARROW);
	report_frame_short(r, pos);
}

void
report_table(struct report *r, enum sites_by by, const char *head)
{
	const struct sites *ss = &r->sites;
	struct report_widths w = {0};
	uint32_t n, rows;
	int64_t whole;

	sites_rank(&r->sites, r->p, by);
	n = report_listable(ss, by);
	rows = report_limit(r, n, REPORT_TABLE_ROWS);
	whole = report_whole(ss, by);
	if (rows > 0)
		buf_printf(r->out, "%s\n", head);
	for (uint32_t i = 0; i < rows; i++) {
		w.value = report_max(
			w.value, figure_width(report_value(r, &ss->rows[i], by).s), 60);
		w.percent = report_max(
			w.percent, figure_width(report_share(&ss->rows[i], by, whole).s),
			20);
	}
	for (uint32_t i = 0; i < rows; i++) {
		size_t start = r->out->len;

		buf_printf(r->out, "%2u  ", i + 1);
		report_right(r->out, report_value(r, &ss->rows[i], by).s, w.value);
		buf_add_str(r->out, "  ");
		report_right(r->out, report_share(&ss->rows[i], by, whole).s, w.percent);
		buf_add_str(r->out, "   ");
		report_place_caller(r, &ss->rows[i]);
		report_cut(r, start);
		buf_add_char(r->out, '\n');
	}
	report_rest(r, ss, by, rows, n);
}

/* A script gets every row, a terminal what one can look through. */
static uint32_t
report_top_max(const struct report *r)
{
	if (r->o->all)
		return UINT32_MAX;
	if (r->o->rows > 0)
		return r->o->rows;
	return r->o->term != NULL && r->o->term->tty ? REPORT_TOP_ROWS : UINT32_MAX;
}

/* Columns of the first figure. */
static size_t
report_top_width(const struct report *r, enum sites_by by, uint32_t max)
{
	size_t width = 10;

	for (uint32_t i = 0; i < r->sites.nrows && i < max; i++)
		width = report_max(width,
				   figure_width(report_value(r, &r->sites.rows[i], by).s),
				   40);
	return width;
}

void
report_top(struct report *r)
{
	enum sites_by by = r->o->by_given ? r->o->by : SITES_LIVE;
	const struct sites *ss = &r->sites;
	uint32_t shown = 0, more = 0, max = report_top_max(r);
	size_t width = r->o->bytes ? 0 : report_top_width(r, by, max);
	bool besides = r->p->columns == PROF_HAS_ALL; /* else some formats have none */

	for (uint32_t i = 0; i < ss->nrows && !besides; i++)
		besides = sites_beside(&ss->rows[i].t, by) != 0;
	for (uint32_t i = 0; i < ss->nrows; i++) {
		const struct sites_row *row = &ss->rows[i];
		int64_t value = sites_value(&row->t, by),
			beside = sites_beside(&row->t, by);
		size_t from = r->out->len;

		if (value <= 0 && beside <= 0)
			continue;
		if (shown == max) {
			more++;
			continue;
		}
		shown++;
		if (r->o->bytes)
			buf_printf(r->out, "%" PRId64, value);
		else
			report_right(r->out, report_value(r, row, by).s, width);
		buf_add_str(r->out, "  ");
		if (besides && r->o->bytes) {
			buf_printf(r->out, "%" PRId64 "  ", beside);
		} else if (besides) {
			report_right(r->out,
				     sites_in_bytes(by)
					     ? figure_count(beside, 0).s
					     : figure_bytes(beside, 0, false).s,
				     10);
			buf_add_str(r->out, "  ");
		}
		report_place_caller(r, row);
		if (row->kept != NULL)
			buf_printf(r->out, "  (kept by libc: %s)", row->kept);
		report_cut(r, from);
		buf_add_char(r->out, '\n');
	}
	if (more > 0 && r->o->rows == 0)
		buf_printf(r->out, "# %s more places (--all)\n", fmt_count(more).s);
}
