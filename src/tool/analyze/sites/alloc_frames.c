/* SPDX-License-Identifier: MIT */
/* alloc_frames.c -- see alloc_frames.h.
 *
 * From the innermost frame of every stack outwards, as long as frames belong to an
 * allocator's library or have an allocator's name. One exception: where main was left by
 * a tail call of malloc, the function around main follows its hook directly. It is start
 * code, a hook is not. */
#include "tool/analyze/sites/alloc_frames.h"

#include <fnmatch.h>
#include <string.h>

#include "tool/analyze/sites/skip.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct alloc_tables {
	const struct prof *p;
	const struct skip *skip;
	bool *modules; /* for every module: an allocator's library */
	bool *named;   /* for every location: an allocator's by its name */
};

static bool
alloc_matches(const char *text, bool module)
{
	for (const struct skip_rule *r = skip_allocators;
	     r->module != NULL || r->function != NULL; r++) {
		const char *pattern = module ? r->module : r->function;

		if (pattern != NULL && fnmatch(pattern, text, 0) == 0)
			return true;
	}
	return false;
}

/* The function around main behind a hook of the same library. */
static bool
alloc_is_start(const struct alloc_tables *t, uint32_t node, uint32_t inner)
{
	const struct prof *p = t->p;

	return inner != 0 && skip_is_tail(t->skip, node) &&
	       p->locs[p->nodes[node].loc].module ==
		       p->locs[p->nodes[inner].loc].module &&
	       strncmp(file_base(prof_text(
			       p, p->modules[p->locs[p->nodes[node].loc].module].path)),
		       "libseep.so", 10) == 0;
}

static void
alloc_mark(const struct alloc_tables *t, uint32_t node, bool *ret)
{
	const struct prof *p = t->p;
	uint32_t inner = 0;

	while (node != 0) {
		uint32_t loc = p->nodes[node].loc;
		bool library = t->modules[p->locs[loc].module];

		if ((!library && !t->named[loc]) || alloc_is_start(t, node, inner))
			return;
		ret[loc] = ret[loc] || library;
		inner = node;
		node = p->nodes[node].parent < node ? p->nodes[node].parent : 0;
	}
}

bool *
alloc_frames(const struct prof *p)
{
	struct skip *skip = skip_new(p, NULL);
	struct alloc_tables t = {.p = p, .skip = skip};
	bool *ret = xcalloc((size_t)p->nlocs + 1, sizeof *ret);

	t.modules = xcalloc((size_t)p->nmodules + 1, sizeof *t.modules);
	t.named = xcalloc((size_t)p->nlocs + 1, sizeof *t.named);
	for (uint32_t i = 1; i < p->nmodules; i++)
		t.modules[i] =
			alloc_matches(file_base(prof_text(p, p->modules[i].path)), true);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_loc *l = &p->locs[i];

		/* The last is the function that the others are inlined into. */
		if (l->nframes > 0 && !t.modules[l->module])
			t.named[i] = alloc_matches(
				prof_text(p,
					  p->frames[l->frames + l->nframes - 1].function),
				false);
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].node < p->nnodes)
			alloc_mark(&t, p->sites[i].node, ret);
	}
	free(t.modules);
	free(t.named);
	skip_free(skip);
	return ret;
}
