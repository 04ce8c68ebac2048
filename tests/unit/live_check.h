/* SPDX-License-Identifier: MIT */
/* live_check.h -- what the tests of the live recording's reader ask of a profile.
 * Include it after t.h. */
#ifndef SEEP_TESTS_LIVE_CHECK_H
#define SEEP_TESTS_LIVE_CHECK_H

#include "live_image.h"
#include "tool/format/live/live_load.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/err.h"

static inline struct prof *
load(const struct image *m, bool stopped)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_EQ(live_load(m->data, m->bytes, stopped, p, &e), 0);
	T_STR(e.msg, "");
	return p;
}

/* Number of a damage by a part of its words; 0 = it was not told. */
static inline uint64_t
damage(const struct prof *p, const char *part)
{
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (strstr(prof_text(p, p->damages[i].what), part) != NULL)
			return p->damages[i].count;
	}
	return 0;
}

/* Every id leads somewhere, whatever was read. */
static inline bool
sound(const struct prof *p)
{
	bool ok = true;

	for (uint32_t i = 1; i < p->nnodes; i++)
		ok &= p->nodes[i].parent < i && p->nodes[i].loc < p->nlocs;
	for (uint32_t i = 1; i < p->nlocs; i++)
		ok &= p->locs[i].module < p->nmodules &&
		      p->locs[i].kind <= PROF_LOC_CLASS;
	for (uint32_t i = 1; i < p->nsites; i++)
		ok &= p->sites[i].node < p->nnodes && p->sites[i].process == 1;
	for (uint32_t i = 0; i < p->ncells; i++)
		ok &= p->cells[i].site < p->nsites && p->cells[i].thread < p->nthreads;
	for (uint32_t i = 0; i < p->nblocks; i++)
		ok &= p->blocks[i].site < p->nsites;
	for (uint32_t i = 0; i < p->nmarks; i++)
		ok &= p->marks[i].rows + (uint64_t)p->marks[i].nrows <= p->nmark_rows;
	for (uint32_t i = 0; i < p->nmark_rows; i++)
		ok &= p->mark_rows[i].site < p->nsites;
	for (uint32_t i = 0; i < p->nsteps; i++)
		ok &= p->steps[i].site < p->nsites && p->steps[i].moment < p->nticks;
	return ok;
}

/* Text of a stack, innermost first: "libx.so+400 demo+1200 demo+1100". */
static inline const char *
stack(const struct prof *p, uint32_t node)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (; node != 0 && n < 400; node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];
		const char *path = prof_text(p, p->modules[l->module].path);
		const char *slash = strrchr(path, '/');

		n += (size_t)snprintf(
			text + n, sizeof text - n, "%s%s%s%s+%llx", n ? " " : "",
			l->kind == PROF_LOC_TRUNCATED ? "?" : "",
			l->kind == PROF_LOC_ELIDED ? "..." : "",
			slash != NULL ? slash + 1 : path, (unsigned long long)l->offset);
	}
	return text;
}

#endif
