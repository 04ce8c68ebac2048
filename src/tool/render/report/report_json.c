/* SPDX-License-Identifier: MIT */
/* report_json.c -- everything a report knows, as one JSON object; docs/json.md has the
 * schema.
 *
 * Unlike in the text nothing is rounded, stacks are whole, with the allocator's frames,
 * and every process and counter is there. Only sites may be left out, and their sums are
 * given then. Figures are bytes, counts and milliseconds. */
#include "tool/render/report/report_json_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/verdict/report_data.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/error_json.h"
#include "tool/render/figure.h"
#include "tool/render/leaks/leak_json.h"

/* The members of "lost", by enum rec_lost. */
static const char *const report_json_lost[REC_LOST_MAX] = {
	[REC_LOST_SPACE] = "space",	    [REC_LOST_REENTRY] = "reentry",
	[REC_LOST_LOCK] = "lock",	    [REC_LOST_ADDRESS] = "address",
	[REC_LOST_TRUNCATED] = "truncated", [REC_LOST_ELIDED] = "elided",
	[REC_LOST_CHILD] = "child",	    [REC_LOST_BOOT] = "boot",
	[REC_LOST_MARK] = "mark",	    [REC_LOST_MODULE] = "module",
	[REC_LOST_THREAD] = "thread",	    [REC_LOST_EXEC] = "exec",
	[REC_LOST_PAST] = "past",	    [REC_LOST_LIBC] = "libc",
	[REC_LOST_MISSED] = "missed_child", [REC_LOST_NAME] = "name",
	[REC_LOST_MIXED] = "mixed",	    [REC_LOST_MOMENT] = "moment",
};

void
rj_known(struct report_json *r, const char *key, uint64_t n)
{
	json_member_u64_if(&r->j, key, n != 0, n);
}

void
rj_column(struct report_json *r, const char *key, int64_t n, int of)
{
	json_member_i64_if(&r->j, key, (r->p->columns & of) == of, n);
}

void
rj_id(struct report_json *r, const char *key, uint32_t id)
{
	json_member_str(&r->j, key, id != 0 ? prof_text(r->p, id) : NULL);
}

void
rj_error(struct report_json *r, const char *key, double variance)
{
	json_key(&r->j, key);
	/* other tools' estimates have an error too, only nobody knows which */
	if (variance == 0 && r->p->columns != PROF_HAS_ALL)
		json_null(&r->j);
	else
		json_f64(&r->j, figure_sqrt(variance));
}

/* How what was left is lost; `done`: whether that was looked for; `known`: bytes and
 * blocks that a baseline has. The caller ends the object. */
static void
rj_leaks(struct report_json *r, bool done, const int64_t *bytes, const int64_t *blocks,
	 const int64_t known[2])
{
	json_member_obj(&r->j, "leaks");
	json_member_bool(&r->j, "done", done);
	json_member_i64(&r->j, "known_bytes", known[0]);
	json_member_i64(&r->j, "known_blocks", known[1]);
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		char key[24];

		snprintf(key, sizeof key, "%s_bytes", loss_kind_names[i]);
		json_member_i64(&r->j, key, bytes[i]);
		snprintf(key, sizeof key, "%s_blocks", loss_kind_names[i]);
		json_member_i64(&r->j, key, blocks[i]);
	}
}

/* Further verdicts, the most serious first. */
static void
rj_also(struct report_json *r, unsigned words)
{
	json_member_arr(&r->j, "also");
	for (int i = VERDICT_WORDS - 1; i >= 0; i--) {
		if ((words >> i & 1) != 0)
			json_str(&r->j, verdict_word_name((enum verdict_word)i));
	}
	json_arr_end(&r->j);
}

/* Only a recording of our own tells how a process ended and what it freed, and only a
 * leak check what is lost. `judged`: these figures have a verdict. */
