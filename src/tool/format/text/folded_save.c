/* SPDX-License-Identifier: MIT */
/* folded_save.c -- a profile as folded stacks: one line a stack, outermost function
 * first.
 *
 *	main;load;parse 4096
 *
 * One figure, as chosen. Stacks that read the same are one line. What would end a name or
 * a line is replaced. Figures of 0 and below are left out: nobody who draws these can
 * show them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

/* Appends a name: `;` and control characters stand for something else here. */
static void
folded_name(struct buf *out, const char *name)
{
	size_t from = out->len;

	buf_add_str(out, name);
	for (; from < out->len; from++) {
		if (out->data[from] == ';')
			out->data[from] = ':';
		else if ((unsigned char)out->data[from] < ' ')
			out->data[from] = ' ';
	}
}

static void
folded_stack(struct buf *out, const struct emit_stacks *s, uint32_t node,
	     struct emit_path *path)
{
	emit_stacks_path(s, node, path);
	for (size_t i = 0; i < path->len; i++) {
		struct emit_frame f = emit_stacks_frame(s, path->data[i]);

		if (i > 0)
			buf_add_char(out, ';');
		folded_name(out, strtab_str(&s->names, f.name));
	}
	if (path->len == 0)
		buf_add_str(out, "[no stack]");
}

static int
folded_save(const struct prof *p, const struct format_save_opts *o, struct emit_out *out,
	    struct err *e)
{
	enum prof_value value = emit_choose(p, o);
	struct emit_path path = {0};
	struct emit_stacks s;
	int64_t *sums;
	int r = 0;

	emit_stacks_init(&s, p, o, EMIT_BY_NAME);
	sums = xcalloc(s.nodes.len, sizeof *sums);
	for (uint32_t i = 1; i < p->nsites; i++) {
		int64_t *sum = &sums[s.of_site[i]];

		*sum = emit_sum(*sum, prof_figure(&p->sites[i], value, o->objects));
	}
	for (uint32_t i = 0; i < s.nodes.len && r == 0; i++) {
		if (sums[i] < 0)
			emit_left_out(o);
		if (sums[i] <= 0)
			continue;
		folded_stack(out->buf, &s, i, &path);
		buf_printf(out->buf, " %" PRId64 "\n", sums[i]);
		r = emit_flush(out, false, e);
	}
	free(sums);
	vec_done(&path);
	emit_stacks_done(&s);
	return r;
}

const struct format_writer emit_folded = {
	.name = "folded",
	.what = "folded stacks, for flame graphs",
	.endings = ".folded .collapsed .stacks",
	.write = folded_save,
};
