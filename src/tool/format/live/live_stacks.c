/* SPDX-License-Identifier: MIT */
/* live_stacks.c -- threads, modules, stacks and totals of a live recording.
 *
 * Sites are found by walking their chunks; each pulls in its stack from the inside out
 * and the list of its cells. A stack that cannot be followed keeps its readable inner
 * part under a `truncated` root. A list of cells that breaks off keeps the cells
 * before. One site is none of the process's own: that of blocks it was forked with. */
#include "live_impl.h"

#include <string.h>

#include "tool/util/vec.h"
#include "tool/util/x.h"

/* ---- threads ---- */

void
live_read_threads(struct live *l)
{
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const struct rec_thread *t;

		if (l->chunks[i].kind != REC_CHUNK_THREAD)
			continue;
		for (uint32_t slot = 0; (t = live_slot(l, i, slot)) != NULL; slot++) {
			struct prof_thread *x;
			uint32_t row;

			if (t->serial == 0)
				continue; /* never used */
			if (t->state > REC_THREAD_LIVE)
				l->bad[LIVE_BAD_THREAD]++;
			row = prof_add_thread(l->p);
			x = &l->p->threads[row];
			x->process = l->process;
			x->tid = t->tid;
			x->serial = t->serial;
			x->name = prof_strn(l->p, t->name,
					    strnlen(t->name, sizeof t->name));
			x->ended = t->state != REC_THREAD_LIVE;
			l->thread_rows[l->chunks[i].first + slot] = row;
			live_saw_ms(l, t->started_ms);
		}
	}
}

/* ---- modules ---- */

bool
live_string(const struct live *l, uint32_t ref, const char **ret_text, size_t *ret_bytes)
{
	const struct rec_string *s = live_at(l, ref, REC_CHUNK_STRING, sizeof *s);

	if (s == NULL || s->bytes > REC_CHUNK_BYTES ||
	    live_at(l, ref, REC_CHUNK_STRING, sizeof *s + s->bytes + 1) == NULL)
		return false;
	*ret_text = s->text;
	*ret_bytes = strnlen(s->text, s->bytes);
	return true;
}

static void
live_read_module(struct live *l, const struct rec_module *m, uint32_t number)
{
	const char *path = "";
	size_t path_bytes = 0, id_bytes = m->build_id_bytes;
	uint32_t id, row, range;

	if (m->start == 0 && m->end == 0)
		return; /* not filled yet */
	if (id_bytes > REC_BUILD_ID_MAX || m->start >= m->end) {
		l->bad[LIVE_BAD_MODULE]++;
		id_bytes = 0;
	}
	if (m->path != 0 && !live_string(l, m->path, &path, &path_bytes))
		l->bad[LIVE_BAD_MODULE]++;
	l->module_bias[number] = m->bias;
	if (id_bytes == 0 && path_bytes == 0)
		return; /* without either its code cannot be told from any other */
	id = prof_strn(l->p, path, path_bytes);
	row = prof_module(l->p, prof_text(l->p, id), m->build_id, id_bytes);
	l->module_rows[number] = row;
	range = prof_add_range(l->p);
	l->p->ranges[range] = (struct prof_range){
		.process = l->process,
		.module = row,
		.start = m->start,
		.end = m->end,
		.bias = m->bias,
		.loaded_ms = m->loaded_ms,
		.unloaded_ms = m->unloaded_ms,
	};
}

/* A module's number is its place in the table: chunk after chunk, from 1. */
void
live_read_modules(struct live *l)
{
	uint32_t n = l->room[REC_CHUNK_MODULE] + 1;

	l->module_rows = xcalloc(n, sizeof *l->module_rows);
	l->module_bias = xcalloc(n, sizeof *l->module_bias);
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const struct rec_module *m;

		if (l->chunks[i].kind != REC_CHUNK_MODULE)
			continue;
		for (uint32_t slot = 0; (m = live_slot(l, i, slot)) != NULL; slot++)
			live_read_module(l, m, l->chunks[i].first + slot + 1);
	}
}

/* ---- stacks ---- */

enum { LIVE_NODE_OPEN = UINT32_MAX }; /* in node_rows: on the path being read */

