/* SPDX-License-Identifier: MIT */
/* growth_text.c -- see growth_text.h. */
#include "tool/render/growth_text.h"

#include <stdio.h>

#include "tool/util/fmt.h"

enum { SECONDS = 60 }; /* rates are per minute */

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

bool
growth_text_has_rate(double slope)
{
	double minute = slope * SECONDS;

	return minute >= 0.5 || minute <= -0.5;
}

static struct fmt_str
size_of(int64_t bytes)
{
	return fmt_size(bytes > 0 ? (uint64_t)bytes : 0);
}

/* "most blocks are freed within 0.4 s; of 372 blocks that lived longer than 23 s none was
 * freed" */
static void
add_survivors(struct buf *out, const struct growth_verdict *v, const char *thing)
{
	uint64_t all = v->mature_live + v->mature_freed;

	buf_add_str(out, "most blocks are freed ");
	if (v->most_ms > 0)
		buf_printf(out, "within %s", figure_ms(v->most_ms).s);
	else
		buf_add_str(out, "right away");
	buf_printf(out, "; of %s that lived longer than %s ",
		   figure_things((int64_t)all, 0, thing).s, figure_ms(v->mature_ms).s);
	if (v->mature_freed == 0)
		buf_add_str(out, "none was freed");
	else
		buf_printf(out, "%s %s freed", fmt_count(v->mature_freed).s,
			   v->mature_freed == 1 ? "was" : "were");
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
}

void
growth_text_evidence(struct buf *out, const struct growth_verdict *v, bool sampled)
{
	const char *thing = sampled ? "sample" : "block";

	if (v->word == GROWTH_LEAK) {
		add_survivors(out, v, thing);
		if (v->oldest_ms > 0)
			buf_printf(out, " (oldest: %s)", figure_ms(v->oldest_ms).s);
		return;
	}
	if (v->why == GROWTH_WHY_FREED_AT_EXIT) {
		buf_printf(out, "grew in %u of %u intervals, from %s to %s", v->grew,
			   v->intervals, size_of(v->low_bytes).s,
			   size_of(v->high_bytes).s);
	} else {
		if (v->samples > 0)
			buf_printf(out, "%s, ", figure_things(v->samples, 0, thing).s);
		add_freed(out, v);
		if (v->intervals > 0)
			buf_printf(out, ", grew in %u of %u intervals", v->grew,
				   v->intervals);
	}
	if (v->oldest_ms > 0)
		buf_printf(out, ", oldest %s", figure_ms(v->oldest_ms).s);
}

/* Reasons that have figures of their own; false for the others. */
static bool
add_figures(struct buf *out, const struct growth_verdict *v)
{
	switch (v->why) {
	case GROWTH_WHY_STEPS:
		buf_printf(out, "grew in %u steps, the last %s ago", v->steps,
			   figure_ms(v->last_step_ms).s);
		return true;
	case GROWTH_WHY_LARGER:
		buf_printf(out, "%s %s larger", figure_things(v->blocks, 0, "block").s,
			   v->blocks == 1 ? "gets" : "get");
		return true;
	case GROWTH_WHY_FREED_AT_EXIT:
		buf_add_str(out, "freed at exit");
		return true;
	default:
		return false;
	}
}

void
growth_text_needs(struct buf *out, const struct growth_verdict *v)
{
	static const char *const words[GROWTH_WHYS] = {
		[GROWTH_WHY_NONE] = "",
		[GROWTH_WHY_SHORT] = "watched for too short a time",
		[GROWTH_WHY_FEW] = "too few blocks so far",
		[GROWTH_WHY_UNEVEN] = "with pauses",
		[GROWTH_WHY_SLOWING] = "slowing down, like a cache that fills",
		[GROWTH_WHY_FREED] = "old blocks are freed too",
		[GROWTH_WHY_NEVER_FREED] = "a cache that fills looks the same",
		[GROWTH_WHY_OLDER] = "older blocks of these sizes are freed, but fewer",
		[GROWTH_WHY_RSS] =
			"the resident memory of the process does not grow with it",
	};

	if (v->word != GROWTH_GROWING)
		return;
	if (!add_figures(out, v))
		buf_add_str(out, v->why == GROWTH_WHY_FREED && v->frees == 0
					 ? words[GROWTH_WHY_UNEVEN]
					 : words[v->why]);
	/* A cache may fill for hours: more time would not tell. */
	if (v->more_ms > 0 && v->why != GROWTH_WHY_NEVER_FREED)
		buf_printf(out,
			   "; about %s more of recording would distinguish a leak from "
			   "a cache",
			   figure_ms(v->more_ms).s);
}

void
growth_text_older(struct buf *out, const struct growth_verdict *v)
{
	double rest = v->came > v->older ? v->came - v->older : 0;

	buf_printf(out, "keeps %s/min, ", fmt_size((uint64_t)(v->came * SECONDS)).s);
	if (v->why == GROWTH_WHY_RSS)
		buf_printf(out, "but resident memory grows by only %s/min",
			   fmt_size((uint64_t)(rest * SECONDS)).s);
	else
		buf_printf(out, "while %s/min of older blocks of these sizes are freed",
			   fmt_size((uint64_t)(v->older * SECONDS)).s);
}

void
growth_text_limits(struct buf *out, uint64_t rate_bytes, uint64_t ms, double outside)
{
	double limit = growth_limit(rate_bytes, ms);

	if (rate_bytes > 0)
		buf_printf(out, "a leak slower than %s/min",
			   fmt_size((uint64_t)(limit * SECONDS)).s);
	else
		buf_printf(out, "a leak of fewer than %d blocks", GROWTH_NEVER_FREED);
	if (outside > limit)
		buf_printf(out, ", or %s%s/min outside malloc,",
			   rate_bytes > 0 ? "" : "slower than ",
			   fmt_size((uint64_t)(outside * SECONDS)).s);
	buf_printf(out, " would not show in %s", figure_ms(ms).s);
}

void
growth_text_limit(struct buf *out, uint64_t rate_bytes, uint64_t ms)
{
	growth_text_limits(out, rate_bytes, ms, 0);
}
