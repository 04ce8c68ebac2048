/* SPDX-License-Identifier: MIT */
/* view_lost.c -- the timeline's column of lost bytes: what repeated leak checks found,
 * each time. */
#include "tool/analyze/sites/moments.h"
#include "tool/render/views/view_impl.h"
#include "tool/util/fmt.h"

bool
view_lost_has(const struct view *v, uint32_t process)
{
	return moments_round_at(v->p, process, UINT64_MAX) != NULL;
}

void
view_lost_cell(struct buf *out, const struct view *v, uint32_t process, uint64_t ms,
	       size_t width)
{
	const struct prof_round *x = moments_round_at(v->p, process, ms);

	figure_right(out,
		     x == NULL		  ? "-"
		     : x->lost_bytes == 0 ? "0"
					  : fmt_size(x->lost_bytes).s,
		     width);
}

void
view_lost_json(struct json *j, const struct view *v, uint32_t process)
{
	json_member_arr(j, "loss_checks");
	for (uint32_t i = 0; i < v->p->nrounds; i++) {
		const struct prof_round *x = &v->p->rounds[i];

		if (x->process != process || x->why != 0)
			continue;
		json_obj(j);
		json_member_u64(j, "ms", x->ms);
		json_member_u64(j, "lost_bytes", x->lost_bytes);
		json_member_u64(j, "lost_blocks", x->lost_blocks);
		json_member_u64(j, "possible_bytes", x->possible_bytes);
		json_member_u64(j, "possible_blocks", x->possible_blocks);
		json_obj_end(j);
	}
	json_arr_end(j);
}
