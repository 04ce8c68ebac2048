/* SPDX-License-Identifier: MIT */
/* mapdiff.c -- see mapdiff.h. */
#include "tool/render/heap/mapdiff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"
#include "tool/util/x.h"

enum { MAPDIFF_ROWS = 10 };

#define ARROW " \xe2\x86\x92 "

struct mapdiff_order {
	const struct track *t;
	size_t last;
};

static int64_t
change_kib(const struct track *t, size_t row, size_t last)
{
	const struct track_row *r = &t->rows.data[row];

	return (int64_t)track_row_kib(r, last) - (int64_t)track_row_kib(r, 0);
}

static int
compare_change(const void *a, const void *b, void *ctx)
{
	const struct mapdiff_order *o = ctx;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int64_t m = change_kib(o->t, x, o->last), n = change_kib(o->t, y, o->last);

	if (m != n)
		return m < n ? 1 : -1;
	return (x > y) - (x < y);
}

/* Rows by how much they grew; to be freed. */
static size_t *
order_rows(const struct track *t, size_t last)
{
	struct mapdiff_order o = {.t = t, .last = last};
	size_t *order = xcalloc(t->rows.len, sizeof *order);

	for (size_t i = 0; i < t->rows.len; i++)
		order[i] = i;
	if (t->rows.len > 1)
		qsort_r(order, t->rows.len, sizeof *order, compare_change, &o);
	return order;
}

/* Which of the verdicts a comparison of two moments allows. */
static enum verdict_word
mapdiff_word(const struct track *t)
{
	struct verdict_facts f = {.recorded = true,
				  .growth_judged = true,
				  .grows_outside =
					  *vec_last(&t->total) > t->total.data[0]};

	return verdict_decide(&f).word;
}

static void
add_verdict(struct buf *out, const struct track *t, const struct mapdiff_opts *o)
{
	uint64_t before = t->total.data[0] << 10;
	uint64_t after = *vec_last(&t->total) << 10;
	double seconds = *vec_last(&t->seconds) - t->seconds.data[0];

	buf_printf(out, "%s  RSS %s" ARROW "%s (%s, %s)",
		   verdict_word_name(mapdiff_word(t)), fmt_size(before).s,
		   fmt_size(after).s, fmt_size_signed((int64_t)after - (int64_t)before).s,
		   fmt_change(before, after).s);
	if (o->timed)
		buf_printf(out, " in %s, by the files' times: %s",
			   fmt_duration((uint64_t)(seconds * 1e9)).s,
			   growth_text_rate(((double)after - (double)before) / seconds, 0,
					    false)
				   .s);
	buf_add_char(out, '\n');
}

static void
add_row(struct buf *out, const struct track *t, size_t row, size_t last)
{
	const struct track_row *r = &t->rows.data[row];
	struct fit f = track_fit_row(t, row);
	size_t from = out->len;

	buf_printf(out, "  %s", fmt_size_signed(change_kib(t, row, last) * 1024).s);
	figure_pad(out, from, 14, 1);
	from = out->len;
	buf_printf(out, "%s" ARROW, fmt_size(track_row_kib(r, 0) << 10).s);
	buf_add_str(out, fmt_size(track_row_kib(r, last) << 10).s);
	figure_pad(out, from, 23, 1);
	clean_text(out, r->last.name);
	if (track_row_kib(r, 0) == 0)
		buf_add_str(out, "  NEW");
	else if (r->gone)
		buf_add_str(out, "  GONE");
	if (last > 1 && f.grown > 0)
		buf_printf(out, "  grew in %zu of %zu", f.grown, fit_intervals(&f));
	buf_add_char(out, '\n');
}

