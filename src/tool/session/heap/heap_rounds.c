/* SPDX-License-Identifier: MIT */
/* heap_rounds.c -- see heap_rounds.h. */
#include "tool/session/heap/heap_rounds.h"

#include <errno.h>

#include "tool/session/leaks/leak_plan.h"
#include "tool/util/clock.h"

/* Whether a copy can be had, and soon enough. */
static int
plan(const struct heap_rounds *r, struct err *e)
{
	struct leak_plan p;
	int ret = leak_plan_make(NULL, r->pid, &p, e);

	if (ret == 0 && p.way != LEAKCHECK_COPY && !r->any_size)
		ret = err_set(e, -ENOMEM, "%s", p.why);
	return ret == 0 ? leak_plan_check(&p, r->max_stop_ns, e) : ret;
}

static void
take(struct heap_rounds *r, struct heapcheck *c)
{
	uint64_t at = c->image.stood_ns, stop_ns = c->scan.stop_ns + c->scan.pause_ns;

	if (r->start_ns == 0)
		r->start_ns = at;
	r->watch.by_address = true;
	for (size_t i = 0; i < c->blocks.len; i++) {
		if (c->blocks.data[i].state != CLASSIFY_REACHABLE)
			loss_watch_add(&r->watch, &c->blocks.data[i], 0);
	}
	loss_watch_made(&r->watch, (at - r->start_ns) / 1000, stop_ns,
			r->max_stop_ns > 0 && stop_ns > r->max_stop_ns);
	heapscan_done(&r->last);
	r->last = c->scan;
	c->scan = (struct heapscan){0};
}

int
heap_rounds_check(struct heap_rounds *r, struct err *e)
{
	struct heapcheck c = HEAPCHECK_NONE;
	int ret = image_open_process(r->pid, &c.image, e);

	r->how.copy = r->how.only_copy = true;
	loss_watch_begin(&r->watch);
	if (ret == 0)
		ret = plan(r, e);
	if (ret == 0)
		ret = heapcheck_process(&c, &r->how, e);
	if (ret == 0)
		take(r, &c);
	heapcheck_done(&c);
	return ret;
}

void
heap_rounds_failed(struct heap_rounds *r, const char *why)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	loss_watch_failed(&r->watch, r->start_ns > 0 ? (now - r->start_ns) / 1000000 : 0,
			  why);
}

struct heapscan
heap_rounds_take(struct heap_rounds *r)
{
	struct heapscan s = r->last;
	struct loss_watch_spans spans;

	r->last = (struct heapscan){0};
	loss_watch_spans(&r->watch, &spans);
	for (size_t i = 0; i < spans.len; i++)
		vec_push(&s.moments, spans.data[i]);
	vec_done(&spans);
	for (size_t i = 0; i < r->watch.rounds.len; i++) {
		const struct loss_watch_round *x = &r->watch.rounds.data[i];

		vec_push(&s.rounds, x->row);
		if (x->why != NULL)
			vec_last(&s.rounds)->why = strtab_add(&s.strings, x->why);
	}
	return s;
}

void
heap_rounds_done(struct heap_rounds *r)
{
	loss_watch_done(&r->watch);
	heapscan_done(&r->last);
}
