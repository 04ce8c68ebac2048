/* SPDX-License-Identifier: MIT */
/* report_json_places.c -- the places of a JSON report: frames, stacks, figures,
 * growth. */
#include "tool/render/report/report_json_impl.h"

#include <stdlib.h>

#include "tool/analyze/sites/contrast.h"
#include "tool/analyze/sites/hidden.h"

enum { DRAIN_BYTES = 1 << 18 };

/* Frames have numbers: those of a location follow one another, a location without names
 * has one. */
uint32_t
rj_frame_number(struct report_json *r, uint32_t loc, uint32_t inl)
{
	if (r->first[loc] == UINT32_MAX) {
		uint32_t n = r->p->locs[loc].nframes;

		r->first[loc] = r->nframes;
		r->nframes += n > 0 ? n : 1;
		r->used[r->nused++] = loc;
	}
	return r->first[loc] + inl;
}

/* One function at a location; `f` is NULL when it has no name. */
static void
rj_frame(struct report_json *r, const struct prof_loc *l, const struct prof_frame *f)
{
	static const char *const kinds[] = {
		[PROF_LOC_CODE] = "code",
		[PROF_LOC_TRUNCATED] = "truncated",
		[PROF_LOC_ELIDED] = "elided",
		[PROF_LOC_CLASS] = "class",
	};

	json_obj(&r->j);
	json_member_str(&r->j, "kind",
			l->kind <= PROF_LOC_CLASS ? kinds[l->kind] : "code");
	rj_id(r, "function", f != NULL ? f->function : 0);
	rj_id(r, "linkage", f != NULL ? (f->linkage != 0 ? f->linkage : f->function) : 0);
	rj_id(r, "file", f != NULL ? f->file : 0);
	json_key(&r->j, "line");
	if (f != NULL && f->line != 0)
		json_u64(&r->j, f->line);
	else
		json_null(&r->j);
	rj_id(r, "source", f != NULL ? f->source : 0);
	json_member_bool(&r->j, "inlined", f != NULL && f->inlined);
	json_member_str(&r->j, "language",
			prof_lang_name(f != NULL ? f->lang : PROF_NATIVE));
	json_member_u64_if(&r->j, "module", l->module != 0, l->module - 1);
	/* the top bit marks a location that is known by name alone */
	json_member_u64_if(&r->j, "offset", l->offset >> 63 == 0, l->offset);
	json_obj_end(&r->j);
}

/* Long lists leave in pieces. */
static void
rj_drain(struct report_json *r)
{
	if (r->o->drain != NULL && r->j.out->len > DRAIN_BYTES)
		r->o->drain(r->o->drain_ctx, r->j.out);
}

void
rj_frames(struct report_json *r)
{
	json_member_arr(&r->j, "frames");
	for (uint32_t i = 0; i < r->nused; i++) {
		const struct prof_loc *l = &r->p->locs[r->used[i]];

		rj_drain(r);
		for (uint32_t k = 0; k < l->nframes; k++)
			rj_frame(r, l, &r->p->frames[l->frames + k]);
		if (l->nframes == 0)
			rj_frame(r, l, NULL);
	}
	json_arr_end(&r->j);
}

/* Which frames of the stack the text report folds: positions, of the frames that it would
 * show otherwise. */
static void
rj_folded(struct report_json *r, uint32_t node, uint64_t from)
{
	struct skip_pos at = skip_first(r->skip, node);
	struct skip_stack kept = {0};
	size_t k = 0;

	skip_stack_as(r->skip, node, true, &kept);
	json_member_arr(&r->j, "folded");
	for (bool more = node != 0; more; more = skip_next(r->skip, &at), from++) {
		if (k < kept.len && kept.data[k].node == at.node &&
		    kept.data[k].inl == at.inl)
			k++;
		else
			json_u64(&r->j, from);
	}
	json_arr_end(&r->j);
	vec_done(&kept);
}

/* The whole stack, and which part of it the text report shows. */
static void
rj_stack(struct report_json *r, uint32_t node)
{
	struct skip_pos pos = {.node = node}, at = skip_first(r->skip, node);
	uint64_t n = 0, from = 0, shown = node != 0;

	json_member_arr(&r->j, "stack");
	for (bool more = node != 0; more; more = skip_step(r->p, &pos), n++) {
		if (pos.node == at.node && pos.inl == at.inl)
			from = n;
		json_u64(&r->j, rj_frame_number(r, r->p->nodes[pos.node].loc, pos.inl));
	}
	json_arr_end(&r->j);
	while (skip_next(r->skip, &at))
		shown++;
	json_member_u64(&r->j, "shown_from", from);
	json_member_u64(&r->j, "shown", shown);
	rj_folded(r, node, from);
}

