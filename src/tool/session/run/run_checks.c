/* SPDX-License-Identifier: MIT */
/* run_checks.c -- see run_checks.h.
 *
 * Nothing else is done while a check is under way, but that a timer's signal keeps the
 * recordings' clocks. So that this is not most of the time, a check that took long moves
 * the next one away; and so does one that stopped the process for longer than allowed. */
#include "tool/session/run/run_checks.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "shared/hash.h"
#include "tool/session/leaks/leak_plan.h"
#include "tool/util/clock.h"
#include "tool/util/fmt.h"

#define SEARCH_MOST_NS UINT64_C(5000000000)

enum {
	CLOCK_US = 2000,
	SEARCH_NS = 20000000, /* between two searches for a check that is due */
	GAP_MOST = 16,
};

/* ---- the clocks meanwhile ---- */

struct clock_word {
	struct livefile *f;
	uint64_t start_ns;
};

static VEC(struct clock_word) clocks; /* not changed while the timer runs */

static void
on_alarm(int sig)
{
	int saved = errno;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)sig;
	for (size_t i = 0; i < clocks.len; i++) {
		const struct clock_word *c = &clocks.data[i];

		livefile_tick(c->f,
			      now > c->start_ns ? (now - c->start_ns) / 1000000 : 0);
	}
	errno = saved;
}

static void
clocks_begin(struct ticker *t)
{
	struct itimerval every = {.it_interval = {.tv_usec = CLOCK_US},
				  .it_value = {.tv_usec = CLOCK_US}};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < t->files.len; i++) {
		struct ticker_file *f = &t->files.data[i];

		if (!f->gone && f->live.head != NULL)
			vec_push(&clocks,
				 (struct clock_word){&f->live, f->start_mono_ns});
	}
	on_alarm(SIGALRM);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* The handler stays: a last signal may be on its way, and finds nothing to do. */
static void
clocks_end(void)
{
	struct itimerval none = {0};

	setitimer(ITIMER_REAL, &none, NULL);
	vec_done(&clocks);
}

/* ---- which ---- */

static struct run_watch *
watch_of(struct run_checks *c, const struct ticker_file *f)
{
	uint64_t *row = map_add(&c->rows, hash_pair(f->start_ns, (uint64_t)f->pid));
	struct run_watch *w;

	if (*row != 0)
		return &c->of.data[*row - 1];
	w = vec_add(&c->of);
	*row = c->of.len;
	w->pid = (uint32_t)f->pid;
	w->start_ns = f->start_ns;
	w->gap = 1;
	w->next_ns = f->start_mono_ns + c->every_ns;
	return w;
}

/* Whether it runs, and all of its blocks are recorded. */
static bool
is_running(const struct ticker_file *f)
{
	return ticker_runs(f) && livefile_head(&f->live).mode == REC_MODE_EXACT;
}

/* The process whose check has been due for longest; NULL: there is none. */
static struct ticker_file *
most_due(struct run_checks *c, struct ticker *t, uint64_t now_ns,
	 struct run_watch **ret_watch)
{
	struct ticker_file *most = NULL;
	uint64_t due = now_ns;

	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];
		struct run_watch *w;

		/* Most processes of a large run are too short for any. */
		if (now_ns < f->start_mono_ns + c->every_ns || !is_running(f))
			continue;
		w = watch_of(c, f);
		if (w->next_ns <= due) {
			due = w->next_ns;
			most = f;
		}
	}
	if (most != NULL)
		*ret_watch = watch_of(c, most);
	return most;
}

/* ---- one check ---- */

static void
check(const struct run_checks *c, struct ticker_file *f, struct run_watch *to)
{
	struct loss_watch *w = &to->watch;
	struct leakcheck_how how = {
		.only_copy = true, .lost = loss_watch_lost, .lost_ctx = w};
	struct leakcheck found = {0};
	struct leak_plan plan;
	struct err e = {0};
	int r = leak_plan_make(&f->live, f->pid, &plan, &e);

	if (r == 0 && plan.way != LEAKCHECK_COPY)
		r = err_set(&e, -ENOMEM, "%s", plan.why);
	if (r == 0)
		r = leak_plan_check(&plan, c->max_stop_ns, &e);
	/* One that comes to its end meanwhile waits for us, but not for ever. */
	if (r == 0 && plan.look_ns > SEARCH_MOST_NS)
		r = err_set(&e, -EBUSY,
			    "the search would take about %s; use seep leaks %d --every "
			    "beside it",
			    fmt_duration(plan.look_ns).s, f->pid);
	loss_watch_begin(w);
	if (r == 0) {
		leakcheck_look(&f->live, f->pid, LEAKCHECK_COPY, &how, &found);
		if (found.done) {
			loss_watch_take(w, &found, f->start_mono_ns, c->max_stop_ns);
			leakcheck_done(&to->last);
			to->last = found;
			return;
		}
		r = err_set(&e, -EIO, "%s", found.why);
	}
	/* One that is ending is checked at its end. */
	if (r < 0 && is_running(f) && livefile_alive(&f->live))
		loss_watch_failed(w, livefile_age_ms(&f->live), e.msg);
	leakcheck_done(&found);
}

