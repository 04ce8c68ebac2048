/* SPDX-License-Identifier: MIT */
/* view_tally.c -- labels, threads and sizes: tables of something else than code. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/tally.h"
#include "tool/analyze/sites/value.h"
#include "tool/render/views/view_impl.h"
#include "tool/util/fmt.h"

/* Figure and share in front of a row. */
static void
view_tally_value(const struct view *v, const struct tally *t, struct buf *out,
		 const struct tally_row *r)
{
	struct graph counted = *v->g;
	struct view in = *v;

	if (t->in_blocks) {
		counted.in_bytes = false;
		in.g = &counted;
	}
	figure_right(out, view_amount(&in, r->value, r->var).s, 12);
	buf_add_str(out, "  ");
	figure_right(out, view_share_of(r->value, t->total).s, 6);
	buf_add_str(out, "  ");
}

/* The line over the rows; `what` they are. */
static void
view_tally_head(const struct view *v, const struct tally *t, struct buf *out,
		const char *what)
{
	if (t->nrows > 0)
		buf_printf(out, "%12s   share  %s\n",
			   t->in_blocks			   ? "allocs"
			   : v->g->in_bytes		   ? "bytes"
			   : v->q->value == PROF_ALLOCATED ? "allocs"
							   : "blocks",
			   what);
}

static void
view_tally_missing(const struct tally *t, struct buf *out)
{
	if (t->missing != NULL)
		buf_printf(out, "# %s%s\n",
			   t->nrows > 0 ? "" : "nothing to show: ", t->missing);
}

/* ---- threads ---- */

uint32_t
view_threads(struct buf *out, const struct view *v)
{
	struct tally t;

	tally_threads(&t, v->p, v->q, v->g);
	view_tally_missing(&t, out);
	view_tally_head(v, &t, out, "thread");
	for (uint32_t i = 0; i < t.nrows; i++) {
		const struct prof_thread *th = &v->p->threads[t.rows[i].thread];
		const char *name = prof_text(v->p, th->name);

		view_tally_value(v, &t, out, &t.rows[i]);
		if (t.rows[i].thread == 0) {
			buf_add_str(out, "(ended and other threads)\n");
			continue;
		}
		clean_text(out, name[0] != '\0' ? name : "thread");
		/* jemalloc's own numbers are written as jemalloc does */
		buf_printf(out, " (%s%u)", th->tid != 0 ? "" : "t",
			   value_thread_number(th));
		if (v->p->nprocesses > 2) {
			buf_add_str(out, " of ");
			clean_text(out, choose_process_name(v->p, th->process).s);
			buf_printf(out, " (%u)", v->p->processes[th->process].pid);
		}
		buf_add_str(out, th->ended ? ", ended\n" : "\n");
	}
	tally_done(&t);
	return 1;
}

uint32_t
view_threads_json(struct json *j, const struct view *v)
{
	struct tally t;

	tally_threads(&t, v->p, v->q, v->g);
	view_key_str(j, "missing", t.missing);
	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < t.nrows; i++) {
		const struct prof_thread *th = &v->p->threads[t.rows[i].thread];

		json_obj(j);
		view_key_number(j, "value", t.rows[i].value);
		view_key_error(v, j, "error", t.rows[i].var);
		json_key(j, "thread");
		if (t.rows[i].thread != 0)
			json_u64(j, value_thread_number(th));
		else
			json_null(j);
		view_key_str(j, "name", th->name != 0 ? prof_text(v->p, th->name) : NULL);
		view_key_number(j, "pid", v->p->processes[th->process].pid);
		json_obj_end(j);
	}
	json_arr_end(j);
	tally_done(&t);
	return 1;
}

/* ---- sizes ---- */

static void
view_size_row(struct buf *out, const struct view *v, const struct tally *t,
	      const struct tally_row *r, double most)
{
	size_t from;

	view_tally_value(v, t, out, r);
	from = out->len;
	if (!v->o->bytes)
		buf_add_str(out, figure_size_range(r->over_bytes, r->max_bytes).s);
	else if (r->max_bytes == UINT64_MAX)
		figure_right(out, "larger", 12);
	else
		buf_printf(out, "%12" PRIu64, r->max_bytes);
	if (!v->o->bytes) {
		figure_pad(out, from, 15, 2);
		view_bar(out, r->value, most, v->o->ascii);
	}
	buf_add_char(out, '\n');
}

