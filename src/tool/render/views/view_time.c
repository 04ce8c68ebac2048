/* SPDX-License-Identifier: MIT */
/* view_time.c -- what a process held over time, and how long its blocks lived. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tool/analyze/sites/ages.h"
#include "tool/analyze/sites/choose.h"
#include "tool/render/views/view_impl.h"
#include "tool/render/views/view_plot.h"
#include "tool/util/fmt.h"

#define VIEW_MS UINT64_C(1000000) /* ns */

enum {
	VIEW_SPANS = 40,
	TIME_COLUMN = 12,
	VIEW_PROCESSES = 8, /* that are drawn unless all are asked for */
};

/* A row ends without blanks. */
static void
view_row_end(struct buf *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add_char(out, '\n');
}

/* ---- lifetimes ---- */

static void
view_age_row(struct buf *out, const struct view *v, const struct ages *a, uint64_t n,
	     const char *name)
{
	size_t from;

	figure_right(out, fmt_count(n).s, 12);
	buf_add_str(out, "  ");
	figure_right(out, view_share_of((double)n, (double)a->all).s, 6);
	buf_add_str(out, "  ");
	from = out->len;
	buf_add_str(out, name);
	figure_pad(out, from, 18, 2);
	if (!v->o->bytes)
		view_bar(out, (double)n, (double)a->all, v->o->ascii);
	view_row_end(out);
}

uint32_t
view_lifetimes(struct buf *out, const struct view *v)
{
	struct ages a;
	unsigned last;

	ages_count(&a, v->p, v->q, v->g);
	if (!a.known) {
		buf_add_str(
			out,
			"# nothing to show: this format does not say how long blocks lived\n");
		return 1;
	}
	if (a.samples)
		buf_add_str(out, "# these are samples, not blocks\n");
	buf_printf(out, "%12s   share  lived for\n", a.samples ? "samples" : "blocks");
	view_age_row(out, v, &a, a.temporary, "temporary");
	for (last = PROF_LIFE_BUCKETS; last > 0 && a.freed[last - 1] == 0;)
		last--;
	for (unsigned i = 0; i < last; i++)
		view_age_row(out, v, &a, a.freed[i],
			     figure_ms_range(ages_from_ms(i), ages_limit_ms(i)).s);
	view_age_row(out, v, &a, a.live, "not freed");
	return 1;
}

