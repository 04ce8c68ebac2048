/* SPDX-License-Identifier: MIT */
/* peer_stacks.c -- see peer_stacks.h.
 *
 * A location's names are made once. Each stack is walked once: allocator frames, frames to be
 * left out, focus and ignore; what is left is kept as a run of locations and counted into rows,
 * every row once a stack. */
#include "tool/compat/jeprof/peer_stacks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/compat/jeprof/peer_names.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

/* ---- figures ---- */

static double
peer_site_value(const struct prof *p, uint32_t i, enum peer_index index)
{
	const struct prof_real *r = i < p->nreals ? &p->reals[i] : NULL;
	const struct prof_site *s = &p->sites[i];

	switch (index) {
	case PEER_INUSE_OBJECTS:
		return r != NULL ? r->live_blocks : (double)s->live_blocks;
	case PEER_ALLOC_SPACE:
		return r != NULL ? r->alloc_bytes : (double)s->alloc_bytes;
	case PEER_ALLOC_OBJECTS:
		return r != NULL ? r->allocs : (double)s->allocs;
	default:
		return r != NULL ? r->live_bytes : (double)s->live_bytes;
	}
}

static uint32_t
peer_node(const struct prof *p, uint32_t site)
{
	return p->sites[site].node < p->nnodes ? p->sites[site].node : 0;
}

double *
peer_values(const struct prof *p, uint32_t nsites, enum peer_index index,
	    bool drop_negative)
{
	double *v = xcalloc((size_t)p->nnodes + 1, sizeof *v);
	bool *has = xcalloc((size_t)p->nnodes + 1, sizeof *has);

	for (uint32_t i = 1; i < nsites; i++) {
		v[peer_node(p, i)] += peer_site_value(p, i, index);
		has[peer_node(p, i)] = true;
	}
	for (uint32_t i = nsites; i < p->nsites; i++) {
		if (!drop_negative || has[peer_node(p, i)])
			v[peer_node(p, i)] -= peer_site_value(p, i, index);
	}
	for (uint32_t i = 0; drop_negative && i < p->nnodes; i++) {
		if (v[i] < 0)
			v[i] = 0;
	}
	free(has);
	return v;
}

double *
peer_thread_values(const struct prof *p, uint32_t thread, enum peer_index index)
{
	double *v = xcalloc((size_t)p->nnodes + 1, sizeof *v);

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		double x = index == PEER_ALLOC_SPACE	 ? (double)c->alloc_bytes
			   : index == PEER_ALLOC_OBJECTS ? (double)c->allocs
			   : index == PEER_INUSE_OBJECTS
				   ? (double)c->allocs - (double)c->frees
				   : (double)c->alloc_bytes - (double)c->free_bytes;

		if (c->thread == thread && c->site < p->nsites)
			v[peer_node(p, c->site)] += x;
	}
	return v;
}

/* ---- rows ---- */

void
peer_file_line(const struct peer_stacks *s, const struct peer_sym *y, struct buf *b)
{
	if (y->file == 0)
		buf_add_str(b, "??:?");
	else
		buf_printf(b, "%s:%" PRIu32, strtab_str(&s->text, y->file), y->line);
}

/* What a row is called; "" leaves the frame out. */
static void
peer_row_name(const struct peer_stacks *s, uint32_t loc, uint32_t i, bool leaf,
	      struct buf *b)
{
	const struct peer_loc *l = &s->locs[loc];
	const struct peer_sym *y = &s->syms.data[l->syms + i];
	uint64_t address = l->address + leaf;

	if (s->grain == PEER_FILES) {
		if (y->file == 0)
			buf_printf(b, "%016" PRIx64, address);
		else
			buf_add_str(b, strtab_str(&s->text, y->file));
		return;
	}
	if (s->grain == PEER_ADDRESSES)
		buf_printf(b, "%016" PRIx64 " ", address);
	if (y->func == 0)
		buf_printf(b, "0x%016" PRIx64, address);
	else
		buf_add_str(b, strtab_str(&s->text, y->func));
	if (y->func != 0 && y->tagged && map_find(&s->ambiguous, y->func) != NULL)
		buf_printf(b, "@%" PRIx64, y->start);
	if (i + 1 < l->nsyms)
		buf_add_str(b, " (inline)");
	if (s->grain == PEER_LINES || s->grain == PEER_ADDRESSES) {
		buf_add_char(b, ' ');
		peer_file_line(s, y, b);
	}
	if (s->show_addresses && s->grain != PEER_ADDRESSES)
		buf_printf(b, " (%016" PRIx64 ")", address);
}

