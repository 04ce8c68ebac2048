/* SPDX-License-Identifier: MIT */
/* heap_prof.c -- see heap_prof.h.
 *
 * Every group of blocks is a site. There is no stack: in its place stands one frame that
 * says what the blocks are. */
#include <string.h>

#include "tool/analyze/process/scan_growth.h"
#include "tool/session/heap/heap_prof.h"
#include "tool/util/buf.h"
#include "tool/util/x.h"

/* A location in no module, with a frame of that name. */
static uint32_t
add_frame(struct prof *p, uint64_t address, const char *name)
{
	uint32_t loc = prof_loc(p, 0, address, PROF_LOC_CODE, true);
	uint32_t text = prof_str(p, name), frame = prof_add_frame(p);

	p->frames[frame].function = text;
	p->locs[loc].frames = frame;
	p->locs[loc].nframes = 1;
	return prof_node(p, 0, loc);
}

static void
add_group(struct prof *p, uint32_t process, const struct heapscan *s,
	  const struct heapscan_group *g, bool undecided)
{
	struct heapscan_sum all = heapscan_group_total(g);
	struct buf name = {0};
	uint32_t node, site;

	heapscan_group_words(&name, s, g);
	node = add_frame(p, g->example, buf_str(&name));
	site = prof_add_site(p);
	p->sites[site].process = process;
	p->sites[site].node = node;
	p->sites[site].allocs = all.blocks;
	p->sites[site].alloc_bytes = all.bytes;
	p->sites[site].live_blocks = p->sites[site].at_exit_blocks = (int64_t)all.blocks;
	p->sites[site].live_bytes = p->sites[site].at_exit_bytes = (int64_t)all.bytes;
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		bool unsure = i < HEAPSCAN_POSSIBLE && undecided;
		uint32_t loss;

		if (g->sums[i].blocks == 0)
			continue;
		loss = prof_add_loss(p);
		p->losses[loss] = (struct prof_loss){
			.site = site,
			.kind = (uint8_t)(unsure ? HEAPSCAN_POSSIBLE : i),
			.blocks = g->sums[i].blocks,
			.bytes = g->sums[i].bytes,
			.indirect_bytes = i == HEAPSCAN_DEFINITE ? g->indirect_bytes : 0};
	}
	buf_done(&name);
}

void
heap_prof(const struct heapscan *s, struct prof *p, struct leakcheck *ret_check)
{
	uint32_t process = prof_add_process(p), check;
	uint32_t exe = prof_str(p, heapscan_text(s, s->program));
	struct heapscan_sum all = heapscan_total(s);
	/* What looks lost may be a collector's, or held by memory that could not be
	 * read. */
	bool undecided = scan_decide(s, NULL).word == VERDICT_NO_VERDICT;

	p->processes[process].pid = (uint32_t)s->pid;
	p->processes[process].exe = p->processes[process].cmdline = exe;
	p->processes[process].mode = PROF_EXACT;
	p->processes[process].end = s->core == 0 ? PROF_END_RUNNING : PROF_END_UNKNOWN;
	p->processes[process].live_bytes = (int64_t)all.bytes;
	for (size_t i = 0; i < s->groups.len; i++)
		add_group(p, process, s, &s->groups.data[i], undecided);
	check = prof_add_check(p);
	p->checks[check] = (struct prof_check){.process = process,
					       .done = true,
					       .loose = undecided,
					       .threads = s->threads,
					       .stop_ns = s->stop_ns,
					       .pause_ns = s->pause_ns};
	p->has_names = true;
	p->columns = PROF_HAS_LIVE; /* what was freed, and when, nobody knows */
	*ret_check = (struct leakcheck){.done = s->core == 0,
					.way = s->snapshot != 0 ? LEAKCHECK_COPY
								: LEAKCHECK_STOP,
					.threads = s->threads,
					.stop_ns = s->stop_ns,
					.pause_ns = s->pause_ns,
					.nblocks = all.blocks};
}
