/* SPDX-License-Identifier: MIT */
/* moment_words.c -- see moment_words.h. */
#include "tool/render/moment_words.h"

#include <inttypes.h>

#include "tool/render/figure.h"
#include "tool/util/fmt.h"

#define DOT " \xc2\xb7 "

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

static bool
moment_as_clock(uint64_t ms)
{
	return ms >= CLOCK_FROM_S * UINT64_C(1000);
}

void
moment_interval(struct buf *out, const struct prof_moment *m)
{
	bool as_clock = moment_as_clock(m->to_ms);

	if (m->to_ms == 0) {
		buf_add_str(out, "before the first check");
		return;
	}
	buf_add_str(out, "between ");
	moment_time(out, m->from_ms, false, as_clock);
	buf_add_str(out, " and ");
	moment_time(out, m->to_ms, true, as_clock);
	buf_add_str(out, as_clock ? "" : " s");
}

void
moment_others(struct buf *out, const struct prof_moment *all, size_t n, uint64_t blocks)
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
	buf_printf(out, " (%s of %s blocks", fmt_count(all->blocks).s,
		   fmt_count(blocks).s);
	if (n == 2) {
		buf_add_str(out, "; others ");
		moment_interval(out, &all[1]);
	} else if (n > 2) {
		bool as_clock = moment_as_clock(to_ms);

		buf_printf(out, "; others in %zu more intervals up to ", n - 1);
		moment_time(out, to_ms, true, as_clock);
		buf_add_str(out, as_clock ? "" : " s");
	}
	if (known < blocks)
		buf_printf(out, "; of %s it is not known", fmt_count(blocks - known).s);
	buf_add_char(out, ')');
}

void
moment_checks(struct buf *out, const struct moments_sum *s, const char *why)
{
	buf_printf(out, "checked for leaks %s",
		   figure_things((int64_t)s->made, 0, "time").s);
	if (s->last_ms > 0)
		buf_printf(out, ", the last at %s", figure_ms(s->last_ms).s);
	if (s->longest_ns > 0)
		buf_printf(out, DOT "stopped for up to %.*f ms each",
			   s->longest_ns < 10000000, (double)s->longest_ns / 1e6);
	if (s->late > 0)
		buf_printf(out, DOT "%s longer than --max-stop", fmt_count(s->late).s);
	if (s->again_blocks > 0)
		buf_printf(out, DOT "%s seemed lost, but %s found again or freed",
			   figure_things((int64_t)s->again_blocks, 0, "block").s,
			   s->again_blocks == 1 ? "was" : "were");
	if (s->unfollowed_blocks > 0)
		buf_printf(out, DOT "too many to remember: %s",
			   figure_things((int64_t)s->unfollowed_blocks, 0, "block").s);
	if (s->failed > 0) {
		buf_printf(out, DOT "%s more left out, the last at %s: ",
			   fmt_count(s->failed).s, figure_ms(s->failed_ms).s);
		clean_text(out, why);
	}
	buf_add_char(out, '\n');
}

void
round_json(struct json *j, const struct prof_round *x, const char *why)
{
	json_member_u64(j, "ms", x->ms);
	json_member_u64(j, "checks", x->checks);
	json_member_bool(j, "done", x->why == 0);
	json_member_str(j, "why", x->why != 0 ? why : NULL);
	if (x->why != 0)
		return;
	json_member_u64(j, "lost_bytes", x->lost_bytes);
	json_member_u64(j, "lost_blocks", x->lost_blocks);
	json_member_u64(j, "possible_bytes", x->possible_bytes);
	json_member_u64(j, "possible_blocks", x->possible_blocks);
	json_member_u64(j, "found_again_bytes", x->again_bytes);
	json_member_u64(j, "found_again_blocks", x->again_blocks);
	json_member_u64(j, "not_remembered_blocks", x->unfollowed_blocks);
	json_member_u64(j, "stop_ns", x->stop_ns);
	json_member_u64(j, "over_max_stop", x->late);
}
