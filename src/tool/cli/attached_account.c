/* SPDX-License-Identifier: MIT */
/* attached_account.c -- see attached_account.h. */
#include "tool/cli/attached_account.h"

#include <time.h>

#include "tool/cli/watcher.h"
#include "tool/render/watch/watch.h"
#include "tool/target/proc/cgroup.h"
#include "tool/util/fmt.h"

#define NS UINT64_C(1000000000)

void
attached_account_limit(struct prof *p, uint32_t process, int pid, uint64_t before_kib)
{
	struct prof_memory m = {.process = process, .before_kib = before_kib};
	uint64_t own = p->processes[process].recorder_kib << 10;
	struct cgroup_memory c;
	uint32_t row;

	cgroup_memory(pid, &c);
	if (c.limit_bytes > 0 && c.limit_bytes < UINT64_MAX) {
		m.limit_bytes = c.limit_bytes;
		m.used_bytes = c.used_bytes > own ? c.used_bytes - own : 0;
		m.limit_machine = c.machine;
	}
	row = prof_add_memory(p);
	p->memories[row] = m;
}

bool
attached_account(struct buf *out, const struct session *s)
{
	struct watcher *w = NULL;
	const char *see;
	bool heap;
	time_t began;
	struct tm tm;
	char clock[16];

	if (s->ended || s->attach.live.head == NULL || watcher_once(s->pid, &w, NULL) < 0)
		return true;
	began = (time_t)(s->attach.live.head->start_ns / NS);
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
	else if (s->attach.live.head->before_kib > 0)
		buf_printf(out,
			   "allocated before the attach (%s): %s resident    see: seep "
			   "%s %d\n",
			   clock,
			   fmt_size((uint64_t)s->attach.live.head->before_kib << 10).s,
			   see, s->pid);
	else
		buf_printf(out,
			   "allocated before the attach (%s): not recorded    see: seep "
			   "%s %d\n",
			   clock, see, s->pid);
	watcher_free(w);
	return heap;
}
