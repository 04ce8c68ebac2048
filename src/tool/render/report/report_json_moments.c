/* SPDX-License-Identifier: MIT */
/* report_json_moments.c -- "lost_between" of a site and "loss_checks" of all: when blocks
 * were lost, as repeated leak checks found out. */
#include "tool/analyze/sites/moments.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/moment_words.h"
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
		round_json(&r->j, x, prof_text(r->p, x->why));
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}
