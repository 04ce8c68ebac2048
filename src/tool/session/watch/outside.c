/* SPDX-License-Identifier: MIT */
/* outside.c -- see outside.h. */
#include "tool/session/watch/outside.h"

#include <stdlib.h>

#include "tool/analyze/process/outgrowth.h"
#include "tool/model/runtimes.h"
#include "tool/session/watch/watcher.h"
#include "tool/util/clock.h"
#include "tool/util/x.h"

enum {
	SHARE = 500,	      /* 1 / share of a core that looking may take, */
	CREDIT_NS = 60000000, /* after this much, for all processes together */
};

static uint64_t spent_ns;

struct outside {
	struct watcher *w; /* NULL: it cannot be looked at */
	struct outgrowth_series series;
	/* what the recorded allocator has had from the kernel at most; 0 = not known */
	uint64_t malloc_bytes;
	uint64_t next_ms;
};

void
outside_look(struct outside **o, struct livefile *f, uint64_t ms)
{
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct outside *x = *o;
	size_t before;

	if (x == NULL) {
		x = *o = xcalloc(1, sizeof *x);
		watcher_new(f->pid, &x->w, NULL);
		x->series.kept = -1;
	}
	if (x->w == NULL || x->w->ended || ms < x->next_ms)
		return;
	before = x->w->track.seconds.len;
	if (watcher_look(x->w, (double)ms / 1000, false, NULL) == 0 &&
	    x->w->track.seconds.len == before + 1) {
		vec_push(&x->series.live, (double)livefile_live_bytes(f));
		x->series.ended = false;
		vec_push(&x->series.own, (double)livefile_head(f).own_kib * 1024);
		if (x->w->heap.most_bytes > x->malloc_bytes)
			x->malloc_bytes = x->w->heap.most_bytes;
	} else {
		/* Series of different length say nothing. */
		x->w->ended = true;
	}
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	spent_ns += cpu;
	if (spent_ns > CREDIT_NS)
		x->next_ms = ms + cpu * SHARE / 1000000;
}

/* How much of its memory malloc keeps free, by its own tables. */
static void
ask_malloc(struct outside *x)
{
	const struct account *a = &x->w->account;

	watcher_account(x->w);
	if (x->w->has_account && a->told_by_malloc)
		x->series.kept = (double)a->kib[ACCOUNT_FREED] * 1024;
}

/* Most of its memory was never live at one time. Another allocator than glibc's does not
 * say how much it had at most: how much it has now. Where far more of its blocks are used
 * than were recorded, it is not the one that is recorded. */
static void
ask_other(struct outside *x, struct livefile *f, uint64_t anon_kib)
{
	const struct account *a = &x->w->account;
	uint64_t anon = anon_kib << 10, live = livefile_live_bytes(f);
	int64_t peak = livefile_head(f).peak_bytes;

	if (peak <= 0 || (uint64_t)peak >= anon / 2 ||
	    anon - (uint64_t)peak < OUTGROWTH_UNSEEN_BYTES)
		return;
	watcher_account(x->w);
	if (x->w->has_account && a->told_by_malloc && x->w->heap.others &&
	    a->kib[ACCOUNT_LIVE] << 10 <= 2 * live + OUTGROWTH_UNSEEN_BYTES)
		x->malloc_bytes = (a->kib[ACCOUNT_LIVE] + a->kib[ACCOUNT_FREED]) << 10;
}

void
outside_last(struct outside **o, struct livefile *f, uint64_t ms, uint64_t anon_kib,
	     bool ends)
{
	struct outside *x = *o;
	size_t before = x != NULL ? x->series.live.len : 0;

	if (anon_kib << 10 < OUTGROWTH_UNSEEN_BYTES)
		return;
	if (x != NULL)
		x->next_ms = 0;
	outside_look(o, f, ms);
	x = *o;
	x->series.ended = ends && x->series.live.len > before;
	if (x->w != NULL && outgrowth_must_ask(&x->w->track, &x->series))
		ask_malloc(x);
	if (x->w != NULL && !x->w->ended && outgrowth_is_guessed(&x->w->track))
		ask_other(x, f, anon_kib);
}

/* What helps: with a runtime's heap, the command that explains its growth. */
static uint32_t
remedy_of(struct prof *p, uint32_t process, const struct outgrowth *g, bool from_start)
{
	enum runtime r = g->kind != REGION_KINDS ? region_runtime(g->kind) : RUNTIMES;
	struct buf text = {0};
	uint32_t id;

	if (g->kind == REGION_MAPPING && !g->grows && from_start)
		return prof_str(p, "to record them: seep run --mmap");
	if (r == RUNTIMES && (g->kind != REGION_MAPPING || g->grows))
		return prof_str(p, g->remedy);
	buf_add_str(&text, "see: ");
	if (r == RUNTIMES)
		buf_printf(&text, "seep watch %u", p->processes[process].pid);
	else
		runtime_add_grows(&text, r, p->processes[process].pid);
	id = prof_str(p, buf_str(&text));
	buf_done(&text);
	return id;
}

static void
add_row(struct prof *p, uint32_t process, const struct outgrowth *g, bool from_start)
{
	uint32_t remedy = remedy_of(p, process, g, from_start), row = prof_add_memory(p);

	p->memories[row] = (struct prof_memory){
		.process = process,
		.kind = prof_str(p, g->name),
		.first_kib = (uint64_t)(g->fit.first_v / 1024),
		.last_kib = (uint64_t)(g->fit.last_v / 1024),
		.grew = (uint32_t)g->fit.grown,
		.intervals = (uint32_t)fit_intervals(&g->fit),
		.grows = g->grows,
		.remedy = remedy,
	};
	p->memories[row].slope = fit_slope(&g->fit, &p->memories[row].error);
}

/* What grows by too little to be named, and for how long that was watched. */
static void
save_little(const struct outside *o, struct prof *p, uint32_t process)
{
	struct prof_process *pr = &p->processes[process];
	double seconds = outgrowth_seconds(&o->w->track, &o->series);
	struct outgrowth g;

	pr->outside_ms = (uint64_t)(seconds * 1000);
	if (!outgrowth_little(&o->w->track, &o->series, &g))
		return;
	pr->outside_little = prof_str(p, g.name);
	pr->outside_little_kib = (uint32_t)(fit_slope(&g.fit, NULL) * 60 / 1024);
}

void
outside_save(struct outside *o, struct prof *p, uint32_t process,
	     const struct covered *covered, bool from_start)
{
	struct outgrowth found[OUTGROWTH_MAX];
	unsigned n;

	if (o == NULL || o->w == NULL)
		return;
	o->series.covered = (double)covered->kib * 1024;
	o->series.from_start = from_start;
	p->processes[process].malloc_kib = o->malloc_bytes >> 10;
	save_little(o, p, process);
	n = outgrowth_find(&o->w->track, &o->series, found);
	for (unsigned i = 0; i < n; i++)
		add_row(p, process, &found[i], from_start);
}

void
outside_free(struct outside *o)
{
	if (o == NULL)
		return;
	watcher_free(o->w);
	vec_done(&o->series.live);
	vec_done(&o->series.own);
	free(o);
}