static uint32_t
live_loc(struct live *l, const struct rec_node *n)
{
	uint32_t number = n->module & 0xffffff;
	uint32_t module = 0;
	uint64_t offset = n->pc;

	switch (n->module >> 24) {
	case REC_NODE_TRUNCATED:
		return prof_loc(l->p, 0, 0, PROF_LOC_TRUNCATED, false);
	case REC_NODE_ELIDED:
		return prof_loc(l->p, 0, n->pc, PROF_LOC_ELIDED, false);
	case REC_NODE_CLASS:
		return prof_loc(l->p, 0, n->pc, PROF_LOC_CLASS, false);
	case REC_NODE_NAMED:
		return live_name_loc(l,
				     n->pc <= UINT32_MAX ? (uint32_t)n->pc : UINT32_MAX);
	default:
		break;
	}
	if (n->module >> 24 != REC_NODE_PC)
		l->bad[LIVE_BAD_STACK]++;
	/* the recorder gives a number past the table to code it had no room to
	 * describe */
	if (number != 0 && number <= l->room[REC_CHUNK_MODULE])
		module = l->module_rows[number];
	if (module != 0)
		offset -= l->module_bias[number];
	return prof_loc(l->p, module, offset, PROF_LOC_CODE, false);
}

/* Row of the node that `ref` names. Walks up until a node that is known, then comes
 * back down. A ref that leads nowhere, or back into the path, gives a `truncated`
 * root. */
uint32_t
live_node(struct live *l, uint32_t ref)
{
	VEC(uint32_t) path = {0};
	uint32_t row = 0;

	while (ref != 0) {
		const struct rec_node *n;
		uint32_t *known = live_has(l, ref, REC_CHUNK_NODE, sizeof *n)
					  ? &l->node_rows[live_number(l, ref)]
					  : NULL;

		if (known == NULL || *known == LIVE_NODE_OPEN) {
			l->bad[LIVE_BAD_STACK]++;
			row = prof_node(l->p, 0,
					prof_loc(l->p, 0, 0, PROF_LOC_TRUNCATED, false));
			break;
		}
		if (*known != 0) { /* what it says is not needed again */
			row = *known;
			break;
		}
		n = live_at(l, ref, REC_CHUNK_NODE, sizeof *n);
		*known = LIVE_NODE_OPEN;
		vec_push(&path, ref);
		ref = n->parent;
	}
	while (path.len > 0) {
		const struct rec_node *n;

		ref = path.data[--path.len];
		n = live_at(l, ref, REC_CHUNK_NODE, sizeof *n);
		if (n->module >> 24 != REC_NODE_TYPE) /* which is no frame */
			row = prof_node(l->p, row, live_loc(l, n));
		l->node_rows[live_number(l, ref)] = row;
	}
	vec_done(&path);
	return row;
}

/* ---- totals ---- */

int64_t
live_scale(const struct live *l, const struct prof_site *site, int64_t samples)
{
	double each;

	if (!l->sampled || site->samples == 0)
		return samples;
	each = (double)samples * ((double)site->allocs / (double)site->samples);
	return each > -9e18 && each < 9e18 ? (int64_t)each : samples;
}

/* a += b without minding overflow: the figures of a damaged file may be anything. */
static void
live_plus(int64_t *a, int64_t b)
{
	*a = (int64_t)((uint64_t)*a + (uint64_t)b);
}

static void
live_add_snapshots(const struct live *l, struct prof_site *site, const struct rec_cell *c)
{
	int64_t bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
	int64_t blocks = (int64_t)(c->allocs - c->frees);
	bool peak = ((c->stamp ^ l->head->stamp) & REC_STAMP_EPOCH) == 0;
	bool exited = l->head->exit_ms != 0 && (c->stamp & REC_STAMP_EXIT) != 0;

	live_plus(&site->at_peak_bytes, peak ? c->peak_live_bytes : bytes);
	live_plus(&site->at_peak_blocks, peak ? c->peak_live_blocks : blocks);
	live_plus(&site->at_exit_bytes, exited ? c->exit_live_bytes : bytes);
	live_plus(&site->at_exit_blocks, exited ? c->exit_live_blocks : blocks);
}

