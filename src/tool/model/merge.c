/* SPDX-License-Identifier: MIT */
/* merge.c -- one profile appended to another: the processes of a run become one
 * recording.
 *
 * Every id of the source is translated. Rows that name a process are appended as they
 * are, since two processes never share one; modules, locations and nodes go through
 * the interning calls of prof.h. Nodes need one pass, because a parent always comes
 * before its children; a source that breaks this rule gets the blank row as parent. No
 * I/O, nothing of the source is changed. */
#include <string.h>

#include "prof.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

struct merge {
	struct prof *into;
	const struct prof *from;
	const bool *without; /* processes of the source that stay behind; NULL = none */
	/* row of the source -> row of the result; 0 = it stays behind */
	uint32_t *strings, *modules, *locs, *nodes, *processes, *sites, *threads;
};

/* An id of the source in the result; one that leads nowhere becomes 0. */
static uint32_t
merge_str(const struct merge *m, uint32_t id)
{
	return id < strtab_count(m->from->strings) ? m->strings[id] : 0;
}

static uint32_t
merge_process(const struct merge *m, uint32_t row)
{
	return row < m->from->nprocesses ? m->processes[row] : 0;
}

static uint32_t
merge_site(const struct merge *m, uint32_t row)
{
	return row < m->from->nsites ? m->sites[row] : 0;
}

static uint32_t
merge_thread(const struct merge *m, uint32_t row)
{
	return row < m->from->nthreads ? m->threads[row] : 0;
}

/* Whether rows of this process, or of this site's, stay behind. */
static bool
merge_drops(const struct merge *m, uint32_t process)
{
	return m->without != NULL && process < m->from->nprocesses && m->without[process];
}

static bool
merge_drops_site(const struct merge *m, uint32_t site)
{
	return m->without != NULL && site < m->from->nsites &&
	       merge_drops(m, m->from->sites[site].process);
}

static void
merge_strings(struct merge *m)
{
	uint32_t n = (uint32_t)strtab_count(m->from->strings);

	m->strings = xcalloc(n, sizeof *m->strings);
	for (uint32_t i = 1; i < n; i++)
		m->strings[i] = prof_strn(m->into, strtab_str(m->from->strings, i),
					  strtab_len(m->from->strings, i));
}

static void
merge_modules(struct merge *m)
{
	m->modules = xcalloc(m->from->nmodules, sizeof *m->modules);
	for (uint32_t i = 1; i < m->from->nmodules; i++) {
		const struct prof_module *x = &m->from->modules[i];
		uint32_t before = m->into->nmodules;
		uint32_t row = prof_module(m->into, prof_text(m->from, x->path),
					   x->build_id, x->build_id_bytes);

		if (row == before) {
			uint32_t why = merge_str(m, x->why_no_names);
			uint32_t id = merge_str(m, x->other_id);

			m->into->modules[row].why_no_names = why;
			m->into->modules[row].other_id = id;
		}
		m->modules[i] = row;
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
		struct prof_frame *f = &m->into->frames[row];

		*f = src->frames[from->frames + i];
		f->function = merge_str(m, f->function);
		f->linkage = merge_str(m, f->linkage);
		f->file = merge_str(m, f->file);
		f->source = merge_str(m, f->source);
	}
	m->into->locs[loc].frames = first;
	m->into->locs[loc].nframes = from->nframes;
}

static void
merge_stacks(struct merge *m)
{
	const struct prof *src = m->from;

	m->locs = xcalloc(src->nlocs, sizeof *m->locs);
	for (uint32_t i = 1; i < src->nlocs; i++) {
		const struct prof_loc *l = &src->locs[i];
		uint32_t module = l->module < src->nmodules ? m->modules[l->module] : 0;
		uint32_t row = prof_loc(m->into, module, l->offset,
					(enum prof_loc_kind)l->kind, l->exact != 0);

		if (m->into->locs[row].nframes == 0)
			merge_frames(m, l, row);
		m->locs[i] = row;
	}
	m->nodes = xcalloc(src->nnodes, sizeof *m->nodes);
	for (uint32_t i = 1; i < src->nnodes; i++) {
		const struct prof_node *n = &src->nodes[i];
		uint32_t parent = n->parent < i ? m->nodes[n->parent] : 0;
		uint32_t loc = n->loc < src->nlocs ? m->locs[n->loc] : 0;

		m->nodes[i] = prof_node(m->into, parent, loc);
	}
}