static void
rj_figures(struct report_json *r, const struct verdict_figures *f, bool judged)
{
	bool own = (r->p->columns == PROF_HAS_ALL || r->p->nchecks > 0) &&
		   r->o->point.at == SITES_AT_END; /* other points have no verdict */

	json_member_str(&r->j, "verdict",
			own && judged ? verdict_word_name(f->answer.word) : NULL);
	json_member_str(&r->j, "severity",
			own && judged
				? verdict_severity_name(verdict_severity(f->answer.word))
				: NULL);
	rj_also(r, own && judged ? f->answer.also : 0);
	json_member_str(&r->j, "no_verdict_because",
			own ? verdict_why_name(f->answer.why) : NULL);
	rj_column(r, "left_bytes", f->bytes, PROF_HAS_LIVE);
	rj_column(r, "left_blocks", f->blocks, PROF_HAS_LIVE);
	rj_error(r, "left_bytes_error", f->var_bytes);
	json_member_u64(&r->j, "left_places", f->places);
	rj_column(r, "kept_by_libc_bytes", f->kept_bytes, PROF_HAS_LIVE);
	rj_column(r, "kept_by_libc_blocks", f->kept_blocks, PROF_HAS_LIVE);
	rj_column(r, "freed_only_at_exit_bytes", f->held_bytes, PROF_HAS_ALL);
	rj_column(r, "freed_only_at_exit_blocks", f->held_blocks, PROF_HAS_ALL);
	rj_column(r, "allocs", (int64_t)f->allocs, PROF_HAS_ALLOCS);
	rj_column(r, "frees", (int64_t)f->frees, PROF_HAS_ALL);
	rj_column(r, "allocated_bytes", (int64_t)f->alloc_bytes, PROF_HAS_ALLOCS);
	rj_column(r, "temporary_allocs", (int64_t)f->temps, PROF_HAS_TEMPS);
	json_member_u64(&r->j, "samples", f->samples);
	rj_known(r, "loss_limit_bytes", f->loss_limit_bytes);
	rj_leaks(r, f->checked, f->loss_bytes, f->loss_blocks,
		 (const int64_t[]){f->known_bytes, f->known_blocks});
	json_member_i64(&r->j, "possible_leftover_bytes", f->leftover_bytes);
	json_member_i64(&r->j, "possible_leftover_blocks", f->leftover_blocks);
	json_member_i64(&r->j, "younger_bytes", f->younger_bytes);
	json_member_i64(&r->j, "younger_blocks", f->younger_blocks);
	json_obj_end(&r->j);
	json_member_str(&r->j, "not_judged",
			f->managed != NULL ? f->managed->name : NULL);
	json_member_i64(&r->j, "not_judged_bytes", f->managed_bytes);
	json_member_i64(&r->j, "not_judged_blocks", f->managed_blocks);
}

static void
rj_end(struct report_json *r, const struct prof_process *pr)
{
	static const char *const ends[] = {
		[PROF_END_UNKNOWN] = "unknown", [PROF_END_RUNNING] = "running",
		[PROF_END_EXITED] = "exited",	[PROF_END_SIGNAL] = "signal",
		[PROF_END_EXEC] = "exec",
	};

	json_member_str(&r->j, "end",
			pr->end <= PROF_END_EXEC ? ends[pr->end] : "unknown");
	json_member_i64_if(&r->j, "status",
			   (pr->end == PROF_END_EXITED && pr->status >= 0) ||
				   pr->end == PROF_END_SIGNAL,
			   pr->status);
	if (pr->end == PROF_END_SIGNAL)
		json_member_str(&r->j, "signal", figure_signal(pr->status).s);
}

