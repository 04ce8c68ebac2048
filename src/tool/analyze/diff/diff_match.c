/* SPDX-License-Identifier: MIT */
/* diff_match.c -- which rows of two sides are one place.
 *
 * Every frame gets two numbers that both sides share: an exact one (function, file and
 * line, or build and address) and a loose one without the line, which is the exact one
 * again where lines cannot have moved. A stack's keys are 64-bit hashes over those of its
 * frames, so no stack is compared with another. Rows with the same exact key are one
 * place.
 *
 * Not so in modules that were built anew: there line 12 may be what was line 10, while
 * another place has come to be line 12. So all rows with the same loose key are laid side
 * by side, and the shift of lines that fits most of them is taken, no shift in case of
 * doubt; a last pair that is left over is one place too. What fits no better one way than
 * another stays apart. */
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/diff/diff_impl.h"
#include "tool/util/file.h"
#include "tool/util/vec.h"

/* More pairs than this to try: only equal lines are matched. */
enum { DIFF_PAIRS_MAX = 1 << 16 };

/* What a number is made from first, so that numbers of different things differ. */
enum {
	DIFF_OF_LINE = 1,
	DIFF_OF_FUNCTION,
	DIFF_OF_ADDRESS,
	DIFF_OF_KIND,
	DIFF_FIRST = 16, /* numbers given out are above */
};

struct diff_spot {
	uint32_t exact, loose; /* 0 = not asked yet */
	uint32_t line;	       /* may move; 0 where it cannot */
	bool rebuilt;	       /* of a module that was built anew, and has a name */
};

/* A stack, as far as it tells places apart. */
struct diff_key {
	uint64_t exact, loose;
	bool rebuilt;
};

/* Rows that are the same in all but figures: of one side, or of both. */
struct diff_unit {
	uint64_t exact, loose;
	bool rebuilt, side[2];
	uint32_t row[2]; /* one of its rows, for its lines */
	uint32_t place;	 /* + 1; 0 = not given yet */
	bool moved;
};

struct diff_units VEC_BODY(struct diff_unit);

struct diff_work {
	struct diff_both *b;
	const struct sites *ss;
	const struct diff_query *q;
	struct map pairs; /* (number so far, part) -> number */
	uint32_t npairs;
	struct map files; /* string of a file: bit 0 of the old side, bit 1 of the new */
	struct diff_spot *frames[2], *locs[2];
	struct diff_units units;
	struct map
		of_key; /* exact key, of a side where lines may have moved -> unit + 1 */
	uint32_t *unit[2];   /* for every row */
	VEC(uint32_t) lines; /* of the stack last walked */
};

static uint32_t
diff_intern(struct diff_work *w, uint32_t a, uint32_t b)
{
	uint64_t *id = map_add(&w->pairs, (uint64_t)a << 32 | b);

	if (*id == 0)
		*id = DIFF_FIRST + ++w->npairs;
	return (uint32_t)*id;
}

/* ---- frames ---- */

/* Folders differ from machine to machine: a path counts whole only if both sides have
 * it. */
static uint32_t
diff_file(struct diff_work *w, unsigned side, uint32_t id)
{
	uint32_t file = diff_name(w->b, side, id);
	const uint64_t *sides = map_find(&w->files, file);

	if (sides == NULL || *sides == 3)
		return file;
	return strtab_add(&w->b->strings, file_base(prof_text(w->b->p[side], id)));
}

static uint32_t
diff_of_address(struct diff_work *w, unsigned side, const struct prof_loc *l,
		uint32_t inl)
{
	uint64_t at = prof_loc_address(l);
	uint32_t n = diff_intern(w, DIFF_OF_ADDRESS, w->b->builds[side][l->module]);

	n = diff_intern(w, n, (uint32_t)(at >> 32));
	n = diff_intern(w, n, (uint32_t)at);
	return diff_intern(w, n, inl);
}

