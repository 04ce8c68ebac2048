/* SPDX-License-Identifier: MIT */
/* top.c -- see top.h. */
#include "tool/session/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/sites/choose.h"
#include "tool/session/run/save.h"
#include "tool/session/top/top_impl.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/control.h"
#include "tool/target/run/find.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#define MS UINT64_C(1000000)

enum {
	SHARE = 40,   /* 1 / share of a core that looking may take */
	RECORDED = 1, /* row of the process in a profile of its recording */
};

/* ---- one look ---- */

static void
forget(struct top *t)
{
	report_data_done(&t->d);
	skip_free(t->skip);
	t->skip = NULL;
	if (t->kind == TOP_LIVE)
		prof_free(t->p);
	t->p = NULL;
}

/* Takes over a profile with its names, and judges it. */
static void
judge(struct top *t, struct prof *p)
{
	forget(t);
	t->p = p;
	t->skip = skip_new(p, &(struct skip_opts){.fold = true});
	report_data_init(&t->d, p, t->skip, &(struct report_query){.depth = TOP_FRAMES});
}

/* Totals of the sites, and memory by kind, from which growth is judged. */
static void
look_at_growth(struct top *t)
{
	uint64_t ms = livefile_age_ms(&t->live);
	struct livefile_head h;
	uint64_t rss_kib, anon_kib;

	/* One look shows no growth. */
	if (t->o.every_ms == 0 || (t->looks.kept.len > 0 && !looks_due(&t->looks, ms)))
		return;
	looks_take(&t->looks, &t->live, ms);
	outside_look(&t->outside, &t->live, ms);
	h = livefile_head(&t->live);
	if (procfs_memory(t->pid, &rss_kib, &anon_kib) == 0)
		covered_look(&t->covered, h.peak_bytes, h.live_bytes,
			     anon_kib > h.own_kib ? anon_kib - h.own_kib : 0);
}

/* A recording that we only have a copy of is copied anew. */
static int
renew_copy(struct top *t, struct err *e)
{
	struct livefile f = {.fd = -1};
	int r;

	if (!t->live.copied || !livefile_alive(&t->live))
		return 0;
	r = target_find_pid(t->pid, &f, e);
	if (r == 0 && livefile_head(&f).start_ns == livefile_head(&t->live).start_ns) {
		livefile_close(&t->live);
		t->live = f;
		return 0;
	}
	livefile_close(&f);
	return r == -ESRCH || r == -ENOENT ? 0 : r;
}

/* What a recording has that somebody else began. */
static int
load_recorded(struct top *t, struct prof *p, bool *ret_alive, struct err *e)
{
	int r = renew_copy(t, e);

	*ret_alive = livefile_alive(&t->live);
	if (r == 0 && *ret_alive)
		look_at_growth(t);
	if (r == 0)
		r = save_load_file(&t->live, p, e);
	if (r < 0)
		return r;
	save_looks(p, RECORDED, &t->looks);
	outside_save(t->outside, p, RECORDED, &t->covered,
		     livefile_head(&t->live).before_kib == 0);
	if (*ret_alive)
		load_look_at(p, &t->live);
	else
		save_coverage(p);
	return 0;
}

static int
look_recorded(struct top *t, struct err *e)
{
	struct names_opts names = t->o.names;
	struct prof *p = prof_new();
	bool alive = true;
	int r = t->attached.len > 0 ? top_load_attached(t, p, e)
				    : load_recorded(t, p, &alive, e);

	if (r < 0) {
		prof_free(p);
		return r;
	}
	names.pid = alive ? t->pid : 0;
	top_names_resolve(t->names, p, &names);
	judge(t, p);
	t->looked_ns = clock_ns(CLOCK_MONOTONIC);
	t->fresh = true;
	t->ended = !alive || p->processes[RECORDED].end != PROF_END_RUNNING;
	return 0;
}

static int
look_regions(struct top *t, struct err *e)
{
	struct watcher *w = t->watched.data[0];
	int r = watcher_look(w, (double)(clock_ns(CLOCK_MONOTONIC) - t->first_ns) / 1e9,
			     false, e);

	t->ended = w->ended;
	return r;
}

int
top_look(struct top *t, struct err *e)
{
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), cost, every = t->o.every_ms;
	int r = 0;

	if (t->kind == TOP_FILE || t->ended)
		return 0;
	r = t->kind == TOP_REGIONS ? look_regions(t, e) : look_recorded(t, e);
	cost = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu + t->view_ns) * SHARE / MS;
	/* The first one reads symbols. */
	t->period_ms = t->period_ms > 0 && cost > every ? cost : every;
	t->next_ns = clock_ns(CLOCK_MONOTONIC) + t->period_ms * MS;
	return r;
}

bool
top_due(const struct top *t)
{
	return t->kind != TOP_FILE && !t->ended &&
	       clock_ns(CLOCK_MONOTONIC) >= t->next_ns;
}

uint64_t
top_period_ms(const struct top *t)
{
	return t->period_ms;
}

/* ---- opening and closing ---- */

