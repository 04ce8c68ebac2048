/* SPDX-License-Identifier: MIT */
/* growth_live.c -- see growth_live.h.
 *
 * The timeline has a point where something was allocated, so what an interval begins with is what the one before
 * ended with. */
#include "analyze/growth_live.h"

#include "analyze/growth.h"
#include "analyze/growth_floor.h"

bool
growth_live_is_flat(const struct prof *p, uint32_t process, uint64_t end_ms)
{
	struct growth_point floors[GROWTH_LIVE_INTERVALS] = {0};
	struct growth g;
	int64_t live = 0;
	unsigned at = 0;
	bool flat;

	if (end_ms < GROWTH_LIVE_MS)
		return false;
	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];
		uint64_t in = (uint64_t)x->ms * GROWTH_LIVE_INTERVALS / (end_ms + 1);

		if (x->process != process || in >= GROWTH_LIVE_INTERVALS || in < at)
			continue;
		while (at < in)
			floors[++at].bytes = live;
		live = x->live_bytes;
		if (live < floors[at].bytes)
			floors[at].bytes = live;
	}
	while (at + 1 < GROWTH_LIVE_INTERVALS)
		floors[++at].bytes = live;
	growth_begin(&g, 0);
	for (unsigned i = 0; i < GROWTH_LIVE_INTERVALS; i++) {
		floors[i].ms = i;
		growth_add(&g, &floors[i]);
	}
	flat = live > 0 && !growth_floor_judge(&g, g.points.len).rises;
	growth_done(&g);
	return flat;
}