static void
merge_processes(struct merge *m)
{
	for (uint32_t i = 1; i < m->from->nprocesses; i++) {
		struct prof_process *x;

		if (merge_drops(m, i))
			continue;
		m->processes[i] = prof_add_process(m->into);
		x = &m->into->processes[m->processes[i]];
		*x = m->from->processes[i];
		x->exe = merge_str(m, x->exe);
		x->cmdline = merge_str(m, x->cmdline);
		x->host = merge_str(m, x->host);
		x->cwd = merge_str(m, x->cwd);
		x->allocator = merge_str(m, x->allocator);
		x->not_recorded = merge_str(m, x->not_recorded);
		x->coverage = merge_str(m, x->coverage);
		x->replaced_by = merge_str(m, x->replaced_by);
	}
	for (uint32_t i = 1; i < m->from->nthreads; i++) {
		struct prof_thread *x;

		if (merge_drops(m, m->from->threads[i].process))
			continue;
		m->threads[i] = prof_add_thread(m->into);
		x = &m->into->threads[m->threads[i]];
		*x = m->from->threads[i];
		x->process = merge_process(m, x->process);
		x->name = merge_str(m, x->name);
	}
	for (uint32_t i = 0; i < m->from->nranges; i++) {
		uint32_t row;
		struct prof_range *x;

		if (merge_drops(m, m->from->ranges[i].process))
			continue;
		row = prof_add_range(m->into);
		x = &m->into->ranges[row];
		*x = m->from->ranges[i];
		x->process = merge_process(m, x->process);
		x->module = x->module < m->from->nmodules ? m->modules[x->module] : 0;
	}
	for (uint32_t i = 0; i < m->from->npoints; i++) {
		uint32_t row;

		if (merge_drops(m, m->from->points[i].process))
			continue;
		row = prof_add_point(m->into);
		m->into->points[row] = m->from->points[i];
		m->into->points[row].process =
			merge_process(m, m->from->points[i].process);
	}
}

static void
merge_sites(struct merge *m)
{
	const struct prof *src = m->from;

	for (uint32_t i = 1; i < src->nsites; i++) {
		struct prof_site *x;

		if (merge_drops_site(m, i))
			continue;
		m->sites[i] = prof_add_site(m->into);
		x = &m->into->sites[m->sites[i]];
		*x = src->sites[i];
		x->process = merge_process(m, x->process);
		x->node = x->node < src->nnodes ? m->nodes[x->node] : 0;
	}
	for (uint32_t i = 0; i < src->ncells; i++) {
		uint32_t row;
		struct prof_cell *x;

		if (merge_drops_site(m, src->cells[i].site))
			continue;
		row = prof_add_cell(m->into);
		x = &m->into->cells[row];
		*x = src->cells[i];
		x->site = merge_site(m, x->site);
		x->thread = merge_thread(m, x->thread);
	}
	for (uint32_t i = 0; i < src->nblocks; i++) {
		uint32_t row;
		struct prof_block *x;

		if (merge_drops(m, src->blocks[i].process))
			continue;
		row = prof_add_block(m->into);
		x = &m->into->blocks[row];
		*x = src->blocks[i];
		x->site = merge_site(m, x->site);
		x->process = merge_process(m, x->process);
	}
}

/* Sites that had no unrounded figures get their rounded ones. Profiles with such figures are merged
 * with all their processes. */
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

static void
merge_labels(struct merge *m)
{
	for (uint32_t i = 0; i < m->from->nlabels; i++) {
		uint32_t row;
		struct prof_label *x;

		if (merge_drops_site(m, m->from->labels[i].site))
			continue;
		row = prof_add_label(m->into);
		x = &m->into->labels[row];
		*x = m->from->labels[i];
		x->site = merge_site(m, x->site);
		x->key = merge_str(m, x->key);
		x->text = merge_str(m, x->text);
		x->unit = merge_str(m, x->unit);
	}
}

static void
merge_marks(struct merge *m)
{
	uint32_t first = m->into->nmark_rows;

	for (uint32_t i = 0; i < m->from->nmark_rows; i++) {
		uint32_t row = prof_add_mark_row(m->into);

		m->into->mark_rows[row] = m->from->mark_rows[i];
		m->into->mark_rows[row].site = merge_site(m, m->from->mark_rows[i].site);
	}
	for (uint32_t i = 0; i < m->from->nmarks; i++) {
		uint32_t row;
		struct prof_mark *x;

		if (merge_drops(m, m->from->marks[i].process))
			continue;
		row = prof_add_mark(m->into);
		x = &m->into->marks[row];
		*x = m->from->marks[i];
		x->process = merge_process(m, x->process);
		x->name = merge_str(m, x->name);
		x->rows += first;
	}
}

static void
merge_looks(struct merge *m)
{
	uint32_t first = m->into->nlook_rows;

	for (uint32_t i = 0; i < m->from->nlook_rows; i++) {
		uint32_t row = prof_add_look_row(m->into);

		m->into->look_rows[row] = m->from->look_rows[i];
		m->into->look_rows[row].site = merge_site(m, m->from->look_rows[i].site);
	}
	for (uint32_t i = 0; i < m->from->nlooks; i++) {
		uint32_t row;
		struct prof_look *x;

		if (merge_drops(m, m->from->looks[i].process))
			continue;
		row = prof_add_look(m->into);
		x = &m->into->looks[row];
		*x = m->from->looks[i];
		x->process = merge_process(m, x->process);
		x->rows += first;
	}
}