/* When the next one is due, after one that took `spent_ns`. */
static void
plan_next(const struct run_checks *c, struct run_watch *w, uint64_t now_ns,
	  uint64_t spent_ns)
{
	const struct loss_watch_round *last =
		w->watch.rounds.len > 0 ? vec_last(&w->watch.rounds) : NULL;
	uint64_t step;

	if (last != NULL && last->row.late > 0)
		w->gap = w->gap * 2 < GAP_MOST ? w->gap * 2 : GAP_MOST;
	else
		w->gap = 1;
	step = c->every_ns * w->gap;
	w->next_ns += step;
	if (w->next_ns < now_ns + spent_ns) /* at most half of the time */
		w->next_ns = now_ns + spent_ns;
}

bool
run_checks_step(struct run_checks *c, struct ticker *t, uint64_t now_ns)
{
	struct run_watch *w;
	struct ticker_file *f;
	uint64_t start, end;

	if (c->every_ns == 0 || now_ns < c->search_ns)
		return false;
	c->search_ns = now_ns + SEARCH_NS;
	f = most_due(c, t, now_ns, &w);
	if (f == NULL || livefile_map_all(&f->live, NULL) < 0)
		return false; /* once it is mapped whole, it stays where it is */
	start = clock_ns(CLOCK_MONOTONIC);
	clocks_begin(t);
	check(c, f, w);
	clocks_end();
	end = clock_ns(CLOCK_MONOTONIC);
	plan_next(c, w, end, end - start);
	return true;
}

struct loss_watch *
run_checks_last(struct run_checks *c, const struct ticker_file *f)
{
	return c->every_ns > 0 ? &watch_of(c, f)->watch : NULL;
}

/* Blocks that came after the last check, of a process that was killed. */
static void
save_younger(const struct leakcheck *c, struct prof *p, uint32_t process)
{
	struct prof_check *to = &p->checks[p->nchecks - 1];
	uint64_t blocks = 0, bytes = 0, live_blocks = 0, live_bytes = 0;

	for (size_t i = 0; i < c->sites.len; i++) {
		blocks += c->sites.data[i].blocks;
		bytes += c->sites.data[i].bytes;
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == process && p->sites[i].live_blocks > 0) {
			live_blocks += (uint64_t)p->sites[i].live_blocks;
			live_bytes += (uint64_t)p->sites[i].live_bytes;
		}
	}
	to->younger_blocks = live_blocks > blocks ? live_blocks - blocks : 0;
	to->younger_bytes = live_bytes > bytes ? live_bytes - bytes : 0;
}

static void
save_one(const struct run_watch *w, struct prof *p, uint32_t process)
{
	const struct prof_check *at_end = prof_check_of(p, process);

	/* It did not come to its end, or could not be checked there. */
	if (w->last.done && (at_end == NULL || !at_end->done)) {
		leakcheck_save(&w->last, p, process);
		save_younger(&w->last, p, process);
	}
	loss_watch_save(&w->watch, p, process);
}

void
run_checks_save(const struct run_checks *c, struct prof *p)
{
	for (size_t i = 0; i < c->of.len; i++) {
		const struct run_watch *w = &c->of.data[i];

		for (uint32_t k = 1; k < p->nprocesses; k++) {
			if (p->processes[k].pid == w->pid &&
			    p->processes[k].start_ns == w->start_ns) {
				save_one(w, p, k);
				break;
			}
		}
	}
}

static void
run_watch_done(struct run_watch *w)
{
	leakcheck_done(&w->last);
	loss_watch_done(&w->watch);
}

void
run_checks_done(struct run_checks *c)
{
	for (size_t i = 0; i < c->of.len; i++)
		run_watch_done(&c->of.data[i]);
	vec_done(&c->of);
	map_done(&c->rows);
}
