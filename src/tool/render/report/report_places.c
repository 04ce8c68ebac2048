/* SPDX-License-Identifier: MIT */
/* report_places.c -- places as lists with stacks, as tables, and one a line.
 *
 * Their stacks are in report_frames.c. */
#include "tool/render/report/report_impl.h"

#include <inttypes.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/util/fmt.h"

enum {
	REPORT_TOP_ROWS = 50, /* of --top on a terminal */
};

/* Of lost memory the row's own, without what was lost through it. */
static struct figure_str
report_value(const struct report *r, const struct sites_row *row, enum sites_by by)
{
	double var = sites_variance(&row->t, by);

	if (by == SITES_LOST)
		return figure_bytes(row->t.lost_bytes, 0, r->o->bytes);
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

/* Rows of a list: those of `ss` that are not listed already. */
struct report_rows {
	const struct sites *ss;
	uint32_t *order, *grows; /* rows of ss, and of r->growth; to be freed */
	uint32_t n, shown;	 /* the first of them */
	int64_t whole;		 /* that shares are of */
};

/* Frames of the site in that row. */
static uint32_t
report_frames_of(const struct report *r, uint32_t row)
{
	return row == 0 && r->list_head == NULL ? r->plan->first : r->plan->rest;
}

static void
report_measure(struct report *r, const struct report_rows *l, enum sites_by by,
	       struct report_widths *w)
{
	memset(w, 0, sizeof *w);
	for (uint32_t i = 0; i < l->shown; i++) {
		const struct sites_row *row = &l->ss->rows[l->order[i]];

		r->most_frames = report_frames_of(r, i);
		w->value = report_max(w->value, figure_width(report_value(r, row, by).s),
				      60);
		w->percent = report_max(
			w->percent, figure_width(report_share(row, by, l->whole).s), 20);
		report_measure_stack(r, row->node, w);
	}
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
		/* How many are freed is known of the end, not of a point before it. */
		if (prof_is_walked(r->p) || r->o->point.at != SITES_AT_END) {
			buf_add_str(r->out, figure_things(t->live_blocks,
							  t->var_live_blocks, "block")
						    .s);
			break;
		}
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
report_rest(struct report *r, const struct sites *ss, const uint32_t *order,
	    enum sites_by by, uint32_t from, uint32_t to)
{
	int64_t value = 0;

	if (from == to)
		return;
	for (uint32_t i = from; i < to; i++)
		value += sites_value(&ss->rows[order != NULL ? order[i] : i].t, by);
	buf_printf(r->out, "%*s%s more site%s, %s%s (--all)\n", REPORT_INDENT, "",
		   fmt_count(to - from).s, to - from == 1 ? "" : "s",
		   r->sampled ? "about " : "",
		   sites_in_bytes(by) ? figure_bytes(value, 0, r->o->bytes).s
				      : figure_things(value, 0, "alloc").s);
}

/* Says that the listed stacks have frames that are folded; and of callers that are not
 * shown, unless the next line is about more sites. */
static void
report_folded(struct report *r, const struct report_rows *l)
{
	struct skip_stack all = {0}, shown = {0};
	size_t n = 0, left = l->shown == l->n ? r->callers_left : 0;

	for (uint32_t i = 0; i < l->shown; i++) {
		uint32_t node = l->ss->rows[l->order[i]].node;

		skip_stack_as(r->skip, node, false, &all);
		skip_stack(r->skip, node, &shown);
		n += all.len - shown.len;
	}
	if (n + left > 0)
		buf_printf(r->out, "%*s(%s%s%s%s%s, --all shows %s)\n", REPORT_INDENT, "",
			   n > 0 ? figure_things((int64_t)n, 0, "library frame").s : "",
			   n > 0 ? " folded" : "", n > 0 && left > 0 ? ", " : "",
			   left > 0 ? figure_things((int64_t)left, 0, "caller").s : "",
			   left > 0 ? " left out" : "", n + left == 1 ? "it" : "them");
	vec_done(&all);
	vec_done(&shown);
}

/* A site that grows, and was listed first, is not listed again as live. */
static void
report_choose_rows(struct report *r, const struct sites *ss, enum sites_by by,
		   struct report_rows *l)
{
	uint32_t n = report_listable(ss, by);

	*l = (struct report_rows){.ss = ss, .whole = report_whole(ss, by)};
	l->order = xcalloc(n, sizeof *l->order);
	l->grows = xcalloc(n, sizeof *l->grows);
	report_growth_rows(r, ss, n, l->grows);
	for (uint32_t i = 0; i < n; i++) {
		if (by != SITES_LIVE || r->o->by_given || l->grows[i] == UINT32_MAX ||
		    !r->growth_told[l->grows[i]])
			l->order[l->n++] = i;
	}
	l->shown = report_limit(r, l->n, r->plan->rows);
}

void
report_list(struct report *r, const struct sites *ss, enum sites_by by)
{
	struct types *types = r->plan->bare ? NULL : types_new(r->p, ss);
	struct map told = {0};
	struct report_widths w;
	struct report_rows l;

	r->callers_left = 0;
	report_choose_rows(r, ss, by, &l);
	report_measure(r, &l, by, &w);
	if (l.shown > 0 && r->list_head != NULL)
		buf_add_str(r->out, r->list_head);
	for (uint32_t i = 0; i < l.shown; i++) {
		const struct sites_row *row = &ss->rows[l.order[i]];

		buf_printf(r->out, "%2u  ", i + 1);
		figure_right(r->out, report_value(r, row, by).s, w.value);
		if (by == SITES_LOST && row->t.through_bytes > 0)
			buf_printf(r->out, " + %s through it",
				   figure_bytes(row->t.through_bytes, 0, r->o->bytes).s);
		buf_add_str(r->out, "  ");
		figure_right(r->out, report_share(row, by, l.whole).s, w.percent);
		buf_add_str(r->out, "   ");
		report_beside(r, row, by);
		buf_add_char(r->out, '\n');
		report_growth_mark(r, l.grows[l.order[i]]);
		r->most_frames = report_frames_of(r, i);
		report_stack(r, row->node, &w);
		report_types(r, types, l.order[i]);
		if (by == SITES_LOST)
			report_moments(r, ss, l.order[i]);
		if (!r->plan->bare)
			report_contrast(r, l.order[i], &told);
	}
	r->most_frames = 0;
	map_done(&told);
	types_free(types);
	report_folded(r, &l);
	report_rest(r, ss, l.order, by, l.shown, l.n);
	free(l.order);
	free(l.grows);
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
report_table(struct report *r, enum sites_by by, const char *head, uint32_t most)
{
	const struct sites *ss = &r->sites;
	struct report_widths w = {0};
	uint32_t n, rows;
	int64_t whole;

	sites_rank(&r->sites, r->p, by);
	n = report_listable(ss, by);
	rows = report_limit(r, n, most);
	whole = report_whole(ss, by);
	if (rows == 1 && n > 1)
		buf_printf(r->out, "%s, first of %s:\n", head,
			   figure_things(n, 0, "site").s);
	else if (rows > 0)
		buf_printf(r->out, "%s:\n", head);
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
		figure_right(r->out, report_value(r, &ss->rows[i], by).s, w.value);
		buf_add_str(r->out, "  ");
		figure_right(r->out, report_share(&ss->rows[i], by, whole).s, w.percent);
		buf_add_str(r->out, "   ");
		report_place_caller(r, &ss->rows[i]);
		report_cut(r, start);
		buf_add_char(r->out, '\n');
	}
	if (rows > 1)
		report_rest(r, ss, NULL, by, rows, n);
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
			figure_right(r->out, report_value(r, row, by).s, width);
		buf_add_str(r->out, "  ");
		if (besides && r->o->bytes) {
			buf_printf(r->out, "%" PRId64 "  ", beside);
		} else if (besides) {
			figure_right(r->out,
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
		buf_printf(r->out, "# %s more sites (--all)\n", fmt_count(more).s);
}
