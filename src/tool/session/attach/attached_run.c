/* SPDX-License-Identifier: MIT */
/* attached_run.c -- the time between attaching and detaching: see attached.h. */
#include "tool/session/attach/attached.h"

#include <stdio.h>

#include "tool/session/attach/attached_beat.h"
#include "tool/session/loop.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/fmt.h"

enum { CHILDREN_NS = 100000000 }; /* between two looks for new ones */

#define MS UINT64_C(1000000)

struct running {
	struct attached_sessions *ss;
	const struct attached_run *how;
	struct attached_kin kin;
	uint64_t start_ms, next_ms, reports;
};

static void
say_recording(const struct running *r)
{
	char rest[32] = "";

	if (r->ss->len > 1)
		snprintf(rest, sizeof rest, " and %zu more", r->ss->len - 1);
	doing("recording process %d%s%s%s, Ctrl-C ends it", r->ss->data[0]->pid, rest,
	      r->how->for_ns > 0 ? " for " : "",
	      r->how->for_ns > 0 ? fmt_duration(r->how->for_ns).s : "");
}

/* Reports that were missed, while one took long, are not made up for. */
static int
report_if_due(struct running *r, uint64_t ms)
{
	uint64_t every = r->how->every_ns / MS;

	if (r->how->every_ns == 0 || ms < r->next_ms)
		return LOOP_GO_ON;
	if (r->how->count > 0 && ++r->reports >= r->how->count)
		return LOOP_END;
	doing_end();
	attached_beat_begin(r->ss);
	r->how->report(r->how->ctx, r->ss);
	attached_beat_end();
	say_recording(r);
	r->next_ms = every > 0 ? (ms / every + 1) * every : ms + 1;
	return LOOP_GO_ON;
}

static int
running_step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct running *r = ctx;
	const struct attached_run *how = r->how;
	uint64_t ms = session_age_ms(r->ss->data[0]) - r->start_ms;

	(void)ev, (void)e;
	l->tick_ns = ATTACHED_TICK_NS;
	attached_tick(r->ss);
	if (how->children != NULL)
		attached_children(r->ss, how->children, &r->kin);
	if (report_if_due(r, ms) == LOOP_END || attached_all_ended(r->ss))
		return LOOP_END;
	return how->count == 0 && how->for_ns > 0 && ms >= how->for_ns / MS ? LOOP_END
									    : LOOP_GO_ON;
}

int
attached_run(struct attached_sessions *ss, const struct attached_run *how, struct err *e)
{
	struct running r = {.ss = ss,
			    .how = how,
			    .kin = {.every_ns = CHILDREN_NS, .sparing = true},
			    .start_ms = session_age_ms(ss->data[0]),
			    .next_ms = how->every_ns / MS};
	struct loop l = {.step = running_step, .ctx = &r};
	int ret;

	say_recording(&r);
	ret = loop_run(&l, e);
	doing_end();
	return ret;
}