uint32_t
view_lifetimes_json(struct json *j, const struct view *v)
{
	struct ages a;

	ages_count(&a, v->p, v->q, v->g);
	view_key_str(j, "missing",
		     a.known ? NULL : "this format does not say how long blocks lived");
	view_key_str(j, "rows_unit", a.samples ? "samples" : "blocks");
	json_member_u64(j, "temporary", a.temporary);
	json_member_u64(j, "not_freed", a.live);
	json_member_arr(j, "rows");
	for (unsigned i = 0; a.known && i < PROF_LIFE_BUCKETS; i++) {
		json_obj(j);
		json_member_u64_if(j, "below_ms", ages_limit_ms(i) != UINT64_MAX,
				   ages_limit_ms(i));
		json_member_u64(j, "value", a.freed[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
	return 1;
}

/* ---- timeline ---- */

static bool
view_time_wants(const struct view *v, uint32_t process)
{
	return v->q->chosen == NULL || v->q->chosen[process];
}

/* Marks that fall between two spans, with what was live then. */
static void
view_time_marks(struct buf *out, const struct view *v, uint32_t process, uint64_t from,
		uint64_t to)
{
	for (uint32_t i = 0; i < v->p->nmarks; i++) {
		const struct prof_mark *m = &v->p->marks[i];

		if (m->process != process || m->ms < from || m->ms >= to)
			continue;
		figure_right(out, fmt_duration(m->ms * VIEW_MS).s, 10);
		figure_right(
			out,
			fmt_size((uint64_t)(m->live_bytes > 0 ? m->live_bytes : 0)).s,
			TIME_COLUMN);
		figure_right(out, "", (view_lost_has(v, process) ? 3 : 2) * TIME_COLUMN);
		buf_add_str(out, "  @");
		clean_text(out, prof_text(v->p, m->name));
		buf_add_char(out, '\n');
	}
}

static void
view_time_process(struct buf *out, const struct view *v, uint32_t process)
{
	uint32_t most = v->o->rows > 0 ? v->o->rows : VIEW_SPANS, points, n;
	struct span *spans;
	int64_t highest = 1;
	bool lost;

	n = spans_of(v->p, process, v->o->all ? 0 : most, &spans, &points);
	for (uint32_t i = 0; i < n; i++)
		highest = spans[i].live_bytes > highest ? spans[i].live_bytes : highest;
	lost = view_lost_has(v, process);
	buf_printf(out, "      time        live         RSS        seep%s\n",
		   lost ? "        lost" : "");
	for (uint32_t i = 0; i < n; i++) {
		const struct span *s = &spans[i];

		view_time_marks(out, v, process, i > 0 ? spans[i - 1].to_ms : 0,
				s->to_ms);
		figure_right(out, fmt_duration(s->to_ms * VIEW_MS).s, 10);
		figure_right(
			out,
			fmt_size((uint64_t)(s->live_bytes > 0 ? s->live_bytes : 0)).s,
			TIME_COLUMN);
		figure_right(out,
			     s->rss_kib > 0 ? fmt_size((uint64_t)s->rss_kib << 10).s
					    : "-",
			     TIME_COLUMN);
		figure_right(out,
			     s->own_kib > 0 ? fmt_size((uint64_t)s->own_kib << 10).s
					    : "-",
			     TIME_COLUMN);
		if (lost)
			view_lost_cell(out, v, process, s->to_ms, TIME_COLUMN);
		buf_add_str(out, "  ");
		view_bar(out, (double)s->live_bytes, (double)highest, v->o->ascii);
		view_row_end(out);
	}
	view_time_marks(out, v, process, n > 0 ? spans[n - 1].to_ms : 0, UINT64_MAX);
	if (n > 0 && n < points)
		buf_printf(out, "# each row is the highest of up to %s (-n N, --all)\n",
			   figure_things((points + n - 1) / n, 0, "point").s);
	free(spans);
}

/* ---- snapshots of massif ---- */

static double
view_snapshot_sum(const struct prof_snapshot *x)
{
	return (double)x->heap_bytes + (double)x->extra_bytes + (double)x->stacks_bytes;
}

static void
view_time_snapshot(struct buf *out, const struct view *v, const struct prof_snapshot *x)
{
	const int64_t sizes[] = {x->heap_bytes + x->extra_bytes + x->stacks_bytes,
				 x->heap_bytes, x->extra_bytes, x->stacks_bytes};
	struct buf time = {0};

	buf_printf(&time, "%s ", fmt_count(x->time).s);
	clean_text(&time, prof_text(v->p, x->unit));
	figure_right(out, fmt_count(x->number).s, 10);
	figure_right(out, buf_str(&time), 16);
	for (unsigned i = 0; i < 4; i++)
		figure_right(out,
			     v->o->bytes ? fmt_count((uint64_t)sizes[i]).s
					 : fmt_size((uint64_t)sizes[i]).s,
			     v->o->bytes ? 2 * TIME_COLUMN : TIME_COLUMN);
	buf_add_str(out, "  ");
	buf_done(&time);
}

static bool
view_has_snapshots(const struct prof *p, uint32_t process)
{
	for (uint32_t i = 0; i < p->nsnapshots; i++) {
		if (p->snapshots[i].process == process)
			return true;
	}
	return false;
}

/* Sums of massif's snapshots, a row each, or the largest of some neighbours. */
static void
view_time_snapshots(struct buf *out, const struct view *v, uint32_t process)
{
	static const char *const trees[] = {
		[PROF_TREE_DETAILED] = "  stacks", [PROF_TREE_PEAK] = "  stacks, peak"};
	uint32_t most = v->o->rows > 0 ? v->o->rows : v->p->nsnapshots, n = 0, group;
	const struct prof_snapshot *best = NULL, *x;
	double highest = 1;

	for (uint32_t i = 0; i < v->p->nsnapshots; i++) {
		x = &v->p->snapshots[i];
		n += x->process == process;
		if (x->process == process && view_snapshot_sum(x) > highest)
			highest = view_snapshot_sum(x);
	}
	group = v->o->all ? 1 : (n + most - 1) / most;
	buf_add_str(out, "  snapshot            time       total        heap  extra heap"
			 "      stacks\n");
	for (uint32_t i = 0, k = 0; i < v->p->nsnapshots; i++) {
		x = &v->p->snapshots[i];
		if (x->process != process)
			continue;
		if (best == NULL || view_snapshot_sum(x) > view_snapshot_sum(best) ||
		    x->tree == PROF_TREE_PEAK)
			best = x;
		if (++k % group != 0 && k != n)
			continue;
		view_time_snapshot(out, v, best);
		view_bar(out, view_snapshot_sum(best), highest, v->o->ascii);
		if (best->tree != PROF_TREE_NONE)
			buf_add_str(out, trees[best->tree]);
		view_row_end(out);
		best = NULL;
	}
	if (group > 1)
		buf_printf(out, "# each row is the largest of up to %s (-n N, --all)\n",
			   figure_things(group, 0, "snapshot").s);
}

uint32_t
view_timeline(struct buf *out, const struct view *v)
{
	uint32_t drawn = 0, left_out = 0;

	plot_text(out, v);
	for (uint32_t i = 1; i < v->p->nprocesses; i++) {
		const struct prof_process *pr = &v->p->processes[i];
		struct span *spans;
		uint32_t points;

		if (!view_time_wants(v, i))
			continue;
		spans_of(v->p, i, 1, &spans, &points);
		free(spans);
		if (points == 0 && !view_has_snapshots(v->p, i))
			continue;
		if (drawn >= VIEW_PROCESSES && !v->o->all) {
			left_out++;
			continue;
		}
		drawn++;
		if (v->p->nprocesses > 2) {
			clean_text(out, choose_process_name(v->p, i).s);
			buf_printf(out, " (%u)\n", pr->pid);
		}
		if (points > 0)
			view_time_process(out, v, i);
		else
			view_time_snapshots(out, v, i);
	}
	if (drawn == 0)
		buf_add_str(out, "# nothing to show: there is no timeline in this\n");
	if (left_out > 0)
		buf_printf(out, "# %s more process%s (--all, --process NAME)\n",
			   fmt_count(left_out).s, left_out == 1 ? "" : "es");
	return 1;
}

static void
view_time_json_points(struct json *j, const struct view *v, uint32_t process)
{
	struct span *spans;
	uint32_t points, n = spans_of(v->p, process, 0, &spans, &points);

	json_member_arr(j, "points");
	for (uint32_t i = 0; i < n; i++) {
		json_obj(j);
		json_member_u64(j, "ms", spans[i].to_ms);
		json_member_i64(j, "live_bytes", spans[i].live_bytes);
		json_member_u64_if(j, "rss_bytes", spans[i].rss_kib > 0,
				   (uint64_t)spans[i].rss_kib << 10);
		json_member_u64_if(j, "recorder_bytes", spans[i].own_kib > 0,
				   (uint64_t)spans[i].own_kib << 10);
		json_obj_end(j);
	}
	json_arr_end(j);
	free(spans);
}

static void
view_time_json_snapshots(struct json *j, const struct view *v, uint32_t process)
{
	static const char *const trees[] = {[PROF_TREE_NONE] = "empty",
					    [PROF_TREE_DETAILED] = "detailed",
					    [PROF_TREE_PEAK] = "peak"};

	json_member_arr(j, "snapshots");
	for (uint32_t i = 0; i < v->p->nsnapshots; i++) {
		const struct prof_snapshot *x = &v->p->snapshots[i];

		if (x->process != process)
			continue;
		json_obj(j);
		json_member_u64(j, "number", x->number);
		json_member_u64(j, "time", x->time);
		view_key_str(j, "time_unit", prof_text(v->p, x->unit));
		json_member_i64(j, "heap_bytes", x->heap_bytes);
		json_member_i64(j, "extra_heap_bytes", x->extra_bytes);
		json_member_i64(j, "stacks_bytes", x->stacks_bytes);
		view_key_str(j, "tree", trees[x->tree]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

uint32_t
view_timeline_json(struct json *j, const struct view *v)
{
	json_member_arr(j, "rows");
	for (uint32_t i = 1; i < v->p->nprocesses; i++) {
		if (!view_time_wants(v, i))
			continue;
		json_obj(j);
		json_member_u64(j, "pid", v->p->processes[i].pid);
		view_key_str(j, "name", choose_process_name(v->p, i).s);
		view_time_json_points(j, v, i);
		view_lost_json(j, v, i);
		if (view_has_snapshots(v->p, i))
			view_time_json_snapshots(j, v, i);
		json_obj_end(j);
	}
	json_arr_end(j);
	plot_json(j, v);
	return 1;
}
