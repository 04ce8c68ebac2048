/* SPDX-License-Identifier: MIT */
/* top_view.c -- the view of a moment: see top_view.h. */
#include "tool/session/top/top_view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/hash.h"
#include "tool/analyze/sites/ages.h"
#include "tool/analyze/sites/choose.h"
#include "tool/session/top/top_impl.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/clean.h"
#include "tool/util/clock.h"

void
top_view_done(struct top_view *v)
{
	arena_done(&v->text);
	vec_done(&v->rows);
	vec_done(&v->marks);
	vec_done(&v->children);
	vec_done(&v->stacks);
	*v = (struct top_view){0};
}

static const char *
keep(struct top_view *v, const char *text)
{
	char *clean = clean_copy(text);
	const char *s = arena_strdup(&v->text, clean);

	free(clean);
	return s;
}

/* ---- a profile ---- */

static void
add_totals(const struct top *t, struct top_view *v)
{
	const struct sites_total *all = &t->d.sites.total;

	v->live_bytes = all->live_bytes;
	v->live_blocks = all->live_blocks;
	v->var_live_bytes = all->var_live_bytes;
	v->var_live_blocks = all->var_live_blocks;
	v->allocs = all->allocs;
	v->frees = all->frees;
	v->peak_bytes = t->d.v.peak.bytes;
	for (uint32_t i = 1; i < t->p->nprocesses; i++) {
		const struct prof_process *pr = &t->p->processes[i];

		v->rss_kib += pr->rss_kib;
		v->anon_kib += pr->anon_kib;
		v->stack_kib += pr->stack_kib;
		v->static_kib += pr->static_kib;
		v->own_kib += pr->recorder_kib;
		v->sampled = v->sampled || pr->mode == PROF_SAMPLED;
		v->paused = v->paused || pr->paused;
		if (pr->duration_ms > v->recorded_ms)
			v->recorded_ms = pr->duration_ms;
		if (pr->not_recorded == 0)
			v->processes++;
	}
}

/* Of one process; those of several have no common time. */
static void
add_series(const struct top *t, struct top_view *v)
{
	struct span *spans = NULL;
	int64_t *live, *rss;
	bool known = false;
	uint32_t n, points;

	if (t->d.v.nrecorded != 1 || t->d.v.main == 0)
		return;
	n = spans_of(t->p, t->d.v.main, TOP_SERIES, &spans, &points);
	live = arena_alloc(&v->text, n * sizeof *live);
	rss = arena_alloc(&v->text, n * sizeof *rss);
	for (uint32_t i = 0; i < n; i++) {
		live[i] = spans[i].live_bytes;
		rss[i] = (int64_t)spans[i].rss_kib << 10;
		/* a stretch in which nobody looked */
		if (rss[i] == 0 && i > 0)
			rss[i] = rss[i - 1];
		known = known || rss[i] > 0;
	}
	v->live = live;
	v->rss = known ? rss : NULL;
	v->nseries = n;
	free(spans);
}

static void
add_marks(const struct top *t, struct top_view *v)
{
	for (uint32_t i = 0; i < t->p->nmarks; i++) {
		const struct prof_mark *m = &t->p->marks[i];
		struct top_mark *to;

		if (m->number == 0)
			continue;
		to = vec_add(&v->marks);
		to->ms = m->ms;
		to->name = m->name != 0 ? keep(v, prof_text(t->p, m->name))
					: arena_printf(&v->text, "%u", m->number);
		if (t->mark != NULL && choose_mark_is(t->p, m, t->mark)) {
			v->mark = to->name;
			v->mark_ms = m->ms;
		}
	}
}

static void
add_children(const struct top *t, struct top_view *v)
{
	struct procfs_pids pids = {0};

	if (t->kind != TOP_LIVE || t->ended)
		return;
	procfs_children(t->pid, &pids);
	for (size_t i = 0; i < pids.len; i++)
		vec_push(&v->children, pids.data[i]);
	vec_done(&pids);
}

static void
view_profile(struct top *t, uint64_t open, struct top_view *v)
{
	struct choose_name name = choose_process_name(t->p, t->d.v.main);

	v->name = keep(v, t->kind == TOP_FILE ? t->name : name.s);
	v->pid = t->pid;
	add_totals(t, v);
	add_series(t, v);
	add_marks(t, v);
	add_children(t, v);
	top_rows(t, v);
	if (open != 0)
		top_stacks(t, open, v);
}

/* ---- regions ---- */

static void
add_region(const struct track *track, size_t i, struct top_view *v)
{
	const struct track_row *x = &track->rows.data[i];
	struct fit f = track_fit_row(track, i);
	struct top_row *r;
	int64_t *trend;
	size_t n = x->kib.len < TOP_TREND ? x->kib.len : TOP_TREND;

	if (x->gone || x->kib.len == 0 || track_kib(&x->last) == 0)
		return;
	r = vec_add(&v->rows);
	r->name = keep(v, x->last.name);
	r->where = r->caller = "";
	r->id = hash_bytes(r->name, strlen(r->name), 1);
	r->live_bytes = (int64_t)track_kib(&x->last) << 10;
	r->mark_bytes = (int64_t)x->kib.data[0] << 10;
	r->age_ms = TOP_AGE_UNKNOWN;
	r->verdict = VERDICT_NO_VERDICT;
	r->has_rate = f.count > 2;
	r->slope = fit_slope(&f, &r->error);
	r->trend = trend = arena_alloc(&v->text, n * sizeof *trend);
	r->ntrend = (unsigned)n;
	for (size_t k = 0; k < n; k++)
		trend[k] = (int64_t)x->kib.data[x->kib.len - n + k] << 10;
}

static void
view_regions(struct top *t, struct top_view *v)
{
	struct watch_view w = watcher_view(t->watched.data[0]);
	const struct track *track = w.track;
	size_t n = track->total.len < TOP_SERIES ? track->total.len : TOP_SERIES;
	int64_t *rss = arena_alloc(&v->text, n * sizeof *rss);

	v->name = keep(v, w.name);
	v->pid = w.pid;
	v->processes = 1;
	v->recorded_ms = w.up_ns / 1000000;
	for (size_t k = 0; k < n; k++)
		rss[k] = (int64_t)track->total.data[track->total.len - n + k] << 10;
	v->rss = rss;
	v->nseries = (unsigned)n;
	v->rss_kib = memmap_total_kib(w.map, MEMMAP_RSS);
	for (size_t i = 0; i < track->rows.len; i++)
		add_region(track, i, v);
}

void
top_view(struct top *t, uint64_t open, struct top_view *ret)
{
	struct top_view v = {
		.kind = t->kind, .ended = t->ended, .period_ms = t->period_ms};
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	top_view_done(ret);
	v.verdict = v.exact = v.end = "";
	v.word = VERDICT_NO_VERDICT;
	if (t->kind != TOP_FILE)
		v.time_s = (uint64_t)time(NULL);
	if (t->kind == TOP_REGIONS)
		view_regions(t, &v);
	else
		view_profile(t, open, &v);
	t->view_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	*ret = v;
}
