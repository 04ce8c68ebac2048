/* SPDX-License-Identifier: MIT */
/* progress.c -- see progress.h. */
#include "tool/cli/term/progress.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/term/status_line.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/fmt.h"

#define PROGRESS_AFTER_NS UINT64_C(2000000000)

void
progress_init(struct progress *p)
{
	*p = (struct progress){0};
	term_init(&p->term, STDERR_FILENO);
	p->wanted = p->term.tty && !isatty(STDOUT_FILENO) && status_line_may_show();
}

bool
progress_wanted(const struct progress *p)
{
	return p->wanted;
}

void
progress_show(struct progress *p, const char *program, struct ticker *t)
{
	struct buf b = {0};
	uint64_t now = clock_ns(CLOCK_MONOTONIC), rss = 0, live = 0;

	/* In the background a write could stop us (TOSTOP). */
	if (!p->wanted || now - t->start_ns < PROGRESS_AFTER_NS ||
	    !status_line_may_show())
		return;
	for (size_t i = 0; i < t->files.len; i++) {
		struct ticker_file *f = &t->files.data[i];

		if (f->gone)
			continue;
		if (livefile_map_all(&f->live, NULL) == 0)
			live += livefile_live_bytes(&f->live);
		rss += f->rss_kib << 10;
	}
	buf_printf(&b, "seep: recording %.40s  %s  live %s  RSS %s", program,
		   fmt_duration((now - t->start_ns) / 1000000000 * 1000000000).s,
		   fmt_size(live).s, fmt_size(rss).s);
	if (p->term.columns > 1 && b.len >= p->term.columns)
		b.data[b.len = p->term.columns - 1] = '\0';
	buf_add_str(&b, "\033[K\r");
	if (write(STDERR_FILENO, b.data, b.len) == (ssize_t)b.len)
		p->shown = true;
	buf_done(&b);
}

void
progress_done(struct progress *p)
{
	static const char wipe[] = "\r\033[K";

	if (p->shown && status_line_may_show() &&
	    write(STDERR_FILENO, wipe, sizeof wipe - 1) > 0)
		p->shown = false;
}
