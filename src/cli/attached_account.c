/* SPDX-License-Identifier: MIT */
/* attached_account.c -- see attached_account.h. */
#include "cli/attached_account.h"

#include <time.h>

#include "analyze/growth_places.h"
#include "analyze/skip.h"
#include "cli/watcher.h"
#include "render/growth_text.h"
#include "render/watch.h"
#include "util/fmt.h"

#define NS UINT64_C(1000000000)
#define FAR_SECONDS (100 * 365.25 * 86400) /* further away is never */

/* How fast it leaks, in bytes a second; 0 when it does not. */
static double
leak_rate(const struct prof *p)
{
	struct skip *skip = skip_new(p, NULL);
	struct sites sites;
	struct growth_places g;
	double rate;

	sites_init(&sites, p, skip, &(struct sites_query){0});
	growth_places_init(&g, p, &sites);
	rate = g.word >= GROWTH_GROWING && g.slope > 0 ? g.slope : 0;
	growth_places_done(&g);
	sites_done(&sites);
	skip_free(skip);
	return rate;
}

static void
add_limit(struct buf *out, const struct watcher *w, double rate)
{
	const struct cgroup_memory *c = &w->limit;
	double seconds;

	if (rate <= 0 || c->limit_bytes == 0 || c->limit_bytes == UINT64_MAX ||
	    c->limit_bytes <= c->used_bytes)
		return;
	seconds = (double)(c->limit_bytes - c->used_bytes) / rate;
	if (seconds < FAR_SECONDS)
		buf_printf(out, "%s of %s reached in about %s at %s\n",
			   c->machine ? "the machine's memory" : "memory limit",
			   fmt_size(c->limit_bytes).s,
			   fmt_duration((uint64_t)(seconds * 1e9)).s,
			   growth_text_rate(rate, 0, false).s);
}

void
attached_account(struct buf *out, const struct session *s, const struct prof *p)
{
	struct watcher *w = NULL;
	time_t began;
	struct tm tm;
	char clock[16];

	if (s->ended || s->attach.live.head == NULL || watcher_once(s->pid, &w, NULL) < 0)
		return;
	began = (time_t)(s->attach.live.head->start_ns / NS);
	watcher_account(w);
	if (w->has_account)
		watch_account(out, &w->account);
	if (out->len > 0 && out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
	add_limit(out, w, leak_rate(p));
	strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&began, &tm));
	buf_printf(out, "not covered: what was allocated before %s", clock);
	if (s->rss_first_kib > 0)
		buf_printf(out, ", when %s were resident",
			   fmt_size(s->rss_first_kib << 10).s);
	buf_add_char(out, '\n');
	watcher_free(w);
}