static bool
is_number(const char *s)
{
	return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* A process that nobody records, if the word is one: -ENOENT and the message as they are
 * when it is not. */
static int
open_unrecorded(struct top *t, const char *word, struct err *e)
{
	struct err other = {0};
	int pid = 0, r;

	if (strchr(word, '/') != NULL || file_is_regular(word))
		return -ENOENT;
	if (is_number(word))
		pid = atoi(word);
	else if ((r = procfs_find_one(word, &pid, &other)) == -ENOTUNIQ) {
		*e = other;
		return r;
	} else if (r < 0) {
		return -ENOENT;
	}
	if (pid <= 0 || !procfs_alive(pid, 0))
		return -ENOENT;
	t->kind = TOP_REGIONS;
	t->pid = pid;
	t->first_ns = clock_ns(CLOCK_MONOTONIC);
	return watcher_add(&t->watched, word, e);
}

/* A process from its recording, a file, or one that is not recorded. */
static int
open_word(struct top *t, const char *word, struct err *e)
{
	char *words[] = {(char *)word};
	int r = load_targets(1, words, &t->o.load, &t->loaded, e);

	if (r == -ENOENT)
		return open_unrecorded(t, word, e);
	if (r == 0 && t->loaded.point[0] != '\0')
		return err_set(
			e, -EINVAL,
			"%s: seep top shows the present; for a moment of the past: "
			"seep report %s",
			word, word);
	if (r == 0 && t->loaded.p->columns != PROF_HAS_ALL)
		return err_set(e, -EINVAL,
			       "%s: a profile of another tool has no history; use seep "
			       "report %s",
			       word, word);
	if (r < 0)
		return r;
	t->name = xstrdup(t->loaded.name);
	if (!t->loaded.live) {
		t->kind = TOP_FILE;
		names_resolve(t->loaded.p, &t->o.names);
		judge(t, t->loaded.p);
		return 0;
	}
	t->pid = t->loaded.pid;
	loaded_done(&t->loaded);
	return target_find_pid(t->pid, &t->live, e);
}

int
top_open(const char *word, const struct top_opts *o, struct top **ret, struct err *e)
{
	struct top *t = xcalloc(1, sizeof *t);
	int r;

	t->o = *o;
	t->live.fd = -1;
	t->kind = TOP_LIVE;
	t->names = top_names_new();
	t->looks.every_ms = o->every_ms;
	r = open_word(t, word, e);
	if (r == 0)
		r = top_look(t, e);
	if (r == 0)
		r = top_compare(t, o->mark, e);
	if (r == 0)
		*ret = TAKE(t);
	top_close(t);
	return r;
}

void
top_close(struct top *t)
{
	if (t == NULL)
		return;
	top_detach(t);
	forget(t);
	loaded_done(&t->loaded);
	attached_done(&t->attached);
	livefile_close(&t->live);
	looks_done(&t->looks);
	outside_free(t->outside);
	top_names_free(t->names);
	watchers_done(&t->watched);
	map_done(&t->before.allocs);
	map_done(&t->now.allocs);
	free(t->name);
	free(t->mark);
	free(t);
}

/* ---- marks ---- */

int
top_compare(struct top *t, const char *mark, struct err *e)
{
	struct sites_point point;
	int r = 0;

	if (mark != NULL && t->kind == TOP_REGIONS)
		return err_set(e, -EINVAL,
			       "%d is not recorded, so it has no marks; see: seep attach",
			       t->pid);
	if (mark != NULL)
		r = choose_point(t->p, NULL, mark, &point, e);
	if (r == 0 && mark != NULL && point.at != SITES_AT_MARK)
		r = err_set(e, -EINVAL, "%s is not a mark", mark);
	if (r < 0)
		return r;
	free(t->mark);
	t->mark = xstrdup(mark);
	return 0;
}

int
top_mark(struct top *t, const char *name, struct err *e)
{
	struct livefile f = {.fd = -1};
	struct control_marked m;
	char pid[16];
	int r;

	if (t->kind != TOP_LIVE || t->ended)
		return err_set(e, -EINVAL,
			       "marks are set in recorded processes that run");
	snprintf(pid, sizeof pid, "%d", t->pid);
	r = target_find_writable(pid, &f, e);
	if (r == 0)
		r = control_mark(&f, name, &m, e);
	livefile_close(&f);
	if (r == 0)
		r = look_recorded(t, e);
	return r < 0 ? r : top_compare(t, name, e);
}

/* ---- for others ---- */

enum top_kind
top_kind(const struct top *t)
{
	return t->kind;
}

bool
top_ended(const struct top *t)
{
	return t->ended;
}

const struct prof *
top_prof(const struct top *t)
{
	return t->p;
}

struct skip *
top_skip(const struct top *t)
{
	return t->skip;
}

const struct report_data *
top_report_data(const struct top *t)
{
	return &t->d;
}

struct watcher *
top_watcher(const struct top *t)
{
	return t->watched.len > 0 ? t->watched.data[0] : NULL;
}
