/* SPDX-License-Identifier: MIT */
/* merge.c -- one profile appended to another: the processes of a run become one
 * recording.
 *
 * Every id of the source is translated, as columns.h says which fields are ids. Rows that
 * name a process are appended as they are, since two processes never share one; modules,
 * locations and nodes go through the interning calls of prof.h. Nodes need one pass,
 * because a parent always comes before its children; a source that breaks this rule gets
 * the blank row as parent. No I/O, nothing of the source is changed. */
#include <string.h>

#include "columns.h"
#include "shared/mem.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

struct merge {
	struct prof *into;
	const struct prof *from;
	const bool *without; /* processes of the source that stay behind; NULL = none */
	/* By table: row of the source -> row of the result; 0 = it stays behind. */
	uint32_t *rows[PROF_TABS];
	uint32_t first[PROF_TABS]; /* where the rows of the source begin, if all come */
};

/* An id of the source in the result; one that leads nowhere becomes 0. */
static uint32_t
merge_str(const struct merge *m, uint32_t id)
{
	return id < strtab_count(m->from->strings) ? m->rows[PROF_TAB_STRINGS][id] : 0;
}

static uint32_t
merge_row(const struct merge *m, unsigned tab, uint32_t row)
{
	uint32_t n;

	prof_tab_rows(m->from, &prof_tabs[tab], &n);
	return row < n ? m->rows[tab][row] : 0;
}

/* Whether rows of this process stay behind. */
static bool
merge_drops(const struct merge *m, uint32_t process)
{
	return m->without != NULL && process < m->from->nprocesses && m->without[process];
}

static uint32_t *
merge_map(struct merge *m, enum prof_tab_id tab, uint32_t n)
{
	return m->rows[tab] = xcalloc(n, sizeof(uint32_t));
}

static void
merge_strings(struct merge *m)
{
	uint32_t n = (uint32_t)strtab_count(m->from->strings);
	uint32_t *map = merge_map(m, PROF_TAB_STRINGS, n);

	for (uint32_t i = 1; i < n; i++)
		map[i] = prof_strn(m->into, strtab_str(m->from->strings, i),
				   strtab_len(m->from->strings, i));
}

/* The ids in rows that were copied as they are, from row `n` of the result on. */
static void
merge_ids(const struct merge *m, const struct prof_tab *t, uint32_t n)
{
	uint32_t end;
	unsigned char *rows = prof_tab_rows(m->into, t, &end);

	for (unsigned i = 0; i < t->ncols; i++) {
		const struct prof_col *c = &t->cols[i];
		unsigned char *at = rows + (size_t)n * t->row_bytes + c->off;

		if (c->kind != PROF_COL_STR && c->kind != PROF_COL_ROW &&
		    c->kind != PROF_COL_SPAN)
			continue;
		for (uint32_t row = n; row < end; row++, at += t->row_bytes) {
			uint32_t v = mem_get_u32(at);

			mem_put_u32(at, c->kind == PROF_COL_STR ? merge_str(m, v)
					: c->kind == PROF_COL_ROW
						? merge_row(m, c->table, v)
						: v + m->first[c->table]);
		}
	}
}

static void
merge_modules(struct merge *m)
{
	uint32_t *map = merge_map(m, PROF_TAB_MODULES, m->from->nmodules);

	for (uint32_t i = 1; i < m->from->nmodules; i++) {
		const struct prof_module *x = &m->from->modules[i];
		uint32_t before = m->into->nmodules;

		map[i] = prof_module(m->into, prof_text(m->from, x->path), x->build_id,
				     x->build_id_bytes);
		if (map[i] == before) {
			m->into->modules[before] = *x;
			merge_ids(m, &prof_tabs[PROF_TAB_MODULES], before);
		}
	}
}

static void
merge_frames(struct merge *m, const struct prof_loc *from, uint32_t loc)
{
	const struct prof *src = m->from;
	uint32_t first = m->into->nframes;

	if (from->nframes == 0 || from->frames > src->nframes ||
	    from->nframes > src->nframes - from->frames)
		return;
	for (uint32_t i = 0; i < from->nframes; i++) {
		uint32_t row = prof_add_frame(m->into);

		m->into->frames[row] = src->frames[from->frames + i];
	}
	merge_ids(m, &prof_tabs[PROF_TAB_FRAMES], first);
	m->into->locs[loc].frames = first;
	m->into->locs[loc].nframes = from->nframes;
}

static void
merge_stacks(struct merge *m)
{
	const struct prof *src = m->from;
	uint32_t *locs = merge_map(m, PROF_TAB_LOCS, src->nlocs);
	uint32_t *nodes = merge_map(m, PROF_TAB_NODES, src->nnodes);

	for (uint32_t i = 1; i < src->nlocs; i++) {
		const struct prof_loc *l = &src->locs[i];
		uint32_t row =
			prof_loc(m->into, merge_row(m, PROF_TAB_MODULES, l->module),
				 l->offset, (enum prof_loc_kind)l->kind, l->exact != 0);

		if (m->into->locs[row].nframes == 0)
			merge_frames(m, l, row);
		locs[i] = row;
	}
	for (uint32_t i = 1; i < src->nnodes; i++) {
		const struct prof_node *n = &src->nodes[i];
		uint32_t parent = n->parent < i ? nodes[n->parent] : 0;

		nodes[i] =
			prof_node(m->into, parent, merge_row(m, PROF_TAB_LOCS, n->loc));
	}
}