static void
rj_lost(struct report_json *r, const struct prof_process *pr)
{
	json_member_obj(&r->j, "lost");
	for (unsigned i = 0; i < REC_LOST_MAX && i < PROF_LOST_MAX; i++) {
		if (report_json_lost[i] != NULL)
			json_member_u64(&r->j, report_json_lost[i], pr->lost[i]);
	}
	json_member_u64(&r->j, "frees_inherited",
			pr->frees_inherited + pr->inherited_frees);
	json_member_u64(&r->j, "frees_unknown", pr->frees_unknown);
	json_member_u64(&r->j, "frees_unseen", pr->frees_unseen);
	json_member_u64(&r->j, "paused_allocs", pr->paused_allocs);
	json_member_bool(&r->j, "sealed_by_seccomp", (pr->flags & REC_FLAG_SEALED) != 0);
	json_obj_end(&r->j);
}

static void
rj_memory(struct report_json *r, const struct prof_process *pr)
{
	static const char *const ooms[] = {[PROF_OOM_NO] = NULL,
					   [PROF_OOM_LIKELY] = "likely",
					   [PROF_OOM_SURE] = "sure"};

	json_member_obj(&r->j, "memory");
	json_member_u64(&r->j, "rss_bytes", pr->rss_kib << 10);
	json_member_u64(&r->j, "rss_peak_bytes", pr->rss_peak_kib << 10);
	json_member_u64(&r->j, "anonymous_bytes", pr->anon_kib << 10);
	json_member_u64(&r->j, "stack_bytes", pr->stack_kib << 10);
	json_member_u64(&r->j, "static_bytes", pr->static_kib << 10);
	json_member_u64(&r->j, "recorder_bytes", pr->recorder_kib << 10);
	json_member_u64(&r->j, "limit_bytes", pr->limit_bytes);
	json_member_u64(&r->j, "limit_used_bytes", pr->usage_bytes);
	json_member_str(&r->j, "oom", pr->oom < 3 ? ooms[pr->oom] : NULL);
	rj_id(r, "hidden_in", pr->coverage);
	json_obj_end(&r->j);
}