uint32_t
peer_row_of(struct peer_stacks *s, uint32_t loc, uint32_t i, bool leaf)
{
	struct buf b = {0};
	uint32_t name;
	uint64_t *row;

	peer_row_name(s, loc, i, leaf, &b);
	name = strtab_addn(&s->text, buf_str(&b), b.len);
	buf_done(&b);
	row = map_add(&s->row_of, name);
	if (*row == 0) {
		*row = s->rows.len;
		vec_push(&s->rows, (struct peer_row){.name = name});
	}
	return (uint32_t)*row;
}

struct peer_count {
	struct peer_stacks *s;
	uint32_t *
		first; /* for every function: its row + 1 away from the leaf, 0 = not made */
	VEC(uint32_t) seen; /* rows: number of the last stack that counted into it */
	uint32_t number;
};

static void
peer_count_row(struct peer_count *c, uint32_t row, double value, bool *flat)
{
	while (c->seen.len <= row)
		vec_push(&c->seen, 0);
	if (c->seen.data[row] == c->number)
		return;
	c->seen.data[row] = c->number;
	c->s->rows.data[row].cum += value;
	if (*flat) {
		c->s->rows.data[row].flat += value;
		c->s->shown += value;
	}
	*flat = false;
}

static void
peer_count_stack(struct peer_count *c, const struct peer_stack *k)
{
	struct peer_stacks *s = c->s;
	bool flat = true;

	c->number++;
	for (uint32_t i = 0; i < k->nframes; i++) {
		uint32_t loc = s->frames.data[k->frames + i];
		const struct peer_loc *l = &s->locs[loc];

		for (uint32_t j = 0; j < l->nsyms; j++) {
			uint32_t *row = &c->first[l->syms + j];

			/* The leaf's own address is one further, and so a row of its own. */
			if (i == 0 && k->leaf &&
			    (s->grain == PEER_ADDRESSES || s->show_addresses)) {
				peer_count_row(c, peer_row_of(s, loc, j, true), k->value,
					       &flat);
				continue;
			}
			if (*row == 0)
				*row = peer_row_of(s, loc, j, false);
			peer_count_row(c, *row, k->value, &flat);
		}
	}
}

/* ---- stacks ---- */

static bool
peer_loc_matches(const struct peer_stacks *s, uint32_t loc, const struct re *re)
{
	const struct peer_loc *l = &s->locs[loc];
	struct buf b = {0};
	bool met = false;

	buf_printf(&b, "%016" PRIx64, l->address);
	met = re_matches(re, buf_str(&b));
	for (uint32_t i = 0; i < l->nsyms && !met; i++) {
		const struct peer_sym *y = &s->syms.data[l->syms + i];

		buf_clear(&b);
		peer_file_line(s, y, &b);
		met = re_matches(re, strtab_str(&s->text, y->func)) ||
		      re_matches(re, buf_str(&b));
	}
	buf_done(&b);
	return met;
}

/* Does the real function of a location match? What --retain and --exclude ask. */
static bool
peer_function_matches(const struct peer_stacks *s, uint32_t loc, const struct re *re)
{
	const struct peer_loc *l = &s->locs[loc];
	const struct peer_sym *y = &s->syms.data[l->syms + l->nsyms - 1];
	char hex[24];

	snprintf(hex, sizeof hex, "0x%016" PRIx64, l->address);
	return re_matches(re, y->func != 0 ? strtab_str(&s->text, y->func) : hex);
}

enum { PEER_ASKED = 1, PEER_MET = 2 };

/* Whether a location matches, asked once. */
static bool
peer_ask(const struct peer_stacks *s, uint8_t *known, uint32_t loc, const struct re *re,
	 bool (*matches)(const struct peer_stacks *, uint32_t, const struct re *))
{
	if (known[loc] == 0)
		known[loc] = PEER_ASKED | (matches(s, loc, re) ? PEER_MET : 0);
	return (known[loc] & PEER_MET) != 0;
}

struct peer_walk {
	struct peer_stacks *s;
	const struct peer_opts_stacks *o;
	uint8_t *focus, *ignore, *retain, *exclude; /* what was asked of each location */
};

