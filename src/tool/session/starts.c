/* SPDX-License-Identifier: MIT */
/* starts.c -- see starts.h. */
#include "tool/session/starts.h"

#include "tool/analyze/sites/skip.h"
#include "tool/format/format_save.h"
#include "tool/util/x.h"

struct emit_start *
starts_of(const struct prof *p, const struct skip_opts *o, bool **ret_tails)
{
	struct emit_start *starts = xcalloc(p->nsites, sizeof *starts);
	bool *tails = xcalloc(p->nnodes, sizeof *tails);
	struct skip *skip = skip_new(p, o);

	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].node != 0) {
			struct skip_pos at = skip_first(skip, p->sites[i].node);

			starts[i] = (struct emit_start){at.node, at.inl};
		}
	}
	for (uint32_t i = 1; i < p->nnodes; i++)
		tails[i] = skip_is_tail(skip, i);
	skip_free(skip);
	*ret_tails = tails;
	return starts;
}