static void
diff_named_spot(struct diff_work *w, unsigned side, const struct prof_loc *l,
		uint32_t inl, struct diff_spot *s)
{
	const struct prof_frame *f = &w->b->p[side]->frames[l->frames + inl];
	uint8_t state = w->b->states[side][l->module];
	uint32_t n;

	n = diff_intern(w, f->line != 0 ? DIFF_OF_LINE : DIFF_OF_FUNCTION,
			diff_name(w->b, side, f->function));
	n = diff_intern(w, n, diff_name(w->b, side, f->linkage));
	if (f->line == 0 && state == DIFF_MODULE_SAME && l->offset >> 63 == 0) {
		s->exact = s->loose = diff_of_address(w, side, l, inl);
		return;
	}
	if (f->line != 0)
		n = diff_intern(w, n, diff_file(w, side, f->file));
	else if (l->module != 0)
		n = diff_intern(w, n, w->b->families[side][l->module]);
	/* A function that did not change has its calls where they were in it. */
	s->line = f->line != 0 ? f->line : f->symbol_off;
	s->exact = diff_intern(w, n, s->line);
	s->loose = n;
	s->rebuilt = state == DIFF_MODULE_REBUILT;
	if (state == DIFF_MODULE_SAME) {
		s->loose = s->exact;
		s->line = 0;
	}
}

static struct diff_spot
diff_spot(struct diff_work *w, unsigned side, uint32_t loc, uint32_t inl)
{
	const struct prof_loc *l = &w->b->p[side]->locs[loc];
	bool named =
		inl < l->nframes && w->b->p[side]->frames[l->frames + inl].function != 0;
	struct diff_spot *s =
		named ? &w->frames[side][l->frames + inl] : &w->locs[side][loc];

	if (s->exact != 0)
		return *s;
	if (named)
		diff_named_spot(w, side, l, inl, s);
	else if (l->kind == PROF_LOC_CODE)
		s->exact = s->loose = diff_of_address(w, side, l, inl);
	else
		s->exact = s->loose =
			diff_intern(w, diff_intern(w, DIFF_OF_KIND, l->kind),
				    l->kind == PROF_LOC_CLASS ? (uint32_t)l->offset : 0);
	return *s;
}

static void
diff_find_files(struct diff_work *w)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct prof *p = w->b->p[side];

		for (uint32_t i = 0; i < p->nframes; i++)
			*map_add(&w->files, diff_name(w->b, side, p->frames[i].file)) |=
				1u << side;
	}
}

/* ---- rows ---- */

/* Keys of a row's stack; its lines that may move are left in w->lines. */
static struct diff_key
diff_stack(struct diff_work *w, unsigned side, const struct sites_row *row)
{
	const struct prof *p = w->b->p[side];
	const struct skip *skip = w->q->side[side].skip;
	/* What libc keeps is never in one place with what is the program's own. */
	struct diff_key at = {.exact = row->kept != NULL, .loose = row->kept != NULL};
	struct skip_pos pos = {0};
	unsigned depth = 0;

	w->lines.len = 0;
	if (row->node == 0)
		return at;
	pos = skip_first(skip, row->node);
	do {
		struct diff_spot s = diff_spot(w, side, p->nodes[pos.node].loc, pos.inl);

		at.exact = hash_pair(at.exact, s.exact);
		at.loose = hash_pair(at.loose, s.loose);
		at.rebuilt = at.rebuilt || s.rebuilt;
		vec_push(&w->lines, s.line);
		depth++;
	} while ((w->q->depth == 0 || depth < w->q->depth) && skip_next(skip, &pos));
	return at;
}

static void
diff_add_row(struct diff_work *w, unsigned side, uint32_t row)
{
	struct diff_key at = diff_stack(w, side, &w->ss[side].rows[row]);
	uint64_t *n = map_add(&w->of_key,
			      at.rebuilt ? hash_pair(at.exact, 1 + side) : at.exact);
	struct diff_unit *u;

	if (*n == 0) {
		u = vec_add(&w->units);
		u->exact = at.exact;
		u->loose = at.loose;
		u->rebuilt = at.rebuilt;
		*n = w->units.len;
	}
	u = &w->units.data[*n - 1];
	u->side[side] = true;
	u->row[side] = row;
	w->unit[side][row] = (uint32_t)*n - 1;
}

/* ---- lines that moved ---- */

/* Units with one loose key, of the two sides. */
struct diff_group {
	VEC(uint32_t) units[2];
};

/* How far the lines of two stacks of one loose key are apart, as one number; 0 = not at
 * all. */
