/* SPDX-License-Identifier: MIT */
/* session.c -- see session.h.
 *
 * The budget: the injected code counts the processor cycles that it spends in events.
 * Four times a second that is compared with the time that went by: more than is allowed,
 * and samples are taken half as often; and twice as often, if that would leave a fifth of
 * it free. How much more it would cost the code counts as well: large blocks are sampled
 * in any case. What hooks cost that pass by at once is not in it: that is some
 * nanoseconds a call, whatever the rate. */
#include "tool/target/attach/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tool/target/attach/armed.h"
#include "tool/target/attach/refusal.h"
#include "tool/target/proc/anonparts.h"
#include "tool/target/run/control.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/file.h"

#define BUDGET_USED 0.8 /* so much of it, so that chance alone does not go beyond */

enum {
	TURN_FIRST_MS = 50, /* at the very beginning */
	TURN_MS = 250,	    /* memory, budget and new objects are looked at so often */
	SETTLE_TRIES = 8,
};

/* Without them a leak is still found, only not told from a cache: no reason to fail. */
static void
watch_old(struct session *s, const struct oldblocks *old)
{
	struct tracee t = TRACEE_NONE;

	if (tracee_open(s->pid, &t, NULL) == 0)
		oldblocks_watch(&t, s->attach.control->config, old, NULL);
	tracee_close(&t);
}

static int
check_stop(int pid, uint64_t max_ns, struct err *e)
{
	uint64_t ns = max_ns > 0 ? attach_expect_ns(pid) : 0;

	if (ns <= max_ns)
		return 0;
	return err_set(e, -EBUSY,
		       "%d: attaching may stop it for %.0f ms, longer than --max-stop "
		       "allows (%.0f ms); nothing was touched",
		       pid, (double)ns / 1e6, (double)max_ns / 1e6);
}

int
session_open(int pid, const struct session_settings *s, struct session *ret,
	     struct err *e)
{
	struct attach_settings as = s->attach;
	struct session n = SESSION_NONE;
	struct anonparts before = {0};
	struct detached inherited = {0};
	struct refusal_facts f;
	int r;

	refusal_read(pid, &f);
	r = refusal_check(&f, e);
	if (r < 0)
		return r;
	/* Forked by a process that is attached to: what it inherited does nothing. */
	if (f.attached && detach_patches(pid, &inherited, e) == 0)
		detach_unmap(pid, NULL, e);
	n.armed = armed_loaded(pid);
	r = n.armed ? 0 : check_stop(pid, s->max_stop_ns, e);
	if (r < 0)
		return r;
	as.suspend_seccomp = f.seccomp == 2;
	n.pid = pid;
	n.counted_by = inherited.counted ? inherited.parent : 0;
	procfs_stat(pid, &n.stat, NULL);
	procfs_ids(pid, &n.uid, &n.gid);
	if (!s->from_start && !n.armed && anonparts_read_plain(pid, &before) < 0)
		before.heap_kib = 0;
	r = n.armed ? armed_switch_on(pid, &as, &n.attach.live, e)
		    : attach_process(pid, &as, &n.attach, e);
	if (r < 0)
		return r;
	n.budget = as.mode == REC_MODE_SAMPLE && !n.armed ? s->budget : 0;
	n.looks.every_ms = s->looks_ms;
	n.late = !s->from_start;
	n.settled = !s->from_start;
	if (n.late && n.armed && anonparts_read(&n.attach.live, &before) < 0)
		before.heap_kib = 0;
	n.attach.live.head->before_kib =
		(uint32_t)(before.heap_kib < UINT32_MAX ? before.heap_kib : UINT32_MAX);
	n.began_tsc = n.turn_tsc = attach_cycles();
	if (!n.armed && s->old != NULL && s->old->known)
		watch_old(&n, s->old);
	*ret = n;
	return 0;
}

void
session_read_old(struct session *s)
{
	struct oldblocks o = {0};

	if (s->ended || oldblocks_read(&s->attach.live, &o, NULL) < 0)
		return;
	oldblocks_done(&s->old);
	s->old = o;
}

uint64_t
session_age_ms(const struct session *s)
{
	return s->attach.live.head != NULL ? livefile_age_ms(&s->attach.live) : 0;
}

/* Takes samples at another rate from now on. */
static void
set_rate(struct session *s, uint64_t rate)
{
	struct rec_head *h = s->attach.live.head;
	uint32_t n = 0;

	while (n < REC_RATES_MAX && h->rates[n] != 0 && h->rates[n] != rate)
		n++;
	if (n == REC_RATES_MAX)
		return;
	h->rates[n] = rate;
	h->rate_bytes = rate;
	__atomic_store_n(&s->attach.control->rate_number, n, __ATOMIC_RELEASE);
}

