/* SPDX-License-Identifier: MIT */
/* attach_foot.c -- see attach_foot.h. */
#include "tool/render/watch/attach_foot.h"

#include <time.h>
#include <unistd.h>

#include "tool/render/watch/watch.h"
#include "tool/session/watch/watcher.h"
#include "tool/target/proc/cgroup.h"
#include "tool/util/clean.h"
#include "tool/util/clock.h"
#include "tool/util/fmt.h"

#define NS UINT64_C(1000000000)
#define DOT " \xc2\xb7 "

bool
attach_account(struct buf *out, const struct session *s)
{
	struct livefile_head h;
	struct watcher *w = NULL;
	const char *see;
	bool heap;
	time_t began;
	struct tm tm;
	char clock[16];

	if (s->ended || s->attach.live.head == NULL || watcher_once(s->pid, &w, NULL) < 0)
		return true;
	h = livefile_head(&s->attach.live);
	began = (time_t)(h.start_ns / NS);
	watcher_account(w);
	if (w->has_account)
		watch_account(out, &w->account);
	if (out->len > 0 && out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
	strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&began, &tm));
	heap = w->heap.known || s->armed || s->attach.control == NULL ||
	       s->attach.control->samples > 0 || livefile_live_bytes(&s->attach.live) > 0;
	see = heap ? "leaks" : "why";
	if (!s->late)
		buf_printf(out, "recorded since %s\n", clock);
	else if (h.before_kib > 0)
		buf_printf(out,
			   "allocated before the attach (%s): %s resident    see: seep "
			   "%s %d\n",
			   clock, fmt_size((uint64_t)h.before_kib << 10).s, see, s->pid);
	else
		buf_printf(out,
			   "allocated before the attach (%s): not recorded    see: seep "
			   "%s %d\n",
			   clock, see, s->pid);
	watcher_free(w);
	return heap;
}

void
attach_left(struct buf *out, const struct detached *d)
{
	if (!d->found)
		buf_add_str(out, "nothing was in it");
	else if (d->kept == 0 && d->stub_bytes > 0)
		buf_printf(
			out,
			"detached; %s of jumps to the real functions stay: the program "
			"may have stored malloc's address",
			fmt_size(d->stub_bytes).s);
	else if (d->kept == 0)
		buf_add_str(out, "detached, nothing left");
	else
		buf_printf(out,
			   "detached, but %s of address space in %u mapping%s stay%s "
			   "until it ends, because a thread may still return to them",
			   fmt_size(d->kept_bytes).s, d->kept, d->kept == 1 ? "" : "s",
			   d->kept == 1 ? "s" : "");
	if (d->foreign > 0)
		buf_printf(out,
			   "; %u hook%s changed by somebody else since, left as "
			   "found",
			   d->foreign, d->foreign == 1 ? " was" : "s were");
}

static uint64_t
up_ns(const struct session *s)
{
	uint64_t ticks = s->stat.start_ticks, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now = clock_ns(CLOCK_BOOTTIME);

	if (hz == 0 || ticks / hz > now / 1000000000)
		return 0;
	return now - ticks / hz * 1000000000;
}

static void
attach_ended(struct buf *out, const struct session *s)
{
	if (!s->replaced) {
		buf_add_str(out, s->taken_out ? "taken out by seep detach, it runs on"
					      : "it has ended");
		return;
	}
	buf_add_str(out, "replaced itself by exec of ");
	clean_text(out, s->replaced_by[0] != '\0' ? s->replaced_by : "another program");
	buf_printf(out, " after %s; the recording ends there",
		   fmt_duration(s->replaced_ms * 1000000).s);
}

void
attach_foot(struct buf *out, const struct session *s, bool detached)
{
	struct cgroup_memory limit;

	cgroup_memory(s->pid, &limit);
	buf_printf(out, "pid %d (", s->pid);
	clean_text(out, s->stat.comm);
	buf_printf(out, "), up %s", fmt_duration(up_ns(s)).s);
	if (limit.limit_bytes > 0 && limit.limit_bytes < UINT64_MAX)
		buf_printf(out, ", %s %s", limit.machine ? "machine has" : "limit",
			   fmt_size(limit.limit_bytes).s);
	if (s->armed) {
		buf_add_str(out, DOT "libseep.so was there: never stopped");
		if (s->ended) {
			buf_add_str(out, ", ");
			attach_ended(out, s);
		} else if (detached) {
			buf_add_str(out, ", paused again");
		}
		buf_add_char(out, '\n');
		return;
	}
	buf_printf(out, DOT "%.2g %% of a core in the recorder",
		   s->busy < 0.00005 ? 0.0 : s->busy * 100);
	buf_printf(out, DOT "stopped %.1f", (double)s->attach.stopped_ns / 1e6);
	if (s->checked_ns > 0)
		buf_printf(out, " + %.1f (leak check)", (double)s->checked_ns / 1e6);
	if (detached && !s->ended)
		buf_printf(out, " + %.1f", (double)s->detached.stopped_ns / 1e6);
	buf_add_str(out, " ms");
	if (s->off && !s->ended)
		buf_add_str(out, DOT "the recorder had switched itself off");
	if (detached) {
		buf_add_str(out, DOT);
		if (s->ended)
			attach_ended(out, s);
		else
			attach_left(out, &s->detached);
	}
	buf_add_char(out, '\n');
	if (s->attach.plan.left_out.len > 0) {
		buf_add_str(out, "not hooked: ");
		clean_text(out, buf_str(&s->attach.plan.left_out));
		buf_add_char(out, '\n');
	}
}