static uint64_t
diff_shift(struct diff_work *w, uint32_t old, uint32_t new)
{
	VEC(uint32_t) lines = {0};
	uint64_t h = 0;
	bool any = false;

	diff_stack(w, DIFF_OLD, &w->ss[DIFF_OLD].rows[w->units.data[old].row[DIFF_OLD]]);
	for (size_t i = 0; i < w->lines.len; i++)
		vec_push(&lines, w->lines.data[i]);
	diff_stack(w, DIFF_NEW, &w->ss[DIFF_NEW].rows[w->units.data[new].row[DIFF_NEW]]);
	for (size_t i = 0; i < w->lines.len && i < lines.len; i++) {
		int64_t by = (int64_t)w->lines.data[i] - lines.data[i];

		any = any || by != 0;
		h = hash_pair(h, (uint64_t)by);
	}
	vec_done(&lines);
	return any ? h | 1 : 0;
}

static void
diff_join(struct diff_work *w, uint32_t old, uint32_t new, bool moved)
{
	/* Both units get the place of the first that is asked; see diff_give_places. */
	w->units.data[old].place = new + 1;
	w->units.data[new].moved = moved;
}

/* Takes unit number `at` out of a side of the group. */
static void
diff_take_out(struct diff_group *g, unsigned side, size_t at)
{
	g->units[side].data[at] = g->units[side].data[--g->units[side].len];
}

/* The shift that most pairs have; 0 in case of doubt. *ret_votes: how many. */
static uint64_t
diff_vote(const uint64_t *shifts, size_t n, uint64_t *ret_votes)
{
	struct map votes = {0};
	uint64_t best = 0, most = 0, zero = 0, key, value;
	bool tie = false;
	size_t pos = 0;

	for (size_t i = 0; i < n; i++)
		++*map_add(&votes, shifts[i]);
	while (map_next(&votes, &pos, &key, &value)) {
		if (key == 0)
			zero = value;
		if (value == most)
			tie = true;
		if (value > most) {
			most = value;
			best = key;
			tie = false;
		}
	}
	map_done(&votes);
	if (zero == most)
		best = 0;
	else if (tie)
		most = zero, best = 0;
	*ret_votes = most;
	return best;
}

/* Joins the pairs that the best shift fits. False when there is none. */
static bool
diff_pair_best(struct diff_work *w, struct diff_group *g)
{
	size_t n = g->units[0].len, m = g->units[1].len;
	uint64_t *shifts = xcalloc(n * m, sizeof *shifts);
	uint64_t best, votes;
	bool *gone = xcalloc(m, sizeof *gone);

	for (size_t i = 0; i < n * m; i++)
		shifts[i] =
			diff_shift(w, g->units[0].data[i / m], g->units[1].data[i % m]);
	best = diff_vote(shifts, n * m, &votes);
	for (size_t i = n; votes > 0 && i-- > 0;) {
		size_t k = 0;

		while (k < m && (gone[k] || shifts[i * m + k] != best))
			k++;
		if (k == m)
			continue;
		diff_join(w, g->units[0].data[i], g->units[1].data[k], best != 0);
		gone[k] = true;
		diff_take_out(g, 0, i);
	}
	for (size_t k = m; k-- > 0;) {
		if (gone[k])
			diff_take_out(g, 1, k);
	}
	free(shifts);
	free(gone);
	return votes > 0;
}

/* Too many to try all: those with equal lines only. */
static void
diff_pair_equal(struct diff_work *w, struct diff_group *g)
{
	struct map of_exact = {0};

	for (size_t i = 0; i < g->units[0].len; i++) {
		uint32_t u = g->units[0].data[i];

		*map_add(&of_exact, w->units.data[u].exact) = u + UINT64_C(1);
	}
	for (size_t i = 0; i < g->units[1].len; i++) {
		uint32_t u = g->units[1].data[i];
		const uint64_t *old = map_find(&of_exact, w->units.data[u].exact);

		if (old != NULL)
			diff_join(w, (uint32_t)*old - 1, u, false);
	}
	map_done(&of_exact);
}

