/* SPDX-License-Identifier: MIT */
/* top_attach.c -- from a process that nobody records to one that is: see top.h. */
#include <errno.h>

#include "tool/session/attach/attached_beat.h"
#include "tool/session/run/save.h"
#include "tool/session/top/top_impl.h"
#include "tool/target/attach/attach.h"
#include "tool/target/attach/refusal.h"
#include "tool/target/proc/anonparts.h"

#define MAX_BYTES (UINT64_C(256) << 20)

enum { LOOKS_MS = 1000 };

int
top_may_attach(const struct top *t, uint64_t *ret_stop_ns, struct err *e)
{
	struct refusal_facts f;

	if (t->kind != TOP_REGIONS || t->ended)
		return err_set(e, -EINVAL, "%d is recorded already, or has ended",
			       t->pid);
	refusal_read(t->pid, &f);
	*ret_stop_ns = attach_expect_ns(t->pid);
	return refusal_check(&f, e);
}

int
top_attach(struct top *t, struct err *e)
{
	struct session_settings s = {.attach = {.mode = REC_MODE_SAMPLE,
						.rate_bytes = SESSION_RATE_DEFAULT,
						.max_bytes = MAX_BYTES},
				     .budget = 0.01,
				     .looks_ms = LOOKS_MS};
	struct procfs_pids pids = {0};
	uint64_t stop_ns;
	int r = top_may_attach(t, &stop_ns, e);

	if (r < 0)
		return r;
	attached_ignore_limits();
	procfs_pids_add(&pids, t->pid);
	r = attached_open(&pids, &s, &t->attached, e);
	vec_done(&pids);
	if (r < 0)
		return r;
	watchers_done(&t->watched);
	t->kind = TOP_LIVE;
	t->period_ms = 0;
	return top_look(t, e);
}

struct session *
top_session(const struct top *t)
{
	return t->attached.len > 0 ? t->attached.data[0] : NULL;
}

void
top_tick(struct top *t)
{
	attached_tick(&t->attached);
}

bool
top_detach(struct top *t)
{
	struct session *s = top_session(t);

	if (s == NULL || t->detached)
		return true;
	t->detached = true;
	return attached_detach(&t->attached);
}

/* The process's memory as it is now. */
static void
look_at_memory(struct session *s, struct prof *p)
{
	struct prof_process *pr = &p->processes[p->nprocesses - 1];
	struct anonparts parts = {.own_kib = livefile_head(&s->attach.live).own_kib};

	if (s->ended || anonparts_read(&s->attach.live, &parts) < 0)
		return;
	pr->anon_kib = s->anon_kib;
	pr->stack_kib = parts.stack_kib;
	pr->static_kib = parts.static_kib;
}

int
top_load_attached(struct top *t, struct prof *p, struct err *e)
{
	struct session *s = t->attached.data[0];
	int r;

	attached_beat_begin(&t->attached);
	r = attached_load_one(s, p, e);
	if (r == 0)
		look_at_memory(s, p);
	attached_beat_end();
	save_coverage(p);
	return r;
}
