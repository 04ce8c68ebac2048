/* SPDX-License-Identifier: MIT */
/* top_names.c -- see top_names.h.
 *
 * What is known is kept in a profile that has nothing but modules, locations and
 * frames. */
#include "tool/session/top/top_names.h"

#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct top_names {
	struct prof *known;
	VEC(bool) asked; /* by row of known->locs */
};

/* Of one profile: its rows in what is known. */
struct top_names_rows {
	uint32_t *modules;
	struct map strings; /* of what is known -> of the profile */
};

struct top_names *
top_names_new(void)
{
	struct top_names *n = xcalloc(1, sizeof *n);

	n->known = prof_new();
	return n;
}

void
top_names_free(struct top_names *n)
{
	if (n == NULL)
		return;
	prof_free(n->known);
	vec_done(&n->asked);
	free(n);
}

/* The row of a location in what is known, made when it is new. */
static uint32_t
known_loc(struct top_names *n, const uint32_t *modules, const struct prof_loc *l)
{
	uint32_t row = prof_loc(n->known, modules[l->module], l->offset,
				(enum prof_loc_kind)l->kind, l->exact != 0);

	while (n->asked.len <= row)
		vec_push(&n->asked, false);
	return row;
}

/* The text of a string in another profile; most come again and again. */
static uint32_t
copy_str(struct prof *to, const struct prof *from, uint32_t id, struct map *strings)
{
	uint64_t *at;

	if (id == 0)
		return 0;
	at = map_add(strings, id);
	if (*at == 0)
		*at = prof_str(to, prof_text(from, id));
	return (uint32_t)*at;
}

static void
copy_frames(struct prof *to, uint32_t to_loc, const struct prof *from, uint32_t from_loc,
	    struct map *strings)
{
	const struct prof_loc l = from->locs[from_loc];
	uint32_t first = to->nframes;

	for (uint32_t i = 0; i < l.nframes; i++) {
		uint32_t row = prof_add_frame(to);
		struct prof_frame *f = &to->frames[row];

		*f = from->frames[l.frames + i];
		f->function = copy_str(to, from, f->function, strings);
		f->linkage = copy_str(to, from, f->linkage, strings);
		f->file = copy_str(to, from, f->file, strings);
		f->source = copy_str(to, from, f->source, strings);
	}
	to->locs[to_loc].frames = first;
	to->locs[to_loc].nframes = l.nframes;
}

/* Modules of the profile among those known; why one has no names comes along. */
static uint32_t *
known_modules(struct top_names *n, struct prof *p, struct map *strings)
{
	uint32_t *rows = xcalloc(p->nmodules, sizeof *rows);

	for (uint32_t i = 1; i < p->nmodules; i++) {
		struct prof_module *m = &p->modules[i];

		rows[i] = prof_module(n->known, prof_text(p, m->path), m->build_id,
				      m->build_id_bytes);
		if (m->why_no_names == 0)
			m->why_no_names = copy_str(
				p, n->known, n->known->modules[rows[i]].why_no_names,
				strings);
	}
	return rows;
}

/* Takes over what was looked up; `asked` are the locations that it was looked up for. */
static void
learn(struct top_names *n, const struct prof *p, const uint32_t *modules,
      const bool *asked)
{
	struct map strings = {0}; /* of the profile -> of what is known */

	for (uint32_t i = 1; i < p->nmodules; i++)
		n->known->modules[modules[i]].why_no_names =
			copy_str(n->known, p, p->modules[i].why_no_names, &strings);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		uint32_t row;

		if (!asked[i])
			continue;
		row = known_loc(n, modules, &p->locs[i]);
		n->asked.data[row] = true;
		copy_frames(n->known, row, p, i, &strings);
	}
	map_done(&strings);
}

void
top_names_resolve(struct top_names *n, struct prof *p, const struct names_opts *o)
{
	struct map strings = {0};
	uint32_t *modules;
	bool *ask = xcalloc(p->nlocs, sizeof *ask), any = false;

	if (p->has_names) {
		free(ask);
		return;
	}
	modules = known_modules(n, p, &strings);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		uint32_t row;

		if (p->locs[i].kind != PROF_LOC_CODE || p->locs[i].nframes > 0)
			continue;
		row = known_loc(n, modules, &p->locs[i]);
		ask[i] = !n->asked.data[row];
		any = any || ask[i];
		if (n->known->locs[row].nframes > 0)
			copy_frames(p, i, n->known, row, &strings);
	}
	if (any) {
		names_resolve(p, o);
		learn(n, p, modules, ask);
	}
	p->has_names = true;
	map_done(&strings);
	free(modules);
	free(ask);
}