static void
keep_budget(struct session *s)
{
	const struct attach_control *c = s->attach.control;
	uint64_t now = attach_cycles(),
		 spent = __atomic_load_n(&c->spent_tsc, __ATOMIC_RELAXED);
	uint64_t rate = s->attach.live.head->rate_bytes;
	uint64_t samples = __atomic_load_n(&c->samples, __ATOMIC_RELAXED);
	uint64_t at_half = __atomic_load_n(&c->at_half, __ATOMIC_RELAXED);
	double share, more = 2;

	if (now <= s->turn_tsc || now <= s->began_tsc)
		return;
	if (samples > s->turn_samples)
		more = (double)(at_half - s->turn_at_half) / 1024 /
		       (double)(samples - s->turn_samples);
	share = (double)(spent - s->turn_spent) / (double)(now - s->turn_tsc);
	s->busy = (double)spent / (double)(now - s->began_tsc);
	s->turn_tsc = now;
	s->turn_spent = spent;
	s->turn_samples = samples;
	s->turn_at_half = at_half;
	if (s->budget <= 0)
		return;
	if (share > s->budget && rate < SESSION_RATE_MOST) {
		/* As far as it takes: the first moments are the dearest. */
		for (; share > s->budget && rate < SESSION_RATE_MOST; share /= 2)
			rate *= 2;
		set_rate(s, rate);
	} else if (share * more < s->budget * BUDGET_USED && rate > SESSION_RATE_LEAST)
		set_rate(s, rate / 2);
}

static void
look_at_memory(struct session *s)
{
	uint64_t rss = 0, anon = 0;
	struct livefile_head h = livefile_head(&s->attach.live);

	if (procfs_memory(s->pid, &rss, &anon) < 0 || rss == 0)
		return;
	if (s->rss_kib == 0)
		s->covered.before_kib = s->late ? anon : 0;
	covered_look(&s->covered, h.peak_bytes, h.live_bytes, anon);
	s->rss_kib = rss;
	if (rss > s->rss_peak_kib)
		s->rss_peak_kib = rss;
	if (anon > s->anon_kib)
		s->anon_kib = anon;
	__atomic_store_n(&s->attach.live.head->rss_kib, rss, __ATOMIC_RELAXED);
}

/* Whether it has become another program: then our code is no longer in it. */
static bool
was_replaced(const struct session *s)
{
	const struct plan *p = &s->attach.plan;
	uint64_t word;
	struct iovec to = {&word, sizeof word};
	struct iovec from = {(void *)(uintptr_t)p->code.start, sizeof word};

	if (s->armed)
		return s->attach.live.head->life == REC_LIFE_EXEC;
	return p->code.start != 0 &&
	       process_vm_readv(file_proc_task(s->pid), &to, 1, &from, 1, 0) < 0 &&
	       errno == EFAULT;
}

static void
look_for_exec(struct session *s)
{
	char link[32];
	ssize_t n;

	if (s->ended || !was_replaced(s))
		return;
	s->ended = true;
	s->recorded_ms = session_age_ms(s);
	s->taken_out = !s->armed && s->attach.control->state >= ATTACH_UNDOING;
	s->replaced = !s->taken_out;
	if (s->taken_out)
		return;
	s->replaced_ms = s->recorded_ms;
	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(s->pid));
	n = readlink(link, s->replaced_by, sizeof s->replaced_by - 1);
	s->replaced_by[n > 0 ? n : 0] = '\0';
}

/* Every try stops all threads. Where it cannot be found out, the recorder goes on asking
 * the kernel. */
static void
settle(struct session *s, uint64_t ms)
{
	if (s->settled || ms < s->settle_ms)
		return;
	s->settled = attach_settle(&s->attach) || ++s->settle_tries == SETTLE_TRIES;
	s->settle_ms = ms * 2;
}

void
session_tick(struct session *s)
{
	struct rec_head *h = s->attach.live.head;
	uint64_t ms = session_age_ms(s);

	if (s->ended || h == NULL)
		return;
	livefile_tick(&s->attach.live, ms);
	if (!s->armed)
		__atomic_fetch_add(&s->attach.control->heartbeat, 1, __ATOMIC_RELAXED);
	if (looks_due(&s->looks, ms))
		looks_take(&s->looks, &s->attach.live, ms);
	if (ms < s->next_ms)
		return;
	s->next_ms = ms + (ms < TURN_MS ? TURN_FIRST_MS : TURN_MS);
	s->ended = !livefile_alive(&s->attach.live);
	look_for_exec(s);
	if (s->ended)
		return;
	look_at_memory(s);
	if (livefile_map_all(&s->attach.live, NULL) == 0)
		livefile_refresh_names(&s->attach.live);
	if (s->armed)
		return;
	s->off = s->attach.control->off != 0;
	keep_budget(s);
	attach_keep_up(&s->attach, NULL);
	settle(s, ms);
}

int
session_detach(struct session *s, struct err *e)
{
	int r = 0;

	if (s->attach.live.head == NULL)
		return 0;
	s->recorded_ms = session_age_ms(s);
	s->ended = s->ended || !livefile_alive(&s->attach.live);
	look_for_exec(s);
	if (s->ended)
		return 0;
	look_at_memory(s);
	if (s->armed) {
		control_pause(&s->attach.live, true);
		__atomic_store_n(&s->attach.live.head->clock_ms, 0, __ATOMIC_RELAXED);
		return 0;
	}
	keep_budget(s);
	session_read_old(s);
	r = detach_patches(s->pid, &s->detached, e);
	if (r == 0)
		r = detach_unmap(s->pid, &s->detached, e);
	if (r == -ESRCH || !livefile_alive(&s->attach.live)) {
		s->ended = true;
		r = 0;
	}
	return r;
}

void
session_leave(struct session *s)
{
	struct rec_head *h = s->attach.live.head;

	if (h == NULL || s->ended)
		return;
	__atomic_store_n(&h->clock_ms, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&h->tool_pid, 0, __ATOMIC_RELAXED);
}

void
session_close(struct session *s)
{
	looks_done(&s->looks);
	oldblocks_done(&s->old);
	attach_close(&s->attach);
}
