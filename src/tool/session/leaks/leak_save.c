/* SPDX-License-Identifier: MIT */
/* leak_save.c -- what a look for leaks has found, as rows of a profile. */
#include "tool/session/leaks/leakcheck.h"

#include <string.h>

#include "tool/util/map.h"

void
leakcheck_save(const struct leakcheck *c, struct prof *p, uint32_t process)
{
	struct map rows = {0}; /* ref of a site -> its row */
	uint32_t check = prof_add_check(p);

	p->checks[check] = (struct prof_check){
		.process = process,
		.done = c->done,
		.loose = c->loose,
		.why = prof_str(p, c->why),
		.threads = c->threads,
		.stop_ns = c->stop_ns,
		.pause_ns = c->pause_ns,
	};
	if (c->compared) /* what is past the hooks is known */
		p->processes[process].flags &=
			~(__typeof__(p->processes->flags))REC_FLAG_PAST;
	p->processes[process].lost[REC_LOST_PAST] = c->unseen_blocks + c->gone_blocks;
	p->processes[process].lost[REC_LOST_LIBC] = c->libcs;
	memcpy(p->checks[check].heuristic_blocks, c->heuristic_blocks,
	       sizeof c->heuristic_blocks);
	memcpy(p->checks[check].heuristic_bytes, c->heuristic_bytes,
	       sizeof c->heuristic_bytes);
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == process)
			*map_add(&rows, p->sites[i].origin) = i;
	}
	for (size_t i = 0; i < c->sites.len; i++) {
		const struct leakcheck_site *s = &c->sites.data[i];
		const uint64_t *row = map_find(&rows, s->site);
		uint32_t loss;

		if (row == NULL || s->blocks == 0)
			continue;
		loss = prof_add_loss(p);
		p->losses[loss] = (struct prof_loss){
			.site = (uint32_t)*row,
			.kind = (uint8_t)s->kind,
			.blocks = s->blocks,
			.bytes = s->bytes,
			.indirect_bytes = s->indirect_bytes,
		};
		if (s->kind == CLASSIFY_POSSIBLE) {
			p->losses[loss].leftover_blocks = s->leftover_blocks;
			p->losses[loss].leftover_bytes = s->leftover_bytes;
		}
	}
	map_done(&rows);
}
