/* SPDX-License-Identifier: MIT */
/* report_json_moments.c -- "lost_between" of a site and "loss_checks" of all: when blocks
 * were lost, as repeated leak checks found out. */
#include "tool/analyze/sites/moments.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/report/report_json_impl.h"

static void
rj_mark(struct report_json *r, const char *key, const struct prof_mark *m)
{
	rj_id(r, key, m != NULL ? m->name : 0);
}

void
rj_moments(struct report_json *r, uint32_t row)
{
	struct moments all = {0};

	if (r->p->nmoments > 0)
		moments_of(r->p, &r->sites, row, &all);
	json_member_arr(&r->j, "lost_between");
	for (size_t i = 0; i < all.len; i++) {
		const struct prof_moment *m = &all.data[i];
		uint32_t process = r->p->sites[m->site].process;

		json_obj(&r->j);
		json_member_u64(&r->j, "pid", r->p->processes[process].pid);
		json_member_str(&r->j, "kind", loss_kind_names[m->kind]);
		json_member_u64(&r->j, "from_ms", m->from_ms);
		json_member_u64(&r->j, "to_ms", m->to_ms);
		json_member_u64(&r->j, "blocks", m->blocks);
		json_member_u64(&r->j, "bytes", m->bytes);
		rj_mark(r, "after_mark", moments_mark(r->p, process, 0, m->from_ms));
		rj_mark(r, "mark_during",
			moments_mark(r->p, process, m->from_ms + 1, m->to_ms));
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
	vec_done(&all);
}

void
rj_rounds(struct report_json *r)
{
	json_member_arr(&r->j, "loss_checks");
	for (uint32_t i = 0; i < r->p->nrounds; i++) {
		const struct prof_round *x = &r->p->rounds[i];

		if (r->o->chosen != NULL && !r->o->chosen[x->process])
			continue;
		json_obj(&r->j);
		json_member_u64(&r->j, "pid", r->p->processes[x->process].pid);
		json_member_u64(&r->j, "ms", x->ms);
		json_member_u64(&r->j, "checks", x->checks);
		json_member_bool(&r->j, "done", x->why == 0);
		rj_id(r, "why", x->why);
		if (x->why == 0) {
			json_member_u64(&r->j, "lost_bytes", x->lost_bytes);
			json_member_u64(&r->j, "lost_blocks", x->lost_blocks);
			json_member_u64(&r->j, "possible_bytes", x->possible_bytes);
			json_member_u64(&r->j, "possible_blocks", x->possible_blocks);
			json_member_u64(&r->j, "found_again_bytes", x->again_bytes);
			json_member_u64(&r->j, "found_again_blocks", x->again_blocks);
			json_member_u64(&r->j, "not_remembered_blocks",
					x->unfollowed_blocks);
			json_member_u64(&r->j, "stop_ns", x->stop_ns);
			json_member_u64(&r->j, "over_max_stop", x->late);
		}
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}
