/* SPDX-License-Identifier: MIT */
/* coverage.c -- how much of a process's memory the recording speaks of. */
#include "tool/analyze/process/coverage.h"

#include <string.h>

#include "tool/analyze/process/outgrowth.h"
#include "tool/analyze/sites/choose.h"
#include "tool/util/x.h"

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

/* Bytes that are known of the process at its peak: what it allocated and what it was
 * forked with. One that allocated nothing had no peak, and all that it began with. */
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

/* The most that a forked child which does not know its parent's blocks can have been
 * given with them: as much as was recorded of any earlier process of the same program,
 * one of which it was forked from. */
static uint64_t
coverage_inherited(const struct prof *p, uint32_t process, const uint64_t *blocks)
{
	const struct prof_process *pr = &p->processes[process];
	uint64_t most = 0;

	if ((pr->flags & REC_FLAG_FORKED) == 0 ||
	    (pr->flags & REC_FLAG_TABLE_COPIED) != 0)
		return 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		uint64_t known = coverage_recorded(&p->processes[i], blocks[i]);

		if (i != process && p->processes[i].exe == pr->exe &&
		    p->processes[i].start_ns <= pr->start_ns && known > most)
			most = known;
	}
	return most;
}

/* What malloc had in the end, if it keeps more and more of what is freed: all of it was
 * recorded. */
static uint64_t
coverage_kept_kib(const struct prof *p, uint32_t process)
{
	for (uint32_t i = 0; i < p->nmemories; i++) {
		const struct prof_memory *m = &p->memories[i];

		if (m->process == process &&
		    strcmp(prof_text(p, m->kind), OUTGROWTH_KEPT) == 0)
			return m->last_kib;
	}
	return 0;
}

/* Its anonymous memory without what cannot leak: stacks, and static data of program and
 * libraries. */
static uint64_t
coverage_heap(const struct prof_process *pr)
{
	uint64_t other = pr->stack_kib + pr->static_kib;

	return (pr->anon_kib > other ? pr->anon_kib - other : 0) << 10;
}

static bool
coverage_is_little(uint64_t recorded, uint64_t anon)
{
	return recorded < anon / 2 && anon - recorded > COVERAGE_MIN_BYTES;
}

/* What malloc keeps beyond `recorded`, of which all was recorded; 0 where that changes
 * little. */
static uint64_t
coverage_kept(const struct prof_process *pr, uint64_t recorded, uint64_t anon)
{
	uint64_t all = pr->malloc_kib << 10;

	if (all > anon)
		all = anon;
	if (all <= recorded ||
	    (coverage_is_little(all, anon) && all - recorded < anon / 10))
		return 0;
	return all - recorded;
}

/* One process: false when nothing is known of its memory. */
static bool
coverage_one(const struct prof *p, uint32_t process, const uint64_t *blocks,
	     struct coverage *ret)
{
	const struct prof_process *pr = &p->processes[process];
	uint64_t kept = coverage_kept_kib(p, process) << 10;
	uint64_t anon = coverage_heap(pr), recorded;
	bool nothing =
		pr->coverage != 0 && pr->peak_bytes <= 0 && pr->inherited_blocks == 0;

	*ret = (struct coverage){.partial = nothing};
	/* Where allocations found no room, what is missing did come from malloc. */
	if (anon == 0 || (pr->flags & REC_FLAG_LAYERS) != 0 ||
	    pr->lost[REC_LOST_SPACE] > 0)
		return nothing;
	recorded = coverage_recorded(pr, blocks[process]);
	if (anon > recorded && anon - recorded > COVERAGE_MIN_BYTES)
		recorded += coverage_inherited(p, process, blocks);
	if (recorded < kept)
		recorded = kept;
	if (coverage_is_little(recorded, anon))
		ret->kept_bytes = coverage_kept(pr, recorded, anon);
	recorded += ret->kept_bytes;
	if (recorded > anon)
		recorded = anon; /* not every byte asked for was ever touched */
	if (pr->peak_bytes > 0 && recorded > (uint64_t)pr->peak_bytes &&
	    recorded - (uint64_t)pr->peak_bytes == blocks[process] * COVERAGE_BLOCK_BYTES)
		ret->own_bytes = recorded - (uint64_t)pr->peak_bytes;
	ret->recorded_bytes = recorded;
	ret->anon_bytes = anon;
	ret->partial = nothing || coverage_is_little(recorded, anon);
	return true;
}

static uint64_t
coverage_hidden(const struct coverage *c)
{
	return c->anon_bytes - c->recorded_bytes;
}

bool
coverage_is_late(const struct prof *p, uint32_t process)
{
	for (uint32_t i = 0; i < p->nolds; i++) {
		if (p->olds[i].process == process)
			return true;
	}
	return false;
}

/* What one that was attached to had then; 0 = not known. */
static uint64_t
coverage_before(const struct prof *p, uint32_t process)
{
	for (uint32_t i = 0; i < p->nmemories; i++) {
		if (p->memories[i].process == process && p->memories[i].before_kib > 0)
			return p->memories[i].before_kib << 10;
	}
	return 0;
}

struct coverage
coverage_of(const struct prof *p, const bool *chosen)
{
	struct coverage sum = {0}, worst = {0};
	uint64_t *blocks = coverage_blocks(p);

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct coverage c;
		bool late;

		if ((chosen != NULL && !chosen[i]) || p->processes[i].not_recorded != 0 ||
		    choose_is_replaced(p, i) || !coverage_one(p, i, blocks, &c))
			continue;
		/* What was there before cannot have been recorded. */
		late = coverage_is_late(p, i) && c.recorded_bytes > 0;
		if (late) {
			sum.before_bytes += coverage_before(p, i);
			c.recorded_bytes -= c.kept_bytes;
			c.kept_bytes = 0;
			c.anon_bytes = c.recorded_bytes;
			c.partial = false;
		}
		c.process = i;
		sum.recorded_bytes += c.recorded_bytes;
		sum.kept_bytes += c.kept_bytes;
		sum.anon_bytes += c.anon_bytes;
		sum.say = sum.say || (!late && c.anon_bytes >= COVERAGE_MIN_BYTES);
		if (worst.process == 0 || c.partial > worst.partial ||
		    (c.partial == worst.partial &&
		     coverage_hidden(&c) > coverage_hidden(&worst)))
			worst = c;
	}
	free(blocks);
	if (worst.partial) {
		worst.say = true;
		return worst;
	}
	sum.process = worst.process;
	sum.say = sum.say || sum.before_bytes > 0;
	return sum;
}