/* The stack of a node without the allocator's frames. True when its innermost is still there. */
static bool
peer_walk_frames(struct peer_walk *w, uint32_t node)
{
	struct peer_stacks *s = w->s;
	const struct prof *p = s->p;
	size_t begin = s->frames.len, kept = begin;
	bool leaf = !s->locs[p->nodes[node].loc].allocator;

	for (; node != 0;
	     node = p->nodes[node].parent < node ? p->nodes[node].parent : 0) {
		uint32_t loc = p->nodes[node].loc;

		if (s->locs[loc].allocator && w->o->jeprof) {
			s->frames.len = begin;
			leaf = false;
		}
		if (!s->locs[loc].allocator && !s->locs[loc].above)
			vec_push(&s->frames, loc);
	}
	for (size_t i = begin; i < s->frames.len; i++) {
		uint32_t loc = s->frames.data[i];

		if (w->o->retain != NULL &&
		    !peer_ask(s, w->retain, loc, w->o->retain, peer_function_matches))
			continue;
		if (w->o->exclude != NULL &&
		    peer_ask(s, w->exclude, loc, w->o->exclude, peer_function_matches))
			continue;
		leaf = leaf && (kept > begin || i == begin);
		s->frames.data[kept++] = loc;
	}
	s->frames.len = kept;
	return leaf;
}

static bool
peer_walk_passes(struct peer_walk *w, size_t begin)
{
	struct peer_stacks *s = w->s;
	bool focused = w->o->focus == NULL;

	for (size_t i = begin; i < s->frames.len; i++) {
		uint32_t loc = s->frames.data[i];

		if (w->o->ignore != NULL &&
		    peer_ask(s, w->ignore, loc, w->o->ignore, peer_loc_matches))
			return false;
		focused = focused ||
			  peer_ask(s, w->focus, loc, w->o->focus, peer_loc_matches);
	}
	return focused;
}

static void
peer_walk_all(struct peer_walk *w, const double *values)
{
	struct peer_stacks *s = w->s;

	for (uint32_t i = 0; i < s->p->nnodes; i++) {
		size_t begin = s->frames.len;
		bool leaf;

		s->total += values[i];
		if (values[i] == 0)
			continue;
		leaf = peer_walk_frames(w, i);
		if (s->frames.len == begin || !peer_walk_passes(w, begin)) {
			s->frames.len = begin;
			continue;
		}
		vec_push(&s->stacks,
			 (struct peer_stack){.frames = (uint32_t)begin,
					     .nframes = (uint32_t)(s->frames.len - begin),
					     .leaf = leaf,
					     .value = values[i]});
	}
}

void
peer_stacks_init(struct peer_stacks *ret, const struct prof *p, const double *values,
		 const struct peer_opts_stacks *o)
{
	struct peer_stacks *s = ret;
	struct peer_walk w = {.s = s, .o = o};
	struct peer_count c = {.s = s};

	*s = (struct peer_stacks){
		.p = p, .grain = o->grain, .show_addresses = o->show_addresses};
	peer_names(s, o);
	w.focus = xcalloc(p->nlocs, 1);
	w.ignore = xcalloc(p->nlocs, 1);
	w.retain = xcalloc(p->nlocs, 1);
	w.exclude = xcalloc(p->nlocs, 1);
	peer_walk_all(&w, values);
	free(w.focus), free(w.ignore), free(w.retain), free(w.exclude);
	vec_add(&s->rows);
	c.first = xcalloc(s->syms.len, sizeof *c.first);
	for (size_t i = 0; i < s->stacks.len; i++)
		peer_count_stack(&c, &s->stacks.data[i]);
	free(c.first);
	vec_done(&c.seen);
}

void
peer_stacks_done(struct peer_stacks *s)
{
	strtab_done(&s->text);
	map_done(&s->row_of);
	map_done(&s->ambiguous);
	free(s->locs);
	vec_done(&s->syms);
	vec_done(&s->frames);
	vec_done(&s->stacks);
	vec_done(&s->rows);
}

/* ---- order ---- */

struct peer_key {
	double by;
	const char *name;
	uint32_t row;
};

static int
peer_key_order(const void *a, const void *b)
{
	const struct peer_key *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? 1 : -1;
	return strcmp(x->name, y->name);
}

void
peer_rank(const struct peer_stacks *s, bool by_cum, bool magnitude, uint32_t *ret)
{
	struct peer_key *keys = xcalloc(s->rows.len, sizeof *keys);

	for (uint32_t i = 1; i < s->rows.len; i++) {
		const struct peer_row *r = &s->rows.data[i];
		double by = by_cum ? r->cum : r->flat;

		keys[i - 1] = (struct peer_key){.by = magnitude && by < 0 ? -by : by,
						.name = strtab_str(&s->text, r->name),
						.row = i};
	}
	qsort(keys, s->rows.len - 1, sizeof *keys, peer_key_order);
	for (size_t i = 0; i + 1 < s->rows.len; i++)
		ret[i] = keys[i].row;
	free(keys);
}