/* Does a row stay behind, because its process does, or its site's? */
static bool
merge_drops_row(const struct merge *m, unsigned tab, uint32_t row,
		const unsigned char *at)
{
	const struct prof_tab *t = &prof_tabs[tab];

	if (m->without == NULL || tab == PROF_TAB_MARK_ROWS || tab == PROF_TAB_LOOK_ROWS)
		return false; /* rows of a span stay together: they lose their site */
	if (tab == PROF_TAB_PROCESSES)
		return merge_drops(m, row);
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct prof_col *c = &t->cols[i];
		uint32_t v = mem_get_u32(at + c->off);

		if (c->kind == PROF_COL_ROW && c->table == PROF_TAB_PROCESSES)
			return merge_drops(m, v);
		if (c->kind == PROF_COL_ROW && c->table == PROF_TAB_SITES)
			return v < m->from->nsites &&
			       merge_drops(m, m->from->sites[v].process);
	}
	return false;
}

/* The rows of a table that is not interned, in their order. */
static void
merge_table(struct merge *m, unsigned tab)
{
	const struct prof_tab *t = &prof_tabs[tab];
	uint32_t n, first;
	const unsigned char *from = prof_tab_rows(m->from, t, &n);
	uint32_t *map = NULL;

	prof_tab_rows(m->into, t, &first);
	if (t->first != 0)
		map = merge_map(m, (enum prof_tab_id)tab, n);
	for (uint32_t i = t->first; i < n; i++) {
		const unsigned char *row = from + (size_t)i * t->row_bytes;
		uint32_t to, all;

		if (merge_drops_row(m, tab, i, row))
			continue;
		to = prof_append(m->into, (enum prof_tab_id)tab);
		memcpy(prof_tab_rows(m->into, t, &all) + (size_t)to * t->row_bytes, row,
		       t->row_bytes);
		if (map != NULL)
			map[i] = to;
	}
	merge_ids(m, t, first);
}

/* Sites that had no unrounded figures get their rounded ones. Profiles with such figures
 * are merged with all their processes. */
static void
merge_reals(struct merge *m)
{
	struct prof *into = m->into;
	uint32_t first = into->nsites - m->from->nsites; /* blank row of the source */

	if ((into->nreals == 0 && m->from->nreals == 0) || m->without != NULL)
		return;
	for (uint32_t i = into->nreals; i < into->nsites; i++) {
		const struct prof_site *x = &into->sites[i];
		const struct prof_real *had = NULL;
		uint32_t row = prof_add_real(into);

		if (i > first && i - first < m->from->nreals)
			had = &m->from->reals[i - first];
		into->reals[row] =
			had != NULL ? *had
				    : (struct prof_real){
					      .live_blocks = (double)x->live_blocks,
					      .live_bytes = (double)x->live_bytes,
					      .allocs = (double)x->allocs,
					      .alloc_bytes = (double)x->alloc_bytes,
				      };
	}
}

void
prof_merge(struct prof *into, const struct prof *from)
{
	prof_merge_without(into, from, NULL);
}

/* What is said once of a whole profile. */
static void
merge_meta(const struct merge *m)
{
	struct prof *into = m->into;
	const struct prof *from = m->from;

	into->columns &= from->columns;
	if (into->format == 0)
		into->format = merge_str(m, from->format);
	if (into->comments == 0)
		into->comments = merge_str(m, from->comments);
	if (into->drop_frames == 0 && into->keep_frames == 0) {
		into->drop_frames = merge_str(m, from->drop_frames);
		into->keep_frames = merge_str(m, from->keep_frames);
	}
	if (into->default_type == 0)
		into->default_type = merge_str(m, from->default_type);
	if (into->time_ns == 0 || (from->time_ns != 0 && from->time_ns < into->time_ns))
		into->time_ns = from->time_ns;
	for (uint32_t i = 0; i < from->ndamages; i++)
		prof_add_damage(into, prof_text(from, from->damages[i].what),
				from->damages[i].count);
	into->blocks_dropped += from->blocks_dropped;
}

void
prof_merge_without(struct prof *into, const struct prof *from, const bool *without)
{
	struct merge m = {.into = into, .from = from, .without = without};

	/* Nothing but names that were all resolved may be called so. */
	into->has_names = from->has_names && (into->has_names || into->nprocesses == 1);
	merge_strings(&m);
	merge_modules(&m);
	merge_stacks(&m);
	m.first[PROF_TAB_MARK_ROWS] = into->nmark_rows;
	m.first[PROF_TAB_LOOK_ROWS] = into->nlook_rows;
	m.first[PROF_TAB_BUCKETS] = into->nbuckets;
	for (unsigned id = PROF_TAB_PROCESSES; id < PROF_TABS; id++) {
		if (id != PROF_TAB_MODULES && id != PROF_TAB_LOCS &&
		    id != PROF_TAB_NODES && id != PROF_TAB_FRAMES &&
		    id != PROF_TAB_DAMAGES)
			merge_table(&m, id);
	}
	merge_reals(&m);
	merge_meta(&m);
	for (unsigned id = 0; id < PROF_TABS; id++)
		free(m.rows[id]);
}