static void
merge_checks(struct merge *m)
{
	for (uint32_t i = 0; i < m->from->nchecks; i++) {
		uint32_t row;
		struct prof_check *x;

		if (merge_drops(m, m->from->checks[i].process))
			continue;
		row = prof_add_check(m->into);
		x = &m->into->checks[row];
		*x = m->from->checks[i];
		x->process = merge_process(m, x->process);
		x->why = merge_str(m, x->why);
	}
	for (uint32_t i = 0; i < m->from->nlosses; i++) {
		uint32_t row;

		if (merge_drops_site(m, m->from->losses[i].site))
			continue;
		row = prof_add_loss(m->into);
		m->into->losses[row] = m->from->losses[i];
		m->into->losses[row].site = merge_site(m, m->from->losses[i].site);
		m->into->losses[row].called = merge_str(m, m->from->losses[i].called);
	}
}

static void
merge_olds(struct merge *m)
{
	for (uint32_t i = 0; i < m->from->nolds; i++) {
		uint32_t row;

		if (merge_drops(m, m->from->olds[i].process))
			continue;
		row = prof_add_old(m->into);
		m->into->olds[row] = m->from->olds[i];
		m->into->olds[row].process = merge_process(m, m->from->olds[i].process);
	}
}

static void
merge_memories(struct merge *m)
{
	for (uint32_t i = 0; i < m->from->nholders; i++) {
		uint32_t row;
		struct prof_holder *x;

		if (merge_drops_site(m, m->from->holders[i].site))
			continue;
		row = prof_add_holder(m->into);
		x = &m->into->holders[row];
		*x = m->from->holders[i];
		x->site = merge_site(m, x->site);
		x->name = merge_str(m, x->name);
	}
	for (uint32_t i = 0; i < m->from->nmemories; i++) {
		uint32_t row;
		struct prof_memory *x;

		if (merge_drops(m, m->from->memories[i].process))
			continue;
		row = prof_add_memory(m->into);
		x = &m->into->memories[row];
		*x = m->from->memories[i];
		x->process = merge_process(m, x->process);
		x->kind = merge_str(m, x->kind);
		x->remedy = merge_str(m, x->remedy);
	}
}

static uint32_t
merge_node(const struct merge *m, uint32_t row)
{
	return row < m->from->nnodes ? m->nodes[row] : 0;
}

static void
merge_errors(struct merge *m)
{
	for (uint32_t i = 0; i < m->from->nerrors; i++) {
		uint32_t row;
		struct prof_error *x;

		if (merge_drops(m, m->from->errors[i].process))
			continue;
		row = prof_add_error(m->into);
		x = &m->into->errors[row];
		*x = m->from->errors[i];
		x->process = merge_process(m, x->process);
		x->at = merge_node(m, x->at);
		x->alloc = merge_node(m, x->alloc);
		x->freed = merge_node(m, x->freed);
		x->where_module = x->where_module < m->from->nmodules
					  ? m->modules[x->where_module]
					  : 0;
		x->symbol = merge_str(m, x->symbol);
	}
}

void
prof_merge(struct prof *into, const struct prof *from)
{
	prof_merge_without(into, from, NULL);
}

void
prof_merge_without(struct prof *into, const struct prof *from, const bool *without)
{
	struct merge m = {.into = into, .from = from, .without = without};

	m.processes = xcalloc(from->nprocesses, sizeof *m.processes);
	m.sites = xcalloc(from->nsites, sizeof *m.sites);
	m.threads = xcalloc(from->nthreads, sizeof *m.threads);

	/* Nothing but names that were all resolved may be called so. */
	into->has_names = from->has_names && (into->has_names || into->nprocesses == 1);
	merge_strings(&m);
	merge_modules(&m);
	merge_stacks(&m);
	merge_processes(&m);
	merge_sites(&m);
	merge_reals(&m);
	merge_labels(&m);
	merge_marks(&m);
	merge_looks(&m);
	merge_checks(&m);
	merge_olds(&m);
	merge_memories(&m);
	merge_errors(&m);
	into->columns &= from->columns;
	if (into->format == 0)
		into->format = merge_str(&m, from->format);
	if (into->comments == 0)
		into->comments = merge_str(&m, from->comments);
	if (into->drop_frames == 0 && into->keep_frames == 0) {
		into->drop_frames = merge_str(&m, from->drop_frames);
		into->keep_frames = merge_str(&m, from->keep_frames);
	}
	if (into->default_type == 0)
		into->default_type = merge_str(&m, from->default_type);
	if (into->time_ns == 0 || (from->time_ns != 0 && from->time_ns < into->time_ns))
		into->time_ns = from->time_ns;
	for (uint32_t i = 0; i < from->ndamages; i++)
		prof_add_damage(into, prof_text(from, from->damages[i].what),
				from->damages[i].count);
	into->blocks_dropped += from->blocks_dropped;
	free(m.strings);
	free(m.modules);
	free(m.locs);
	free(m.nodes);
	free(m.processes);
	free(m.sites);
	free(m.threads);
}
