/* SPDX-License-Identifier: MIT */
/* graph_paths.c -- the files and modules of a base, where the profile has them in another
 * folder.
 *
 * Two builds of a program, or builds of two machines, rarely lie in the same folder. A
 * path that only the base has is taken for the one of the profile that has the same last
 * part, is not in the base itself, and fits it better than all others do, from both
 * sides: what fits no better one way than another stays apart. The program itself is the
 * program, whatever its name. */
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/graph/graph_impl.h"
#include "tool/analyze/sites/skip.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	PATHS_CHAIN =
		256, /* files of one name that are looked at: all pairs are compared */
};

struct paths_fit {
	uint32_t other; /* index of the best, + 1 */
	size_t bytes;	/* how much of the path agrees, from the end */
	bool tied;
};

/* Paths that only one side has. */
struct paths {
	VEC(uint32_t) id[2]; /* strings of the graph: of the profile, of the base */
	struct paths_fit *fit[2];
};

/* Bytes of whole parts that two paths end with alike. */
static size_t
paths_common(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), whole = 0;

	for (size_t i = 1; i <= n && i <= m && a[n - i] == b[m - i]; i++) {
		bool at_start = (i == n || a[n - i - 1] == '/') &&
				(i == m || b[m - i - 1] == '/');

		if (a[n - i] == '/' || at_start)
			whole = i;
	}
	return whole;
}

static void
paths_note(struct paths_fit *f, uint32_t other, size_t bytes)
{
	if (bytes < f->bytes)
		return;
	f->tied = bytes == f->bytes;
	f->other = other + 1;
	f->bytes = bytes;
}

/* Finds the best of the other side for each. */
static void
paths_compare(struct paths *x, const struct strtab *strings)
{
	uint32_t *next = xcalloc(x->id[0].len + 1, sizeof *next);
	struct strtab names = {0};
	struct map first = {0}; /* last part of a path -> index of the profile's + 1 */

	for (uint32_t i = 0; i < x->id[0].len; i++) {
		const char *path = strtab_str(strings, x->id[0].data[i]);
		uint64_t *at = map_add(&first, strtab_add(&names, file_base(path)));

		next[i] = (uint32_t)*at;
		*at = i + 1;
	}
	for (uint32_t k = 0; k < x->id[1].len; k++) {
		const char *path = strtab_str(strings, x->id[1].data[k]);
		uint64_t *at = map_find(&first, strtab_add(&names, file_base(path)));
		uint32_t i = at != NULL ? (uint32_t)*at : 0;

		for (unsigned seen = 0; i != 0 && seen < PATHS_CHAIN;
		     seen++, i = next[i - 1]) {
			size_t bytes = paths_common(
				path, strtab_str(strings, x->id[0].data[i - 1]));

			if (bytes == 0)
				continue;
			paths_note(&x->fit[0][i - 1], k, bytes);
			paths_note(&x->fit[1][k], i - 1, bytes);
		}
	}
	strtab_done(&names);
	map_done(&first);
	free(next);
}

/* The profile's path for each of the base's; 0 = none. */
static uint32_t
paths_of(const struct paths *x, uint32_t was)
{
	const struct paths_fit *f = &x->fit[1][was];
	const struct paths_fit *back = f->other != 0 ? &x->fit[0][f->other - 1] : NULL;

	if (back == NULL || f->tied || back->tied || back->other != was + 1)
		return 0;
	return x->id[0].data[f->other - 1];
}

static void
paths_init(struct paths *x, const struct strtab *strings)
{
	for (unsigned s = 0; s < 2; s++)
		x->fit[s] = xcalloc(x->id[s].len + 1, sizeof *x->fit[s]);
	paths_compare(x, strings);
}

static void
paths_done(struct paths *x)
{
	for (unsigned s = 0; s < 2; s++) {
		vec_done(&x->id[s]);
		free(x->fit[s]);
	}
}

/* ---- files ---- */

/* Bit `bit` for each file that the side's frames name, in the graph's numbers. */
static void
paths_mark_files(struct graph_side *s, struct map *files, unsigned bit)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < s->p->nframes; i++) {
		if (s->p->frames[i].file == 0 || s->p->frames[i].file == last)
			continue;
		last = s->p->frames[i].file;
		*map_add(files, graph_name(s, last)) |= bit;
	}
}

void
graph_match_files(struct graph_side *now, struct graph_side *base)
{
	struct map files = {0}, of = {0};
	struct paths x = {0};
	uint64_t id, sides;
	size_t pos = 0;

	paths_mark_files(now, &files, 1);
	paths_mark_files(base, &files, 2);
	while (map_next(&files, &pos, &id, &sides)) {
		if (sides != 3)
			vec_push(&x.id[sides == 2], (uint32_t)id);
	}
	paths_init(&x, now->w->strings);
	for (uint32_t k = 0; k < x.id[1].len; k++)
		*map_add(&of, x.id[1].data[k]) = paths_of(&x, k);
	for (uint32_t i = 0; i < base->p->nframes; i++) {
		uint32_t file = base->p->frames[i].file;
		const uint64_t *now_id =
			file != 0 ? map_find(&of, graph_name(base, file)) : NULL;

		if (now_id != NULL && *now_id != 0)
			base->names[file] = (uint32_t)*now_id + 1;
	}
	paths_done(&x);
	map_done(&files);
	map_done(&of);
}

/* ---- modules ---- */

/* Row of the module that is the program; 0 = not known, or not all processes run the
 * same. */
static uint32_t
paths_program(const struct prof *p)
{
	uint32_t exe = p->nprocesses > 1 ? p->processes[1].exe : 0;

	for (uint32_t i = 2; i < p->nprocesses; i++) {
		if (p->processes[i].exe != exe)
			return 0;
	}
	for (uint32_t i = 1; i < p->nmodules && exe != 0; i++) {
		if (p->modules[i].path == exe)
			return i;
	}
	return 0;
}

void
graph_match_modules(const struct graph_side *now, struct graph_side *base)
{
	uint32_t program[2] = {paths_program(now->p), paths_program(base->p)};
	struct map there = {0};
	struct paths x = {0};

	for (uint32_t i = 1; i < now->p->nmodules; i++)
		*map_add(&there, now->modules[i]) |= 1;
	for (uint32_t i = 1; i < base->p->nmodules; i++)
		*map_add(&there, base->modules[i]) |= 2;
	if (program[0] != 0 && program[1] != 0 &&
	    *map_find(&there, now->modules[program[0]]) == 1 &&
	    *map_find(&there, base->modules[program[1]]) == 2) {
		*map_find(&there, now->modules[program[0]]) = 3;
		*map_find(&there, base->modules[program[1]]) = 3;
		base->modules[program[1]] = now->modules[program[0]];
	}
	for (unsigned s = 0; s < 2; s++) {
		const struct graph_side *of = s == 0 ? now : base;

		for (uint32_t i = 1; i < of->p->nmodules; i++) {
			if (*map_find(&there, of->modules[i]) == 1u << s)
				vec_push(&x.id[s], of->modules[i]);
		}
	}
	paths_init(&x, now->w->strings);
	/* They were taken up in the order of the rows. */
	for (uint32_t i = 1, k = 0; i < base->p->nmodules; i++) {
		uint32_t id;

		if (*map_find(&there, base->modules[i]) != 2)
			continue;
		id = paths_of(&x, k++);
		if (id != 0)
			base->modules[i] = id;
	}
	paths_done(&x);
	map_done(&there);
}
