/* SPDX-License-Identifier: MIT */
/* growth_text.c -- see growth_text.h. */
#include "render/growth_text.h"

#include <stdio.h>

#include "util/fmt.h"

enum { SECONDS = 60 }; /* rates are told by the minute */

struct figure_str
growth_text_rate(double slope, double error, bool exact)
{
	double minute = slope * SECONDS, off = error * SECONDS;
	const char *sign = minute < 0 ? "\xe2\x88\x92" : "+";
	struct figure_str f, n;

	if (minute < 0)
		minute = -minute;
	if (off < minute / 200 || off > 1e18)
		off = 0;
	n = figure_bytes((int64_t)(minute < 9e18 ? minute + 0.5 : 9e18), off * off,
			 exact);
	snprintf(f.s, sizeof f.s, "%s%.100s/min", sign, n.s);
	return f;
}

static void
add_freed(struct buf *out, const struct growth_verdict *v)
{
	uint64_t allocs = v->allocs > 0 ? (uint64_t)v->allocs : 0;
	uint64_t frees = v->frees > 0 ? (uint64_t)v->frees : 0;

	if (frees == 0)
		buf_add_str(out, "none freed");
	else
		buf_printf(out, "%s freed",
			   fmt_percent(frees < allocs ? frees : allocs, allocs).s);
	if (v->mature_ms > 0)
		buf_printf(out, " of those older than %s", figure_ms(v->mature_ms).s);
}

void
growth_text_evidence(struct buf *out, const struct growth_verdict *v, bool sampled)
{
	buf_printf(out, "%s, ",
		   figure_things(v->samples, 0, sampled ? "sample" : "block").s);
	add_freed(out, v);
	buf_printf(out, ", grew in %u of %u intervals", v->grew, v->intervals);
	if (v->oldest_ms > 0)
		buf_printf(out, ", oldest %s", figure_ms(v->oldest_ms).s);
}

void
growth_text_needs(struct buf *out, const struct growth_verdict *v)
{
	static const char *const words[] = {
		[GROWTH_WHY_NONE] = "",
		[GROWTH_WHY_SHORT] = "not seen for long",
		[GROWTH_WHY_FEW] = "few blocks so far",
		[GROWTH_WHY_UNEVEN] = "not all the time",
		[GROWTH_WHY_SLOWING] = "slowing down, as a cache that fills",
		[GROWTH_WHY_FREED] = "but many are freed",
		[GROWTH_WHY_OLDER] = "less of these sizes goes than comes",
		[GROWTH_WHY_RSS] = "the process does not grow with it",
	};

	if (v->word == GROWTH_GROWING)
		buf_printf(out, "%s: needs about %s more", words[v->why],
			   figure_ms(v->more_ms).s);
}

void
growth_text_older(struct buf *out, const struct growth_verdict *v)
{
	double rest = v->came > v->older ? v->came - v->older : 0;

	buf_printf(out, "%s/min come and stay, ",
		   fmt_size((uint64_t)(v->came * SECONDS)).s);
	if (v->why == GROWTH_WHY_RSS)
		buf_printf(out, "but its resident memory grows by %s/min only",
			   fmt_size((uint64_t)(rest * SECONDS)).s);
	else
		buf_printf(out, "%s/min of older blocks of these sizes go",
			   fmt_size((uint64_t)(v->older * SECONDS)).s);
}

void
growth_text_limit(struct buf *out, uint64_t rate_bytes, uint64_t ms)
{
	double limit = growth_limit(rate_bytes, ms) * SECONDS;

	if (rate_bytes > 0)
		buf_printf(out, "a leak slower than %s/min would not show in %s",
			   fmt_size((uint64_t)limit).s, figure_ms(ms).s);
	else
		buf_printf(out, "a leak of fewer than %d blocks would not show in %s",
			   GROWTH_SAMPLES, figure_ms(ms).s);
}
