/* SPDX-License-Identifier: MIT */
/* report_moments.c -- under a listed site: when its blocks were lost; and the line about
 * the leak checks that found out.
 *
 * Times are since the start of the process's recording. What is printed is never narrower
 * than the interval: its beginning is rounded down, its end up. */
#include <inttypes.h>

#include "tool/analyze/sites/moments.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/fmt.h"

enum { UNIT_MS = 10, CLOCK_FROM_S = 1000 };

/* "12.02", or "1:02:03" of what takes that long. */
static void
moment_time(struct buf *out, uint64_t ms, bool end, bool as_clock)
{
	uint64_t unit = as_clock ? 1000 : UNIT_MS, n = (ms + (end ? unit - 1 : 0)) / unit;

	if (as_clock)
		buf_printf(out, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, n / 3600,
			   n / 60 % 60, n % 60);
	else
		buf_printf(out, "%" PRIu64 ".%02" PRIu64, n / 100, n % 100);
}

static void
moment_interval(struct buf *out, uint64_t from_ms, uint64_t to_ms)
{
	bool as_clock = to_ms >= CLOCK_FROM_S * UINT64_C(1000);

	buf_add_str(out, "between ");
	moment_time(out, from_ms, false, as_clock);
	buf_add_str(out, " and ");
	moment_time(out, to_ms, true, as_clock);
	buf_add_str(out, as_clock ? "" : " s");
}

/* The mark that was set last before it, and one that was set during it. */
static void
moment_marks(struct report *r, const struct prof_moment *m)
{
	uint32_t process = r->p->sites[m->site].process;
	const struct prof_mark *before = moments_mark(r->p, process, 0, m->from_ms);
	const struct prof_mark *during =
		moments_mark(r->p, process, m->from_ms + 1, m->to_ms);

	if (before != NULL) {
		buf_add_str(r->out, ", after mark \"");
		clean_text(r->out, prof_text(r->p, before->name));
		buf_add_char(r->out, '"');
	}
	if (during != NULL) {
		buf_add_str(r->out, before != NULL ? "; mark \"" : ", mark \"");
		clean_text(r->out, prof_text(r->p, during->name));
		buf_printf(r->out, "\" was set at %s", figure_ms(during->ms).s);
	}
}

/* "(12 of 40 blocks; the others in 3 more intervals up to 55.0 s)" */
static void
moment_others(struct report *r, const struct prof_moment *all, size_t n, uint64_t blocks)
{
	uint64_t known = 0, to_ms = 0;

	for (size_t i = 0; i < n; i++) {
		known += all[i].blocks;
		if (all[i].to_ms > to_ms)
			to_ms = all[i].to_ms;
	}
	if (blocks < known)
		blocks = known;
	if (all->blocks == blocks)
		return;
	buf_printf(r->out, " (%s of %s blocks", fmt_count(all->blocks).s,
		   fmt_count(blocks).s);
	if (n == 2) {
		buf_add_str(r->out, "; others ");
		moment_interval(r->out, all[1].from_ms, all[1].to_ms);
	} else if (n > 2) {
		bool as_clock = to_ms >= CLOCK_FROM_S * UINT64_C(1000);

		buf_printf(r->out, "; others in %zu more intervals up to ", n - 1);
		moment_time(r->out, to_ms, true, as_clock);
		buf_add_str(r->out, as_clock ? "" : " s");
	}
	if (known < blocks)
		buf_printf(r->out, "; of %s it is not known",
			   fmt_count(blocks - known).s);
	buf_add_char(r->out, ')');
}

void
report_moments(struct report *r, const struct sites *ss, uint32_t row)
{
	const struct sites_total *t = &ss->rows[row].t;
	struct moments all;
	size_t first = 0, n;

	if (r->p->nmoments == 0)
		return;
	moments_of(r->p, ss, row, &all);
	/* The kind that the list is about: the first that the place has. */
	while (first < all.len && all.data[first].kind != all.data[0].kind)
		first++;
	for (n = first; n < all.len && all.data[n].kind == all.data[first].kind &&
			all.data[n].site == all.data[first].site;)
		n++;
	if (n > first) {
		const struct prof_moment *m = &all.data[first];
		int64_t blocks = t->loss_blocks[m->kind];

		buf_printf(r->out, "%*slost ", REPORT_INDENT, "");
		moment_interval(r->out, m->from_ms, m->to_ms);
		moment_marks(r, m);
		moment_others(r, m, n - first, blocks > 0 ? (uint64_t)blocks : 0);
		if (ss->rows[row].processes > 1) {
			buf_add_str(r->out, ", in ");
			report_process(r, r->p->sites[m->site].process);
		}
		buf_add_char(r->out, '\n');
	}
	vec_done(&all);
}

void
report_rounds(struct report *r)
{
	struct moments_sum s = moments_sum(r->p, r->focus);

	if (s.made + s.failed == 0)
		return;
	buf_printf(r->out, "checked for leaks %s",
		   figure_things((int64_t)s.made, 0, "time").s);
	if (s.longest_ns > 0)
		buf_printf(r->out, REPORT_DOT "stopped for up to %s each",
			   fmt_duration(s.longest_ns).s);
	if (s.late > 0)
		buf_printf(r->out, REPORT_DOT "%s longer than --max-stop",
			   fmt_count(s.late).s);
	if (s.again_blocks > 0)
		buf_printf(r->out,
			   REPORT_DOT "%s seemed lost, but %s found again or freed",
			   figure_things((int64_t)s.again_blocks, 0, "block").s,
			   s.again_blocks == 1 ? "was" : "were");
	if (s.unfollowed_blocks > 0)
		buf_printf(r->out, REPORT_DOT "too many to remember: %s",
			   figure_things((int64_t)s.unfollowed_blocks, 0, "block").s);
	if (s.failed > 0) {
		buf_printf(r->out, REPORT_DOT "%s more left out, the last at %s: ",
			   fmt_count(s.failed).s, figure_ms(s.failed_ms).s);
		clean_text(r->out, prof_text(r->p, s.failed_why));
	}
	buf_add_char(r->out, '\n');
}