static void
live_add_cell_row(struct live *l, uint32_t site_row, const struct rec_cell *c)
{
	uint32_t row = prof_add_cell(l->p);
	struct prof_cell *x = &l->p->cells[row];

	x->site = site_row;
	if (c->thread != 0) {
		if (live_at(l, c->thread, REC_CHUNK_THREAD, sizeof(struct rec_thread)) !=
		    NULL)
			x->thread = l->thread_rows[live_number(l, c->thread)];
		else
			l->bad[LIVE_BAD_CELL]++;
	}
	x->allocs = l->sampled ? c->est_allocs >> 10 : c->allocs;
	x->frees = l->sampled ? c->est_frees >> 10 : c->frees;
	x->alloc_bytes = c->alloc_bytes;
	x->free_bytes = c->free_bytes;
}

static void
live_add_hist(struct live *l, struct prof_site *site, const struct rec_cell *c)
{
	struct prof_hist *sum = &l->hist;
	uint64_t lifetimes[REC_LIFE_BUCKETS + 1] = {0};
	const struct rec_hist *h;

	if (c->hist == 0 && !l->sampled) {
		rec_add_few(c, sum->sizes, lifetimes);
	} else if ((h = live_at(l, c->hist, REC_CHUNK_HIST, sizeof *h)) != NULL) {
		for (unsigned i = 0; i < REC_SIZE_BUCKETS; i++)
			sum->sizes[i] += h->sizes[i];
		memcpy(lifetimes, h->lifetimes, sizeof lifetimes);
	} else {
		l->bad[LIVE_BAD_CELL]++;
	}
	site->temps += lifetimes[REC_LIFE_TEMPORARY];
	for (unsigned i = 0; i < REC_LIFE_BUCKETS; i++)
		sum->lifetimes[i] += lifetimes[i];
}

static void
live_add_cell(struct live *l, struct prof_site *site, const struct rec_cell *c)
{
	/* in 1/1024 until all cells are added */
	site->allocs += l->sampled ? c->est_allocs : c->allocs;
	site->frees += l->sampled ? c->est_frees : c->frees;
	site->alloc_bytes += c->alloc_bytes;
	site->free_bytes += c->free_bytes;
	site->temp_bytes += c->temp_bytes;
	live_add_hist(l, site, c);
	live_series_add(l, c);
	live_add_snapshots(l, site, c);
	if (l->sampled) {
		site->samples += c->allocs;
		site->live_samples += c->allocs - c->frees;
		site->var_alloc_bytes += (double)c->var_allocs * 64 * 64;
	}
}

/* Row 0: the figures of a site that gets no row. */
static void
live_count_cell(struct live *l, uint32_t row, struct prof_site *site,
		const struct rec_cell *c)
{
	if (row != 0)
		live_add_cell_row(l, row, c);
	live_add_cell(l, site, c);
}

/* A cell in a chunk of its own, or inside its site. False: there is none. */
static bool
live_cell(const struct live *l, uint32_t ref, struct rec_cell *ret)
{
	const struct rec_cell *c = live_at(l, ref, REC_CHUNK_CELL, sizeof *c);

	if (c == NULL)
		c = live_at(l, ref, REC_CHUNK_SITE, sizeof *c);
	if (c != NULL)
		*ret = *c;
	return c != NULL;
}

/* The cells of a site. Those of ended threads were added up in one that stands apart,
 * and a process may have died between adding one and unlinking it: that one is named
 * and left out. */
static void
live_read_cells(struct live *l, uint32_t row, struct prof_site *site,
		const struct rec_site *s, uint32_t site_ref)
{
	struct rec_cell c;
	uint32_t absorbed = 0;

	live_series_begin(l);
	if (s->ended != 0) {
		if (live_cell(l, s->ended, &c) && c.site == site_ref &&
		    live_first_visit(l, s->ended, 1)) {
			absorbed = c.absorbed;
			live_count_cell(l, row, site, &c);
		} else {
			l->bad[LIVE_BAD_CELL]++;
		}
	}
	for (uint32_t ref = s->cells; ref != 0; ref = c.next) {
		if (!live_cell(l, ref, &c) || c.site != site_ref ||
		    !live_first_visit(l, ref, 1)) {
			l->bad[LIVE_BAD_CELL]++;
			return;
		}
		if (ref != absorbed)
			live_count_cell(l, row, site, &c);
	}
}