static void
diff_pair_group(struct diff_work *w, struct diff_group *g)
{
	size_t pairs = g->units[0].len * g->units[1].len;

	if (pairs > DIFF_PAIRS_MAX) {
		diff_pair_equal(w, g);
		return;
	}
	while (g->units[0].len > 0 && g->units[1].len > 0) {
		if (g->units[0].len == 1 && g->units[1].len == 1) {
			uint32_t old = g->units[0].data[0], new = g->units[1].data[0];

			diff_join(w, old, new, diff_shift(w, old, new) != 0);
			return;
		}
		if (!diff_pair_best(w, g))
			return;
	}
}

static int
diff_compare_loose(const void *a, const void *b, void *ctx)
{
	const struct diff_unit *units = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = units[i].loose, y = units[k].loose;

	return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

/* Units of one side whose lines may have moved, group by group. */
static void
diff_pair_moved(struct diff_work *w)
{
	struct diff_group g = {0};
	VEC(uint32_t) left = {0};

	for (uint32_t i = 0; i < w->units.len; i++) {
		const struct diff_unit *u = &w->units.data[i];

		if (u->loose != u->exact && !(u->side[0] && u->side[1]))
			vec_push(&left, i);
	}
	if (left.len > 1)
		qsort_r(left.data, left.len, sizeof *left.data, diff_compare_loose,
			w->units.data);
	for (size_t i = 0, k; i < left.len; i = k) {
		g.units[0].len = g.units[1].len = 0;
		for (k = i; k < left.len && w->units.data[left.data[k]].loose ==
						    w->units.data[left.data[i]].loose;
		     k++)
			vec_push(&g.units[w->units.data[left.data[k]].side[DIFF_NEW]],
				 left.data[k]);
		if (g.units[0].len > 0 && g.units[1].len > 0)
			diff_pair_group(w, &g);
	}
	vec_done(&g.units[0]);
	vec_done(&g.units[1]);
	vec_done(&left);
}

/* ---- all of it ---- */

static void
diff_give_places(struct diff_work *w, struct diff_match *m)
{
	uint32_t *place = xcalloc(w->units.len, sizeof *place);

	m->moved = xcalloc(w->units.len, sizeof *m->moved);
	for (uint32_t i = 0; i < w->units.len; i++) {
		if (w->units.data[i].place != 0)
			continue; /* joined to a new one */
		m->moved[m->nplaces] = w->units.data[i].moved;
		place[i] = m->nplaces++;
	}
	for (uint32_t i = 0; i < w->units.len; i++) {
		if (w->units.data[i].place != 0)
			place[i] = place[w->units.data[i].place - 1];
	}
	for (unsigned side = 0; side < 2; side++) {
		m->place[side] = w->unit[side];
		for (uint32_t i = 0; i < w->ss[side].nrows; i++)
			m->place[side][i] = place[m->place[side][i]];
	}
	free(place);
}

void
diff_match_init(struct diff_match *ret_match, struct diff_both *b,
		const struct sites ss[2], const struct diff_query *q)
{
	struct diff_work w = {.b = b, .ss = ss, .q = q};
	struct diff_match m = {0};

	diff_find_files(&w);
	map_reserve(&w.of_key, ss[0].nrows > ss[1].nrows ? ss[0].nrows : ss[1].nrows);
	for (unsigned side = 0; side < 2; side++) {
		w.frames[side] = xcalloc(b->p[side]->nframes, sizeof **w.frames);
		w.locs[side] = xcalloc(b->p[side]->nlocs, sizeof **w.locs);
		w.unit[side] = xcalloc(ss[side].nrows, sizeof **w.unit);
		for (uint32_t i = 0; i < ss[side].nrows; i++)
			diff_add_row(&w, side, i);
	}
	diff_pair_moved(&w);
	diff_give_places(&w, &m);
	for (unsigned side = 0; side < 2; side++) {
		free(w.frames[side]);
		free(w.locs[side]);
	}
	map_done(&w.pairs);
	map_done(&w.files);
	map_done(&w.of_key);
	vec_done(&w.units);
	vec_done(&w.lines);
	*ret_match = m;
}

void
diff_match_done(struct diff_match *m)
{
	free(m->place[0]);
	free(m->place[1]);
	free(m->moved);
	*m = (struct diff_match){0};
}
