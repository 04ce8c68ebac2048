/* SPDX-License-Identifier: MIT */
/* fuzz_check.h -- what any reader promises of a profile that it gives back. */
#ifndef SEEP_FUZZ_CHECK_H
#define SEEP_FUZZ_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "tool/format/pack/pack.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"

#define FUZZ_CHECK(cond)                                                                 \
	do {                                                                             \
		if (!(cond))                                                             \
			abort();                                                         \
	} while (0)

/* Every id leads somewhere, and no stack goes in a circle. */
static inline void
fuzz_check_ids(const struct prof *p)
{
	size_t strings = strtab_count(p->strings);

	for (uint32_t i = 1; i < p->nmodules; i++)
		FUZZ_CHECK(p->modules[i].path < strings);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_loc *l = &p->locs[i];

		FUZZ_CHECK(l->module < p->nmodules && l->kind <= PROF_LOC_CLASS);
		FUZZ_CHECK(l->frames + (uint64_t)l->nframes <= p->nframes);
	}
	for (uint32_t i = 1; i < p->nnodes; i++)
		FUZZ_CHECK(p->nodes[i].parent < i && p->nodes[i].loc < p->nlocs);
	for (uint32_t i = 1; i < p->nsites; i++) {
		FUZZ_CHECK(p->sites[i].node < p->nnodes);
		FUZZ_CHECK(p->sites[i].process < p->nprocesses);
	}
	for (uint32_t i = 0; i < p->ncells; i++)
		FUZZ_CHECK(p->cells[i].site < p->nsites &&
			   p->cells[i].thread < p->nthreads);
	for (uint32_t i = 0; i < p->nblocks; i++) {
		FUZZ_CHECK(p->blocks[i].site < p->nsites && p->blocks[i].kind <= 7);
		FUZZ_CHECK(p->blocks[i].process < p->nprocesses);
	}
	for (uint32_t i = 0; i < p->nmarks; i++)
		FUZZ_CHECK(p->marks[i].rows + (uint64_t)p->marks[i].nrows <=
			   p->nmark_rows);
	for (uint32_t i = 0; i < p->nmark_rows; i++)
		FUZZ_CHECK(p->mark_rows[i].site < p->nsites);
	for (uint32_t i = 0; i < p->nticks; i++)
		FUZZ_CHECK(p->ticks[i].process < p->nprocesses);
	for (uint32_t i = 0; i < p->nsteps; i++)
		FUZZ_CHECK(p->steps[i].site < p->nsites);
	for (uint32_t i = 0; i < p->nlosses; i++) {
		FUZZ_CHECK(p->losses[i].site < p->nsites);
		FUZZ_CHECK(p->losses[i].kind < PROF_LOSS_KINDS);
	}
	for (uint32_t i = 0; i < p->nchecks; i++)
		FUZZ_CHECK(p->checks[i].process < p->nprocesses);
	for (uint32_t i = 0; i < p->nlooks; i++) {
		FUZZ_CHECK(p->looks[i].process < p->nprocesses);
		FUZZ_CHECK(p->looks[i].rows + (uint64_t)p->looks[i].nrows <=
			   p->nlook_rows);
	}
	for (uint32_t i = 0; i < p->nlook_rows; i++)
		FUZZ_CHECK(p->look_rows[i].site < p->nsites);
	for (uint32_t i = 0; i < p->nranges; i++)
		FUZZ_CHECK(p->ranges[i].module < p->nmodules);
	for (uint32_t i = 0; i < p->ndamages; i++)
		FUZZ_CHECK(p->damages[i].what != 0 && p->damages[i].what < strings);
}

/* Written, read and written again it is the same file. */
static inline void
fuzz_check_pack(const struct prof *p)
{
	struct prof *again = prof_new();
	struct buf a = {0}, b = {0};

	pack_write(p, &a);
	FUZZ_CHECK(pack_load(a.data, a.len, again, NULL) == 0);
	pack_write(again, &b);
	FUZZ_CHECK(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	buf_done(&a);
	buf_done(&b);
	prof_free(again);
}

#endif