static void
live_finish_site(struct live *l, struct prof_site *site, const struct rec_site *s)
{
	if (l->sampled) {
		site->live_blocks = (int64_t)(site->allocs - site->frees) / 1024;
		site->allocs >>= 10;
		site->frees >>= 10;
		site->temps = (uint64_t)live_scale(l, site, (int64_t)site->temps);
		site->at_peak_blocks = live_scale(l, site, site->at_peak_blocks);
		site->at_exit_blocks = live_scale(l, site, site->at_exit_blocks);
	} else {
		site->live_blocks = (int64_t)(site->allocs - site->frees);
	}
	site->live_bytes = (int64_t)(site->alloc_bytes - site->free_bytes);
	site->first_ms = s->first_ms;
	site->peak_bytes = s->peak_bytes;
	site->peak_ms = s->peak_ms;
	live_saw_ms(l, s->first_ms);
	live_saw_ms(l, s->peak_ms);
	if (site->live_bytes > site->peak_bytes) {
		site->peak_bytes = site->live_bytes;
		site->peak_ms = l->last_ms;
	}
}

/* Stacks that do not show all of their frames are counted, by the allocations made
 * there. */
static void
live_count_cut(struct live *l, const struct prof_site *site)
{
	struct prof_process *x = &l->p->processes[l->process];

	for (uint32_t n = site->node; n != 0; n = l->p->nodes[n].parent) {
		uint8_t kind = l->p->locs[l->p->nodes[n].loc].kind;

		if (kind == PROF_LOC_TRUNCATED)
			x->lost[REC_LOST_TRUNCATED] += site->allocs;
		else if (kind == PROF_LOC_ELIDED)
			x->lost[REC_LOST_ELIDED] += site->allocs;
	}
}

static bool
live_is_inherited(const struct live *l, uint32_t node_ref)
{
	const struct rec_node *n = live_at(l, node_ref, REC_CHUNK_NODE, sizeof *n);

	return n != NULL && n->parent == 0 && n->module >> 24 == REC_NODE_CLASS &&
	       n->pc == REC_CLASS_INHERITED;
}

/* Blocks from before the fork are not what this process did: they are in no table of the
 * profile, only counted. */
static void
live_read_inherited(struct live *l, const struct rec_site *s, uint32_t ref)
{
	struct prof_process *x = &l->p->processes[l->process];
	struct prof_site sum = {0};

	l->inherited = ref;
	live_read_cells(l, 0, &sum, s, ref);
	x->inherited_blocks += sum.allocs;
	x->inherited_bytes += sum.alloc_bytes;
	x->inherited_frees += sum.frees;
	x->inherited_free_bytes += sum.free_bytes;
	live_plus(&x->inherited_at_peak_bytes, sum.at_peak_bytes);
	live_plus(&x->inherited_at_peak_blocks, sum.at_peak_blocks);
}

static void
live_read_site(struct live *l, const struct rec_site *s, uint32_t ref)
{
	uint32_t row, node;

	if (s->node == 0 || (s->cells == 0 && s->ended == 0))
		return; /* never used, or lost a race against its twin */
	if (live_is_inherited(l, s->node)) {
		live_read_inherited(l, s, ref);
		return;
	}
	node = live_node(l, s->node);
	if (node == 0) {
		l->bad[LIVE_BAD_SITE]++;
		return;
	}
	row = prof_add_site(l->p);
	l->p->sites[row].process = l->process;
	l->p->sites[row].node = node;
	l->p->sites[row].origin = ref;
	l->p->sites[row].type = live_type(l, s->node);
	l->site_rows[live_number(l, ref)] = row;
	l->hist = (struct prof_hist){0};
	live_read_cells(l, row, &l->p->sites[row], s, ref);
	prof_set_hist(l->p, row, &l->hist);
	live_series_end(l, row);
	live_finish_site(l, &l->p->sites[row], s);
	live_count_cut(l, &l->p->sites[row]);
}

void
live_read_sites(struct live *l)
{
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const struct rec_site *s;

		if (l->chunks[i].kind != REC_CHUNK_SITE)
			continue;
		for (uint32_t slot = 0; (s = live_slot(l, i, slot)) != NULL; slot++) {
			struct rec_site site =
				*s; /* its chunk may make room for others */

			live_read_site(l, &site, live_slot_ref(l, i, slot));
		}
	}
}

uint32_t
live_site_row(const struct live *l, uint32_t ref)
{
	if (!live_has(l, ref, REC_CHUNK_SITE, sizeof(struct rec_site)))
		return 0;
	return l->site_rows[live_number(l, ref)];
}
