/* SPDX-License-Identifier: MIT */
/* coverage.c -- how much of a process's memory the recording speaks of. */
#include "analyze/coverage.h"

#include "analyze/choose.h"
#include "base/recording.h"
#include "util/x.h"

/* Blocks that each process had at its peak, without inherited ones. */
static uint64_t *
coverage_blocks(const struct prof *p)
{
	uint64_t *blocks = xcalloc(p->nprocesses, sizeof *blocks);

	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].at_peak_blocks > 0)
			blocks[p->sites[i].process] +=
				(uint64_t)p->sites[i].at_peak_blocks;
	}
	return blocks;
}

/* Allocations that were recorded and that found no room. */
static void
coverage_count(const struct prof *p, const bool *chosen, struct coverage *c)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen == NULL || chosen[i])
			c->missed += p->processes[i].lost[REC_LOST_SPACE];
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];

		if (chosen == NULL || chosen[s->process])
			c->seen += s->samples > 0 ? s->samples : s->allocs;
	}
}

/* Bytes that are known of the process at its peak: what it allocated and what it was forked with.
 * One that allocated nothing had no peak, and all that it began with. */
static uint64_t
coverage_recorded(const struct prof_process *pr, uint64_t blocks)
{
	int64_t bytes = pr->inherited_at_peak_bytes, more = pr->inherited_at_peak_blocks;

	if (pr->peak_bytes <= 0) {
		bytes = (int64_t)pr->inherited_bytes;
		more = (int64_t)pr->inherited_blocks;
	}
	return (pr->peak_bytes > 0 ? (uint64_t)pr->peak_bytes : 0) +
	       (bytes > 0 ? (uint64_t)bytes : 0) +
	       (blocks + (more > 0 ? (uint64_t)more : 0)) * COVERAGE_BLOCK_BYTES;
}

struct coverage
coverage_of(const struct prof *p, const bool *chosen)
{
	struct coverage c = {0};
	uint64_t *blocks = coverage_blocks(p), most = 0;
	bool known_place = false, nothing = false;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];
		uint64_t anon = pr->anon_kib << 10, recorded, hidden;

		if ((chosen != NULL && !chosen[i]) || pr->not_recorded != 0 ||
		    choose_is_replaced(p, i))
			continue;
		if (pr->coverage != 0 && pr->peak_bytes <= 0 &&
		    pr->inherited_blocks == 0) {
			known_place = nothing = true;
			c.process = c.process != 0 ? c.process : i;
		}
		if (anon == 0 || (pr->flags & REC_FLAG_LAYERS) != 0)
			continue;
		recorded = coverage_recorded(pr, blocks[i]);
		if (recorded > anon)
			recorded = anon; /* not every byte asked for was ever touched */
		c.recorded_bytes += recorded;
		c.anon_bytes += anon;
		hidden = anon - recorded;
		if (hidden > most) {
			most = hidden;
			c.process = i;
		}
		if (pr->coverage != 0 && recorded < anon / 2)
			known_place = true;
	}
	free(blocks);
	/* Of a program that is known to keep its memory elsewhere and of which nothing was seen
	 * it does not matter how much that is, or whether anyone had time to look. */
	coverage_count(p, chosen, &c);
	c.partial = (c.recorded_bytes == 0 && nothing) || c.missed > c.seen ||
		    (c.anon_bytes > 0 && c.recorded_bytes < c.anon_bytes / 2 &&
		     (c.anon_bytes >= COVERAGE_MIN_BYTES || known_place));
	c.say = c.partial || c.anon_bytes >= COVERAGE_MIN_BYTES;
	return c;
}