/* What grew, or became larger, beside the blocks of malloc. */
static void
rj_outside(struct report_json *r, uint32_t process)
{
	json_member_arr(&r->j, "outside");
	for (uint32_t i = 0; i < r->p->nmemories; i++) {
		const struct prof_memory *m = &r->p->memories[i];

		if (m->process != process || m->kind == 0)
			continue;
		json_obj(&r->j);
		rj_id(r, "kind", m->kind);
		json_member_bool(&r->j, "grows", m->grows);
		json_member_u64(&r->j, "first_bytes", m->first_kib << 10);
		json_member_u64(&r->j, "last_bytes", m->last_kib << 10);
		json_member_f64(&r->j, "bytes_per_second", m->slope);
		json_member_f64(&r->j, "bytes_per_second_error", m->error);
		json_member_u64(&r->j, "grew", m->grew);
		json_member_u64(&r->j, "intervals", m->intervals);
		rj_id(r, "remedy", m->remedy);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

static void
rj_inherited(struct report_json *r, const struct prof_process *pr)
{
	json_key(&r->j, "inherited");
	if ((pr->flags & REC_FLAG_TABLE_COPIED) == 0 && pr->inherited_blocks == 0) {
		json_null(&r->j);
		return;
	}
	json_obj(&r->j);
	json_member_u64(&r->j, "blocks", pr->inherited_blocks);
	json_member_u64(&r->j, "bytes", pr->inherited_bytes);
	json_member_u64(&r->j, "freed_blocks", pr->inherited_frees);
	json_member_u64(&r->j, "freed_bytes", pr->inherited_free_bytes);
	json_obj_end(&r->j);
}

static void
rj_process(struct report_json *r, uint32_t i)
{
	const struct prof_process *pr = &r->p->processes[i];

	json_obj(&r->j);
	rj_known(r, "pid", pr->pid);
	rj_known(r, "ppid", pr->ppid);
	json_member_str(&r->j, "name", choose_process_name(r->p, i).s);
	rj_id(r, "exe", pr->exe);
	rj_id(r, "cmdline", pr->cmdline);
	rj_id(r, "cwd", pr->cwd);
	rj_id(r, "host", pr->host);
	rj_id(r, "allocator", pr->allocator);
	rj_id(r, "not_recorded", pr->not_recorded);
	json_member_bool(&r->j, "in_focus", r->focus[i]);
	json_member_str(&r->j, "mode",
			prof_is_walked(r->p)	   ? NULL
			: pr->mode == PROF_SAMPLED ? "sampled"
						   : "exact");
	json_member_u64(&r->j, "rate_bytes", pr->rate_bytes);
	rj_known(r, "start_ns", pr->start_ns);
	rj_column(r, "duration_ms", (int64_t)pr->duration_ms, PROF_HAS_ALL);
	rj_known(r, "exit_ms", pr->exit_ms);
	rj_end(r, pr);
	json_member_bool(&r->j, "paused", pr->paused);
	rj_column(r, "live_bytes", pr->live_bytes, PROF_HAS_ALL);
	rj_column(r, "peak_bytes", pr->peak_bytes, PROF_HAS_ALL);
	json_member_u64(&r->j, "peak_bytes_error", pr->peak_error_bytes);
	rj_column(r, "peak_ms", (int64_t)pr->peak_ms, PROF_HAS_ALL);
	rj_column(r, "threads", (int64_t)pr->threads_seen, PROF_HAS_ALL);
	rj_column(r, "quiet_children", (int64_t)pr->lost[REC_LOST_QUIET], PROF_HAS_ALL);
	rj_figures(r, &r->v.each[i], r->v.state[i] == VERDICT_JUDGED);
	rj_inherited(r, pr);
	if (r->p->columns == PROF_HAS_ALL) {
		rj_memory(r, pr);
		rj_outside(r, i);
		rj_lost(r, pr);
	} else {
		json_member_str(&r->j, "memory", NULL);
		json_member_str(&r->j, "outside", NULL);
		json_member_str(&r->j, "lost", NULL);
	}
	json_obj_end(&r->j);
}

void
rj_total(struct report_json *r, const struct sites_total *t)
{
	rj_column(r, "live_bytes", t->live_bytes, PROF_HAS_LIVE);
	rj_column(r, "live_blocks", t->live_blocks, PROF_HAS_LIVE);
	rj_column(r, "allocs", (int64_t)t->allocs, PROF_HAS_ALLOCS);
	rj_column(r, "frees", (int64_t)t->frees, PROF_HAS_ALL);
	rj_column(r, "allocated_bytes", (int64_t)t->alloc_bytes, PROF_HAS_ALLOCS);
	rj_column(r, "freed_bytes", (int64_t)t->free_bytes, PROF_HAS_ALL);
	rj_column(r, "temporary_allocs", (int64_t)t->temps, PROF_HAS_TEMPS);
	rj_column(r, "temporary_bytes", (int64_t)t->temp_bytes, PROF_HAS_TEMPS);
	rj_column(r, "at_peak_bytes", t->at_peak_bytes, PROF_HAS_PEAK);
	rj_column(r, "at_peak_blocks", t->at_peak_blocks, PROF_HAS_PEAK);
	rj_column(r, "at_exit_bytes", t->at_exit_bytes, PROF_HAS_ALL);
	rj_column(r, "at_exit_blocks", t->at_exit_blocks, PROF_HAS_ALL);
	json_member_u64(&r->j, "samples", t->samples);
	json_member_u64(&r->j, "live_samples", t->live_samples);
	rj_error(r, "live_bytes_error", t->var_live_bytes);
	rj_error(r, "allocated_bytes_error", t->var_alloc_bytes);
	rj_leaks(r, r->p->nchecks > 0, t->loss_bytes, t->loss_blocks,
		 (const int64_t[]){t->known_bytes, t->known_blocks});
	json_obj_end(&r->j);
}

static void
rj_modules(struct report_json *r)
{
	static const char digits[] = "0123456789abcdef";

	json_member_arr(&r->j, "modules");
	for (uint32_t i = 1; i < r->p->nmodules; i++) {
		const struct prof_module *m = &r->p->modules[i];
		char id[2 * PROF_BUILD_ID_MAX];
		size_t n = m->build_id_bytes;

		if (n > PROF_BUILD_ID_MAX)
			n = PROF_BUILD_ID_MAX;
		for (size_t k = 0; k < n; k++) {
			id[2 * k] = digits[m->build_id[k] >> 4];
			id[2 * k + 1] = digits[m->build_id[k] & 15];
		}
		json_obj(&r->j);
		rj_id(r, "path", m->path);
		json_key(&r->j, "build_id");
		json_strn(&r->j, n > 0 ? id : "", 2 * n);
		rj_id(r, "why_no_names", m->why_no_names);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

static void
rj_marks(struct report_json *r)
{
	json_member_arr(&r->j, "marks");
	for (uint32_t i = 0; i < r->p->nmarks; i++) {
		const struct prof_mark *m = &r->p->marks[i];

		if (m->number == 0 || (r->o->chosen != NULL && !r->o->chosen[m->process]))
			continue;
		json_obj(&r->j);
		json_member_u64(&r->j, "pid", r->p->processes[m->process].pid);
		json_member_u64(&r->j, "number", m->number);
		rj_id(r, "name", m->name);
		json_member_u64(&r->j, "ms", m->ms);
		json_member_i64(&r->j, "live_bytes", m->live_bytes);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

static void
rj_head(struct report_json *r)
{
	static const char *const points[] = {[SITES_AT_END] = "end",
					     [SITES_AT_PEAK] = "peak",
					     [SITES_AT_EXIT] = "exit"};
	const struct coverage *c = &r->v.coverage;

	json_member_u64(&r->j, "seep_json", JSON_SCHEMA);
	json_member_str(&r->j, "format",
			r->p->format != 0 ? prof_text(r->p, r->p->format) : "seep");
	json_member_str(&r->j, "point",
			r->o->point.at == SITES_AT_MARK ? r->o->point.mark
							: points[r->o->point.at]);
	json_member_str(&r->j, "saved", r->o->saved);
	json_member_obj(&r->j, "summary");
	rj_figures(r, &r->v.all, true);
	json_member_u64(&r->j, "processes", r->v.nchosen);
	json_member_u64(&r->j, "processes_recorded", r->v.nrecorded);
	json_member_u64(&r->j, "processes_with_verdict", r->v.nfound);
	rj_growth_all(r);
	json_obj_end(&r->j);
	json_member_obj(&r->j, "totals");
	rj_total(r, &r->sites.total);
	json_obj_end(&r->j);
	json_member_obj(&r->j, "coverage");
	json_member_u64(&r->j, "recorded_bytes", c->recorded_bytes);
	json_member_u64(&r->j, "kept_by_malloc_bytes", c->kept_bytes);
	json_member_u64(&r->j, "anonymous_bytes", c->anon_bytes);
	json_member_bool(&r->j, "partial", c->partial);
	json_obj_end(&r->j);
}

/* Looks for leaks, and how long a process stood still for each. */
static void
rj_checks(struct report_json *r)
{
	json_member_arr(&r->j, "checks");
	for (uint32_t i = 0; i < r->p->nchecks; i++) {
		const struct prof_check *c = &r->p->checks[i];

		if (r->o->chosen != NULL && !r->o->chosen[c->process])
			continue;
		json_obj(&r->j);
		json_member_u64(&r->j, "pid", r->p->processes[c->process].pid);
		json_member_bool(&r->j, "done", c->done);
		rj_id(r, "why", c->why);
		json_member_bool(&r->j, "loose", c->loose);
		json_member_u64(&r->j, "threads", c->threads);
		json_member_u64(&r->j, "stop_ns", c->stop_ns);
		json_member_u64(&r->j, "pause_ns", c->pause_ns);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

static void
rj_damages(struct report_json *r)
{
	json_member_u64(&r->j, "blocks_not_listed", r->p->blocks_dropped);
	json_member_arr(&r->j, "damage");
	for (uint32_t i = 0; i < r->p->ndamages; i++) {
		json_obj(&r->j);
		rj_id(r, "what", r->p->damages[i].what);
		json_member_u64(&r->j, "count", r->p->damages[i].count);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

/* A stack as the numbers of its frames; null for none. */
static void
rj_bare_stack(struct report_json *r, const char *key, uint32_t node)
{
	struct skip_pos pos = {.node = node};

	json_key(&r->j, key);
	if (node == 0) {
		json_null(&r->j);
		return;
	}
	json_arr(&r->j);
	do {
		json_u64(&r->j, rj_frame_number(r, r->p->nodes[pos.node].loc, pos.inl));
	} while (skip_step(r->p, &pos));
	json_arr_end(&r->j);
}

static void
rj_errors(struct report_json *r)
{
	json_member_arr(&r->j, "errors");
	for (uint32_t i = 0; i < r->p->nerrors; i++) {
		const struct prof_error *e = &r->p->errors[i];

		if (r->o->chosen != NULL && !r->o->chosen[e->process])
			continue;
		json_obj(&r->j);
		error_json(&r->j, r->p, e);
		rj_bare_stack(r, "stack", e->at);
		rj_bare_stack(r, "freed_stack", e->freed);
		rj_bare_stack(r, "allocated_stack", e->alloc);
		json_obj_end(&r->j);
	}
	json_arr_end(&r->j);
}

static void
rj_processes(struct report_json *r)
{
	json_member_arr(&r->j, "processes");
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (r->o->chosen == NULL || r->o->chosen[i])
			rj_process(r, i);
	}
	json_arr_end(&r->j);
}

int
report_json(struct buf *out, const struct prof *p, const struct report_opts *o)
{
	struct report_json r = {.p = p, .o = o, .skip = skip_new(p, o->skip)};
	struct skip_opts fold = o->skip != NULL ? *o->skip : (struct skip_opts){0};
	struct sites_query q = {.chosen = o->chosen,
				.by = o->by_given ? o->by : SITES_LIVE};
	struct report_data d;
	int found;

	fold.fold = true;
	r.folding = skip_new(p, &fold);
	json_init(&r.j, out);
	sites_init(&r.sites, p, r.skip, &q);
	report_data_init(&d, p, r.folding,
			 &(struct report_query){.chosen = o->chosen,
						.everyone = o->everyone,
						.no_growth = o->point.at != SITES_AT_END,
						.depth = REPORT_FRAMES});
	r.focus = d.focus;
	r.v = d.v;
	if (o->point.at != SITES_AT_END) {
		sites_done(&r.sites);
		q.point = o->point;
		sites_init(&r.sites, p, r.skip, &q);
	} else {
		growth_places_init(&r.growth, p, &r.sites);
	}
	r.listed = o->all ? r.sites.nrows : o->rows > 0 ? o->rows : REPORT_JSON_SITES;
	if (r.listed > r.sites.nrows)
		r.listed = r.sites.nrows;
	r.first = xcalloc(p->nlocs, sizeof *r.first);
	memset(r.first, 0xff, p->nlocs * sizeof *r.first);
	r.used = xcalloc(p->nlocs, sizeof *r.used);
	json_obj(&r.j);
	rj_head(&r);
	rj_processes(&r);
	leak_json(&r.j, o->judged, o->suppressions);
	rj_damages(&r);
	rj_checks(&r);
	rj_rounds(&r);
	rj_marks(&r);
	rj_modules(&r);
	rj_sites(&r);
	rj_errors(&r);
	rj_frames(&r);
	json_obj_end(&r.j);
	buf_add_char(out, '\n');
	found = verdict_lost(r.v.all.loss_blocks) > 0;
	free(r.first);
	free(r.used);
	d.v = r.v;
	report_data_done(&d);
	growth_places_done(&r.growth);
	sites_done(&r.sites);
	skip_free(r.skip);
	skip_free(r.folding);
	return found;
}