uint32_t
view_sizes(struct buf *out, const struct view *v)
{
	struct tally t;
	double most = 0;

	tally_sizes(&t, v->p, v->q, v->g);
	view_tally_missing(&t, out);
	for (uint32_t i = 0; i < t.nrows; i++)
		most = fmax(most, t.rows[i].value);
	if (t.in_blocks)
		buf_add_str(out, "# counted in allocations\n");
	view_tally_head(v, &t, out, v->o->bytes ? "size at most" : "size of a block");
	for (uint32_t i = 0; i < t.nrows; i++)
		view_size_row(out, v, &t, &t.rows[i], most);
	tally_done(&t);
	return 1;
}

uint32_t
view_sizes_json(struct json *j, const struct view *v)
{
	struct tally t;

	tally_sizes(&t, v->p, v->q, v->g);
	view_key_str(j, "missing", t.missing);
	view_key_str(j, "rows_unit", t.in_blocks || !v->g->in_bytes ? "blocks" : "bytes");
	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < t.nrows; i++) {
		json_obj(j);
		json_member_u64(j, "over_bytes", t.rows[i].over_bytes);
		json_member_u64_if(j, "max_bytes", t.rows[i].max_bytes != UINT64_MAX,
				   t.rows[i].max_bytes);
		view_key_number(j, "value", t.rows[i].value);
		view_key_error(v, j, "error", t.rows[i].var);
		json_obj_end(j);
	}
	json_arr_end(j);
	tally_done(&t);
	return 1;
}

/* ---- labels ---- */

static void
view_label(const struct view *v, struct buf *out, const struct tally_row *r)
{
	const char *unit = prof_text(v->p, r->unit);

	if (r->text != 0) {
		clean_text(out, prof_text(v->p, r->text));
		return;
	}
	if (strcmp(unit, "bytes") == 0 && r->number >= 0 && !v->o->bytes) {
		buf_add_str(out, fmt_size((uint64_t)r->number).s);
		return;
	}
	buf_printf(out, "%" PRId64 "%s", r->number, unit[0] != '\0' ? " " : "");
	clean_text(out, unit);
}

uint32_t
view_tags(struct buf *out, const struct view *v)
{
	struct tally t;
	uint32_t shown = 0, i = 0;

	tally_labels(&t, v->p, v->q, v->g);
	view_tally_missing(&t, out);
	while (i < t.nrows) {
		uint32_t key = t.rows[i].key, end = i, rows;

		while (end < t.nrows && t.rows[end].key == key)
			end++;
		rows = view_limit(v, end - i);
		clean_text(out, prof_text(v->p, key));
		buf_printf(out, "   %s\n", figure_things(end - i, 0, "value").s);
		for (shown = 0; shown < rows; shown++) {
			const struct tally_row *r = &t.rows[i + shown];

			figure_right(out, view_amount(v, r->value, r->var).s, 12);
			buf_add_str(out, "  ");
			figure_right(out, view_share(v, r->value).s, 6);
			buf_add_str(out, "  ");
			view_label(v, out, r);
			buf_add_char(out, '\n');
		}
		if (end - i > rows)
			buf_printf(out, "# %u more values (--all)\n", end - i - rows);
		i = end;
	}
	tally_done(&t);
	return 1;
}

uint32_t
view_tags_json(struct json *j, const struct view *v)
{
	struct tally t;

	tally_labels(&t, v->p, v->q, v->g);
	view_key_str(j, "missing", t.missing);
	json_member_arr(j, "rows");
	for (uint32_t i = 0; i < t.nrows; i++) {
		const struct tally_row *r = &t.rows[i];

		json_obj(j);
		view_key_str(j, "key", prof_text(v->p, r->key));
		if (r->text != 0) {
			view_key_str(j, "text", prof_text(v->p, r->text));
		} else {
			view_key_number(j, "number", (double)r->number);
			view_key_str(j, "unit",
				     r->unit != 0 ? prof_text(v->p, r->unit) : NULL);
		}
		view_key_number(j, "value", r->value);
		view_key_error(v, j, "error", r->var);
		json_obj_end(j);
	}
	json_arr_end(j);
	tally_done(&t);
	return 1;
}