/* Figures that only some words have. */
static void
rj_growth_why(struct report_json *r, const struct growth_verdict *v)
{
	if (v->mature_live > 0) {
		json_member_u64(&r->j, "older_live", v->mature_live);
		json_member_u64(&r->j, "older_freed", v->mature_freed);
		json_member_u64(&r->j, "most_freed_within_ms", v->most_ms);
	}
	if (v->why == GROWTH_WHY_STEPS) {
		json_member_u64(&r->j, "steps", v->steps);
		json_member_u64(&r->j, "last_step_ms", v->last_step_ms);
		json_member_u64(&r->j, "step_ms", v->step_ms);
	}
	if (v->why == GROWTH_WHY_LARGER)
		json_member_i64(&r->j, "blocks", v->blocks);
	if (v->why == GROWTH_WHY_FREED_AT_EXIT) {
		json_member_i64(&r->j, "from_bytes", v->low_bytes);
		json_member_i64(&r->j, "to_bytes", v->high_bytes);
	}
}

/* What can be said of the growth of one place; null for nothing. */
static void
rj_growth(struct report_json *r, uint32_t row)
{
	const struct growth_place *x =
		r->growth.rows != NULL ? &r->growth.rows[row] : NULL;

	json_key(&r->j, "growth");
	if (x == NULL || (x->v.word == GROWTH_UNKNOWN && x->v.why == GROWTH_WHY_NONE)) {
		json_null(&r->j);
		return;
	}
	json_obj(&r->j);
	json_member_str(&r->j, "verdict", growth_word_name(x->v.word));
	json_member_str(&r->j, "why", growth_why_name(x->v.why));
	json_member_f64(&r->j, "bytes_per_second", x->slope);
	json_member_f64(&r->j, "bytes_per_second_error", x->error);
	json_member_u64(&r->j, "processes", x->processes);
	json_member_u64(&r->j, "grew", x->v.grew);
	json_member_u64(&r->j, "intervals", x->v.intervals);
	json_member_i64(&r->j, "samples", x->v.samples);
	json_member_i64(&r->j, "allocs", x->v.allocs);
	json_member_i64(&r->j, "frees", x->v.frees);
	json_member_u64(&r->j, "from_ms", x->v.from_ms);
	json_member_u64(&r->j, "ms", x->v.ms);
	rj_known(r, "oldest_ms", x->v.oldest_ms);
	rj_known(r, "older_than_ms", x->v.mature_ms);
	rj_known(r, "more_ms", x->v.more_ms);
	rj_growth_why(r, &x->v);
	if (x->v.older > 0) {
		json_member_f64(&r->j, "kept_bytes_per_second", x->v.came);
		json_member_f64(&r->j, "older_freed_bytes_per_second", x->v.older);
	}
	json_obj_end(&r->j);
}

void
rj_growth_all(struct report_json *r)
{
	const struct growth_places *g = &r->growth;

	json_key(&r->j, "growth");
	if (g->rows == NULL || g->word == GROWTH_UNKNOWN) {
		json_null(&r->j);
		return;
	}
	json_obj(&r->j);
	json_member_str(&r->j, "verdict", growth_word_name(g->word));
	json_member_f64(&r->j, "bytes_per_second", g->slope);
	json_member_f64(&r->j, "bytes_per_second_error", g->error);
	json_member_u64(&r->j, "leak_likely", g->count[GROWTH_LEAK]);
	json_member_u64(&r->j, "growing", g->count[GROWTH_GROWING]);
	json_member_u64(&r->j, "steady", g->count[GROWTH_STEADY]);
	json_member_u64(&r->j, "ms", g->ms);
	json_member_u64(&r->j, "intervals", g->intervals);
	json_member_bool(&r->j, "judged", growth_places_judged(g));
	json_member_str(&r->j, "why", growth_why_name(g->why));
	json_key(&r->j, "limit_bytes_per_second");
	if (g->rate_bytes > 0 && g->ms > 0)
		json_f64(&r->j, growth_limit(g->rate_bytes, g->ms));
	else
		json_null(&r->j);
	json_member_u64(&r->j, "limit_samples",
			g->rate_bytes > 0 ? GROWTH_LIMIT_SAMPLES : GROWTH_NEVER_FREED);
	json_obj_end(&r->j);
}

/* Who holds the blocks of a place, where a leak check of the running process has found
 * out. */
static void
rj_holder(struct report_json *r, uint32_t row)
{
	const struct prof_holder *most = NULL;

	for (uint32_t i = 0; i < r->p->nholders; i++) {
		const struct prof_holder *h = &r->p->holders[i];

		if (r->sites.row_of_site[h->site] == row &&
		    (most == NULL || h->blocks > most->blocks))
			most = h;
	}
	rj_id(r, "held_by", most != NULL ? most->name : 0);
}

