/* SPDX-License-Identifier: MIT */
/* report_contrast.c -- under a listed site: what tells its lost blocks from the freed
 * ones. */
#include "tool/analyze/sites/contrast.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/fmt.h"

/* "by thread io"; with its number when the other side's has the same name. */
static void
contrast_thread_words(struct report *r, const struct contrast_side *side,
		      const struct contrast_side *other)
{
	const char *name = prof_text(r->p, side->thread_name);

	if (side->thread == 0 && name[0] == '\0') {
		buf_add_str(r->out, "by threads that have ended");
		return;
	}
	buf_add_str(r->out, side->thread == 0 ? "by threads named " : "by thread ");
	clean_text(r->out, name);
	if (side->thread != 0 && (side->thread_name == other->thread_name || !name[0]))
		buf_printf(r->out, "%s%u", name[0] != '\0' ? " " : "",
			   r->p->threads[side->thread].tid);
}

/* "when called from handle_ok http.c:93 and 2 more callers (1,203 of 1,203)" */
static void
contrast_side_words(struct report *r, enum contrast_by by,
		    const struct contrast_side *side, const struct contrast_side *other)
{
	const char *more = NULL;

	switch (by) {
	case CONTRAST_CALLER:
		buf_add_str(r->out, "when called from ");
		report_frame_short(r, side->caller);
		more = "caller";
		break;
	case CONTRAST_THREAD:
		buf_add_str(r->out, "when allocated ");
		contrast_thread_words(r, side, other);
		more = "thread";
		break;
	default:
		buf_printf(r->out, "at sizes of %s",
			   figure_size_range(side->over_bytes, side->max_bytes).s);
		break;
	}
	if (more != NULL && side->parts > 1)
		buf_printf(r->out, " and %u more %s%s", side->parts - 1, more,
			   side->parts > 2 ? "s" : "");
	buf_printf(r->out, " (%s of %s)", fmt_count(side->blocks).s,
		   fmt_count(side->of).s);
}

void
report_contrast(struct report *r, uint32_t row, struct map *told)
{
	struct contrast_found f;

	if (r->hidden != NULL && r->hidden[row])
		buf_printf(
			r->out,
			"%*sblocks as old as these were freed: lost since then, or the "
			"program hides its pointers (XOR, compressed)\n",
			REPORT_INDENT, "");
	if (r->contrast == NULL || !contrast_find(r->contrast, row, &f) ||
	    (*map_add(told, f.line))++ > 0)
		return;
	buf_printf(r->out, "%*slost %s ", REPORT_INDENT, "", f.only ? "only" : "mostly");
	contrast_side_words(r, f.by, &f.lost, &f.freed);
	buf_add_str(r->out, "; freed ");
	contrast_side_words(r, f.by, &f.freed, &f.lost);
	buf_add_char(r->out, '\n');
}