static void
add_about(struct buf *out, const struct mapdiff_opts *o)
{
	const struct memmap *a = &o->maps[0], *b = &o->maps[o->n - 1];

	clean_text(out, o->names[0]);
	buf_printf(out, " (%s) and ", a->form);
	clean_text(out, o->names[o->n - 1]);
	buf_printf(out, " (%s)", b->form);
	if (o->n > 2)
		buf_printf(out, ", %zu in all", o->n);
	if (a->pid != 0 && b->pid != 0 && a->pid != b->pid)
		buf_printf(out, "; of different processes: %d and %d", a->pid, b->pid);
	for (size_t i = 0; i < o->n; i++) {
		if (o->maps[i].cut_lines > 0) {
			buf_add_str(out, "; ");
			clean_text(out, o->names[i]);
			buf_add_str(out, " is not complete");
		}
	}
	buf_add_char(out, '\n');
}

static void
add_next(struct buf *out, const struct track *t, const struct mapdiff_opts *o, size_t row,
	 size_t last)
{
	int pid = o->maps[o->n - 1].pid;

	if (t->rows.len == 0 || change_kib(t, row, last) <= 0)
		return;
	if (pid != 0)
		buf_printf(out, "next: seep watch %d, or seep dump %d ", pid, pid);
	else
		buf_add_str(out, "next: seep watch PID, or seep dump PID ");
	clean_shell(out, t->rows.data[row].last.name);
	buf_add_char(out, '\n');
}

void
mapdiff_text(struct buf *out, const struct track *t, const struct mapdiff_opts *o)
{
	size_t last = t->seconds.len - 1, *order = order_rows(t, last);
	size_t most = o->rows > 0 ? o->rows : MAPDIFF_ROWS, shown = 0, more = 0;
	size_t from = out->len;
	int64_t rest = 0;

	add_verdict(out, t, o);
	buf_add_str(out, "  growth       before" ARROW "after         region\n");
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct track_row *r = &t->rows.data[order[i]];
		int64_t change = change_kib(t, order[i], last);

		if (r->kib.len == 0 || (change == 0 && !o->all))
			continue;
		if (shown < most || o->all) {
			add_row(out, t, order[i], last);
			shown++;
		} else {
			more++;
			rest += change;
		}
	}
	if (more > 0)
		buf_printf(out, "  %zu more region%s, net %s (--all)\n", more,
			   more == 1 ? "" : "s", fmt_size_signed(rest * 1024).s);
	add_about(out, o);
	add_next(out, t, o, t->rows.len > 0 ? order[0] : 0, last);
	if (o->ascii)
		figure_to_ascii(out, from);
	free(order);
}

void
mapdiff_json(struct buf *out, const struct track *t, const struct mapdiff_opts *o)
{
	size_t last = t->seconds.len - 1, *order = order_rows(t, last);
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_mapdiff", 1);
	json_member_str(&j, "verdict", verdict_word_name(mapdiff_word(t)));
	json_member_str(&j, "severity",
			verdict_severity_name(verdict_severity(mapdiff_word(t))));
	json_member_arr(&j, "files");
	for (size_t i = 0; i < o->n; i++) {
		json_obj(&j);
		json_member_str(&j, "name", o->names[i]);
		json_member_str(&j, "form", o->maps[i].form);
		json_member_i64(&j, "pid", o->maps[i].pid);
		json_member_u64(&j, "rss_bytes",
				memmap_total_kib(&o->maps[i], MEMMAP_RSS) << 10);
		json_member_bool(&j, "complete", o->maps[i].cut_lines == 0);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_key(&j, "seconds");
	if (o->timed)
		json_f64(&j, t->seconds.data[last] - t->seconds.data[0]);
	else
		json_null(&j);
	json_member_arr(&j, "regions");
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct track_row *r = &t->rows.data[order[i]];

		if (r->kib.len == 0)
			continue;
		json_obj(&j);
		json_member_str(&j, "name", r->last.name);
		json_member_str(&j, "kind", region_kind_name(r->last.kind));
		json_member_u64(&j, "before_bytes", track_row_kib(r, 0) << 10);
		json_member_u64(&j, "after_bytes", track_row_kib(r, last) << 10);
		json_member_i64(&j, "growth_bytes", change_kib(t, order[i], last) * 1024);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_obj_end(&j);
	buf_add_char(out, '\n');
	free(order);
}