static void
rj_contrast_side(struct report_json *r, const char *key, enum contrast_by by,
		 const struct contrast_side *side)
{
	json_member_obj(&r->j, key);
	json_member_u64(&r->j, "blocks", side->blocks);
	json_member_u64(&r->j, "of", side->of);
	json_member_u64(&r->j, "parts", side->parts);
	if (by == CONTRAST_CALLER) {
		json_member_u64(&r->j, "frame",
				rj_frame_number(r, r->p->nodes[side->caller.node].loc,
						side->caller.inl));
	} else if (by == CONTRAST_THREAD) {
		rj_id(r, "thread", side->thread_name);
		json_member_u64(&r->j, "tid",
				side->thread != 0 ? r->p->threads[side->thread].tid : 0);
	} else {
		json_member_u64(&r->j, "over_bytes", side->over_bytes);
		json_member_u64_if(&r->j, "max_bytes", side->max_bytes != UINT64_MAX,
				   side->max_bytes);
	}
	json_obj_end(&r->j);
}

/* What tells the lost blocks of a line from the freed ones; null when nothing does. */
static void
rj_contrast(struct report_json *r, struct contrast *c, uint32_t row)
{
	static const char *const names[] = {[CONTRAST_CALLER] = "caller",
					    [CONTRAST_THREAD] = "thread",
					    [CONTRAST_SIZE] = "size"};
	struct contrast_found f;

	json_key(&r->j, "lost_when");
	if (!contrast_find(c, row, &f)) {
		json_null(&r->j);
		return;
	}
	json_obj(&r->j);
	json_member_str(&r->j, "by", names[f.by]);
	json_member_bool(&r->j, "only", f.only);
	rj_contrast_side(r, "lost", f.by, &f.lost);
	rj_contrast_side(r, "freed", f.by, &f.freed);
	json_obj_end(&r->j);
}

/* What the blocks of a place are; null when no runtime has said so. */
static void
rj_types(struct report_json *r, const struct types *t, uint32_t row)
{
	struct types_list list = {0};

	types_of(t, row, &list);
	json_key(&r->j, "types");
	if (list.len == 0)
		json_null(&r->j);
	else
		json_arr(&r->j);
	for (size_t i = 0; i < list.len; i++) {
		json_obj(&r->j);
		rj_id(r, "type", list.data[i].type);
		json_member_i64(&r->j, "live_bytes", list.data[i].live_bytes);
		json_member_i64(&r->j, "live_blocks", list.data[i].live_blocks);
		json_member_u64(&r->j, "allocs", list.data[i].allocs);
		json_member_u64(&r->j, "allocated_bytes", list.data[i].alloc_bytes);
		json_obj_end(&r->j);
	}
	if (list.len > 0)
		json_arr_end(&r->j);
	vec_done(&list);
}

/* What the sites have that are not listed. */
static void
rj_not_listed(struct report_json *r)
{
	struct sites_total sum = {0};

	for (uint32_t i = r->listed; i < r->sites.nrows; i++)
		sites_total_join(&sum, &r->sites.rows[i].t);
	json_member_obj(&r->j, "sites_not_listed");
	json_member_u64(&r->j, "sites", r->sites.nrows - r->listed);
	rj_total(r, &sum);
	json_obj_end(&r->j);
}

void
rj_sites(struct report_json *r)
{
	struct contrast *contrast = contrast_new(r->p, r->folding, &r->sites);
	struct types *types = types_new(r->p, &r->sites);
	bool *hidden = hidden_find(r->p, &r->sites);

	json_member_arr(&r->j, "sites");
	for (uint32_t i = 0; i < r->listed; i++) {
		const struct sites_row *row = &r->sites.rows[i];

		rj_drain(r);
		json_obj(&r->j);
		rj_total(r, &row->t);
		json_member_i64(&r->j, "lost_through_bytes", row->t.through_bytes);
		rj_column(r, "own_peak_bytes", row->peak_bytes, PROF_HAS_ALL);
		rj_column(r, "first_ms", (int64_t)row->first_ms, PROF_HAS_ALL);
		json_member_str(&r->j, "kept_by_libc", row->kept);
		json_member_str(&r->j, "verdict",
				r->growth.rows != NULL
					? verdict_word_name(verdict_of_site(
						  &r->v, &r->growth.rows[i], row))
					: NULL);
		rj_growth(r, i);
		rj_contrast(r, contrast, i);
		rj_moments(r, i);
		json_member_bool(&r->j, "freed_as_old", hidden[i]);
		rj_holder(r, i);
		rj_types(r, types, i);
		json_member_u64(&r->j, "processes", row->processes);
		json_member_u64(&r->j, "pid", r->p->processes[row->process].pid);
		rj_stack(r, row->node);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
	contrast_free(contrast);
	types_free(types);
	free(hidden);
	rj_not_listed(r);
}
