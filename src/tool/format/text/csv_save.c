/* SPDX-License-Identifier: MIT */
/* csv_save.c -- a profile as a table for spreadsheets: one row a place, largest first.
 *
 * A place is a stack, told apart by functions, files and lines. Its innermost frame has
 * columns of its own, the whole stack is in the last, innermost function last. Figures
 * that the profile lacks have no columns. Fields are quoted as RFC 4180 says; lines
 * end in a newline alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

struct csv_column {
	const char *name;
	enum prof_value value;
	bool objects;
};

static const struct csv_column csv_columns[] = {
	{"live_bytes", PROF_LIVE, false},
	{"live_blocks", PROF_LIVE, true},
	{"peak_bytes", PROF_PEAK, false},
	{"peak_blocks", PROF_PEAK, true},
	{"allocated_bytes", PROF_ALLOCATED, false},
	{"allocations", PROF_ALLOCATED, true},
	{"temporary_bytes", PROF_TEMPORARY, false},
	{"temporary_allocations", PROF_TEMPORARY, true},
};

struct csv_row {
	uint32_t node;
	int64_t rank;
	int64_t sums[ARRAY_LEN(csv_columns)];
};

/* A field; quoted when it has to be. */
static void
csv_text(struct buf *out, const char *text)
{
	if (text[strcspn(text, ",\"\r\n")] == '\0') {
		buf_add_str(out, text);
		return;
	}
	buf_add_char(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			buf_add_char(out, '"');
		buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
}

static int
csv_compare(const void *a, const void *b)
{
	const struct csv_row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void
csv_head(const struct prof *p, struct buf *out)
{
	buf_add_str(out, "function,file,line,module");
	for (size_t i = 0; i < ARRAY_LEN(csv_columns); i++) {
		if (prof_has_value(p, csv_columns[i].value))
			buf_printf(out, ",%s", csv_columns[i].name);
	}
	buf_add_str(out, ",stack\n");
}

static void
csv_line(const struct emit_stacks *s, const struct csv_row *row, struct emit_path *path,
	 struct buf *out)
{
	const struct prof *p = s->p;
	struct emit_frame f = emit_stacks_frame(s, s->nodes.data[row->node].frame);
	struct buf stack = {0};

	csv_text(out, strtab_str(&s->names, f.name));
	buf_add_char(out, ',');
	csv_text(out, prof_text(p, f.file));
	buf_add_char(out, ',');
	if (f.line != 0)
		buf_printf(out, "%u", f.line);
	buf_add_char(out, ',');
	csv_text(out, prof_text(p, f.module));
	for (size_t i = 0; i < ARRAY_LEN(csv_columns); i++) {
		if (prof_has_value(p, csv_columns[i].value))
			buf_printf(out, ",%" PRId64, row->sums[i]);
	}
	emit_stacks_path(s, row->node, path);
	for (size_t i = 0; i < path->len; i++)
		buf_printf(
			&stack, "%s%s", i > 0 ? ";" : "",
			strtab_str(&s->names, emit_stacks_frame(s, path->data[i]).name));
	buf_add_char(out, ',');
	csv_text(out, buf_str(&stack));
	buf_add_char(out, '\n');
	buf_done(&stack);
}

/* A row for every stack that has a site. */
static struct csv_row *
csv_rows(const struct emit_stacks *s, const struct format_save_opts *o, size_t *ret_n)
{
	const struct prof *p = s->p;
	uint32_t *row_of = xcalloc(s->nodes.len, sizeof *row_of);
	struct csv_row *rows = xcalloc(p->nsites, sizeof *rows);
	enum prof_value value = emit_choose(p, o);
	uint32_t n = 0;

	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = s->of_site[i];
		struct csv_row *row;

		if (row_of[node] == 0) {
			row_of[node] = ++n;
			rows[n - 1].node = node;
		}
		row = &rows[row_of[node] - 1];
		row->rank =
			emit_sum(row->rank, prof_figure(&p->sites[i], value, o->objects));
		for (size_t k = 0; k < ARRAY_LEN(csv_columns); k++)
			row->sums[k] =
				emit_sum(row->sums[k],
					 prof_figure(&p->sites[i], csv_columns[k].value,
						     csv_columns[k].objects));
	}
	free(row_of);
	if (n > 1)
		qsort(rows, n, sizeof *rows, csv_compare);
	*ret_n = n;
	return rows;
}

static int
csv_save(const struct prof *p, const struct format_save_opts *o, struct emit_out *out,
	 struct err *e)
{
	struct emit_path path = {0};
	struct emit_stacks s;
	struct csv_row *rows;
	size_t n;
	int r = 0;

	emit_stacks_init(&s, p, o, EMIT_BY_LINE);
	rows = csv_rows(&s, o, &n);
	csv_head(p, out->buf);
	for (size_t i = 0; i < n && r == 0; i++) {
		csv_line(&s, &rows[i], &path, out->buf);
		r = emit_flush(out, false, e);
	}
	free(rows);
	vec_done(&path);
	emit_stacks_done(&s);
	return r;
}

const struct format_writer emit_csv = {
	.name = "csv",
	.what = "table for spreadsheets, one row for each site",
	.endings = ".csv",
	.write = csv_save,
};
