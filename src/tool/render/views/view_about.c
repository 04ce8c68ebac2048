/* SPDX-License-Identifier: MIT */
/* view_about.c -- what a profile of another tool is, in one line. Only what its format
 * tells. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/analyze/sites/value.h"
#include "tool/render/views/view_impl.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

/* Sum of a figure over all chosen sites. */
static double
view_about_sum(const struct view *v, enum prof_value value, bool objects)
{
	struct graph_query q = {.value = value,
				.objects = objects,
				.chosen = v->q->chosen,
				.integers = v->q->integers};
	struct values values;
	double sum = 0;

	values_load(&values, v->p, &q);
	for (uint32_t i = 1; i < v->p->nsites; i++)
		sum += values.v[i];
	values_done(&values);
	return sum;
}

static void
view_about_value(const struct view *v, struct buf *out, enum prof_value value)
{
	struct graph in_bytes = *v->g, in_blocks = *v->g;
	struct view bytes = *v, blocks = *v;
	double count = view_about_sum(v, value, true);

	in_bytes.in_bytes = true;
	in_blocks.in_bytes = false;
	bytes.g = &in_bytes;
	blocks.g = &in_blocks;
	buf_printf(out, VIEW_SEP "%s %s", value_names[value],
		   view_amount(&bytes, view_about_sum(v, value, false), 0).s);
	if (count != 0) /* not every format has it */
		buf_printf(out, " in %s blocks", view_amount(&blocks, count, 0).s);
}

static void
view_about_comments(const struct view *v, struct buf *out)
{
	char *lines = xstrdup(prof_text(v->p, v->p->comments)), *rest = lines, *line;

	/* pprof keeps those that begin with # to itself */
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] == '\0' || line[0] == '#')
			continue;
		buf_add_str(out, "# ");
		clean_text(out, line);
		buf_add_char(out, '\n');
	}
	free(lines);
}

void
view_about(struct buf *out, const struct view *v)
{
	const struct prof *p = v->p;
	time_t seconds = (time_t)(p->time_ns / 1000000000);
	uint64_t rate = 0;
	size_t from = out->len;
	char when[32];
	struct tm tm;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].mode == PROF_SAMPLED &&
		    p->processes[i].rate_bytes > rate)
			rate = p->processes[i].rate_bytes;
	}
	clean_text(out, p->format != 0 ? prof_text(p, p->format) : "profile");
	if (p->time_ns != 0 && localtime_r(&seconds, &tm) != NULL &&
	    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		buf_printf(out, VIEW_SEP "taken %s", when);
	if (rate > 1)
		buf_printf(out, VIEW_SEP "one sample per ~%s", fmt_size(rate).s);
	for (unsigned i = 0; i < PROF_VALUES; i++) {
		if (prof_has_value(p, i))
			view_about_value(v, out, i);
	}
	buf_add_char(out, '\n');
	view_about_comments(v, out);
	if (v->o->ascii)
		figure_to_ascii(out, from);
}
