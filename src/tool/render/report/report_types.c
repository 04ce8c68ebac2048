/* SPDX-License-Identifier: MIT */
/* report_types.c -- under a listed site: the types of its blocks, where a runtime says
 * them. */
#include "tool/analyze/sites/types.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/clean.h"

enum { REPORT_TYPES_SHOWN = 3 };

/* What shares are of: live bytes, or where nothing is live what was allocated. */
static double
types_bytes(const struct types_row *x, bool live)
{
	return live ? (double)x->live_bytes : (double)x->alloc_bytes;
}

void
report_types(struct report *r, const struct types *t, uint32_t row)
{
	struct types_list list = {0};
	bool live = false;
	double whole = 0;

	types_of(t, row, &list);
	for (size_t i = 0; i < list.len; i++)
		live = live || list.data[i].live_bytes > 0;
	for (size_t i = 0; i < list.len; i++)
		whole += types_bytes(&list.data[i], live);
	if (list.len > 0)
		buf_printf(r->out, "%*stype%s ", REPORT_INDENT, "",
			   list.len == 1 ? "" : "s");
	for (size_t i = 0; i < list.len && i < REPORT_TYPES_SHOWN; i++) {
		const struct types_row *x = &list.data[i];

		buf_add_str(r->out, i > 0 ? ", " : "");
		if (x->type != 0)
			clean_text(r->out, prof_text(r->p, x->type));
		else
			buf_add_str(r->out, "unknown");
		if (list.len > 1 && whole > 0)
			buf_printf(r->out, " %.0f %%",
				   100 * types_bytes(x, live) / whole);
	}
	if (list.len > REPORT_TYPES_SHOWN)
		buf_printf(r->out, ", %zu more", list.len - REPORT_TYPES_SHOWN);
	if (list.len > 0)
		buf_add_char(r->out, '\n');
	vec_done(&list);
}
