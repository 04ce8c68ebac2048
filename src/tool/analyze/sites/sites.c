/* SPDX-License-Identifier: MIT */
/* sites.c -- groups the stacks of a profile into places.
 *
 * Each frame gets a number: frames that read the same (function, file, line) share one,
 * frames without a line have one for themselves. A place is then a number too, made by
 * taking frame after frame from the inside: (place so far, frame) is looked up in a hash
 * table. So no stack is ever compared with another. For whole stacks the same is done
 * from the outside, once for each node of the tree, which stays linear however deep
 * stacks are. */
#include "tool/analyze/sites/sites.h"

#include <stdlib.h>

#include "shared/hash.h"
#include "tool/analyze/sites/choose.h"
#include "tool/util/map.h"

const char *const sites_by_names[SITES_BY_MAX] = {
	[SITES_LIVE] = "live",		 [SITES_PEAK] = "peak",
	[SITES_COUNT] = "count",	 [SITES_ALLOCATED] = "allocated",
	[SITES_TEMPORARY] = "temporary", [SITES_LOST] = "lost",
};

struct sites_work {
	const struct prof *p;
	const struct skip *s;
	const struct sites_query *q;
	uint32_t *spots;     /* number of each row of prof.frames */
	uint32_t *loc_spots; /* and of each location without names */
	uint32_t *node_keys; /* whole stacks: number of each node */
	struct map keys;     /* (key so far, spot) -> key */
	uint32_t nkeys;
	int64_t *mark_bytes, *mark_blocks; /* by site, when a mark is asked for */
};

/* Number of the pair, new ones counted up in *n. */
static uint32_t
sites_intern(struct map *m, uint32_t a, uint32_t b, uint32_t *n)
{
	uint64_t *id = map_add(m, (uint64_t)a << 32 | b);

	if (*id == 0)
		*id = ++*n;
	return (uint32_t)*id;
}

static void
sites_number_frames(struct sites_work *w)
{
	const struct prof *p = w->p;
	struct map files = {0}, lines = {0};
	uint32_t nfiles = 0, n = 0;

	w->spots = xcalloc(p->nframes, sizeof *w->spots);
	w->loc_spots = xcalloc(p->nlocs, sizeof *w->loc_spots);
	for (uint32_t i = 0; i < p->nframes; i++) {
		const struct prof_frame *f = &p->frames[i];

		if (f->line == 0)
			continue;
		w->spots[i] = sites_intern(
			&lines, sites_intern(&files, f->function, f->file, &nfiles),
			f->line, &n);
	}
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (w->spots[i] == 0)
			w->spots[i] = ++n;
	}
	for (uint32_t i = 0; i < p->nlocs; i++)
		w->loc_spots[i] = ++n;
	map_done(&files);
	map_done(&lines);
}

static uint32_t
sites_spot(const struct sites_work *w, uint32_t loc, uint32_t inl)
{
	const struct prof_loc *l = &w->p->locs[loc];

	return inl < l->nframes ? w->spots[l->frames + inl] : w->loc_spots[loc];
}

/* Key of the frames of one location from its outermost to `inl`, on top of `key`. */
static uint32_t
sites_key_loc(struct sites_work *w, uint32_t key, uint32_t loc, uint32_t inl)
{
	uint32_t n = w->p->locs[loc].nframes;

	if (n == 0)
		return sites_intern(&w->keys, key, sites_spot(w, loc, 0), &w->nkeys);
	for (uint32_t i = n; i-- > inl;)
		key = sites_intern(&w->keys, key, sites_spot(w, loc, i), &w->nkeys);
	return key;
}

static void
sites_number_nodes(struct sites_work *w)
{
	const struct prof *p = w->p;

	w->node_keys = xcalloc(p->nnodes, sizeof *w->node_keys);
	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = p->nodes[i].parent;

		/* Parents are added before their children. */
		w->node_keys[i] = sites_key_loc(w, parent < i ? w->node_keys[parent] : 0,
						p->nodes[i].loc, 0);
	}
}

/* Key of the place of the stack at `node`: a number, or a hash where frames are
 * limited. */
static uint64_t
sites_key(struct sites_work *w, uint32_t node)
{
	struct skip_pos pos = skip_first(w->s, node);
	const struct prof_node *n = &w->p->nodes[pos.node];
	uint64_t key = 0;

	if (node == 0)
		return 0;
	if (w->q->depth == 0)
		return sites_key_loc(w, w->node_keys[n->parent], n->loc, pos.inl);
	for (unsigned i = 0; i < w->q->depth; i++) {
		key = hash_pair(key, sites_spot(w, w->p->nodes[pos.node].loc, pos.inl));
		if (!skip_next(w->s, &pos))
			break;
	}
	return key;
}

double
sites_blocks_variance(int64_t blocks, int64_t bytes, double var_bytes)
{
	double share = bytes > 0 ? (double)blocks / (double)bytes : 0;

	return share * share * var_bytes;
}

static void
sites_total_add(struct sites_total *t, const struct sites_work *w, uint32_t i)
{
	const struct prof_site *s = &w->p->sites[i];
	int64_t bytes = s->live_bytes, blocks = s->live_blocks;
	double var = s->var_live_bytes;

	if (w->q->point.at == SITES_AT_PEAK) {
		bytes = s->at_peak_bytes;
		blocks = s->at_peak_blocks;
	} else if (w->q->point.at == SITES_AT_EXIT) {
		bytes = s->at_exit_bytes;
		blocks = s->at_exit_blocks;
	} else if (w->q->point.at == SITES_AT_MARK) {
		bytes = w->mark_bytes[i];
		blocks = w->mark_blocks[i];
	}
	if (w->q->point.at != SITES_AT_END)
		var = s->alloc_bytes > 0 && bytes > 0
			      ? s->var_alloc_bytes * (double)bytes /
					(double)s->alloc_bytes
			      : 0;
	t->allocs += s->allocs;
	t->frees += s->frees;
	t->alloc_bytes += s->alloc_bytes;
	t->free_bytes += s->free_bytes;
	t->temps += s->temps;
	t->temp_bytes += s->temp_bytes;
	t->live_bytes += bytes;
	t->live_blocks += blocks;
	t->at_peak_bytes += s->at_peak_bytes;
	t->at_peak_blocks += s->at_peak_blocks;
	t->at_exit_bytes += s->at_exit_bytes;
	t->at_exit_blocks += s->at_exit_blocks;
	t->samples += s->samples;
	t->live_samples += s->live_samples;
	t->var_alloc_bytes += s->var_alloc_bytes;
	t->var_live_bytes += var;
	t->var_allocs += sites_blocks_variance(
		(int64_t)s->allocs, (int64_t)s->alloc_bytes, s->var_alloc_bytes);
	t->var_live_blocks += sites_blocks_variance(blocks, bytes, var);
}

void
sites_total_join(struct sites_total *t, const struct sites_total *from)
{
	t->allocs += from->allocs;
	t->frees += from->frees;
	t->alloc_bytes += from->alloc_bytes;
	t->free_bytes += from->free_bytes;
	t->temps += from->temps;
	t->temp_bytes += from->temp_bytes;
	t->live_bytes += from->live_bytes;
	t->live_blocks += from->live_blocks;
	t->at_peak_bytes += from->at_peak_bytes;
	t->at_peak_blocks += from->at_peak_blocks;
	t->at_exit_bytes += from->at_exit_bytes;
	t->at_exit_blocks += from->at_exit_blocks;
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		t->loss_bytes[i] += from->loss_bytes[i];
		t->loss_blocks[i] += from->loss_blocks[i];
	}
	t->managed_bytes += from->managed_bytes;
	t->managed_blocks += from->managed_blocks;
	t->lost_bytes += from->lost_bytes;
	t->lost_blocks += from->lost_blocks;
	t->through_bytes += from->through_bytes;
	t->samples += from->samples;
	t->live_samples += from->live_samples;
	t->var_alloc_bytes += from->var_alloc_bytes;
	t->var_live_bytes += from->var_live_bytes;
	t->var_allocs += from->var_allocs;
	t->var_live_blocks += from->var_live_blocks;
}

int64_t
sites_value(const struct sites_total *t, enum sites_by by)
{
	switch (by) {
	case SITES_PEAK:
		return t->at_peak_bytes;
	case SITES_COUNT:
		return (int64_t)t->allocs;
	case SITES_ALLOCATED:
		return (int64_t)t->alloc_bytes;
	case SITES_TEMPORARY:
		return (int64_t)t->temps;
	case SITES_LOST:
		return t->lost_bytes + t->through_bytes;
	default:
		return t->live_bytes;
	}
}

int64_t
sites_beside(const struct sites_total *t, enum sites_by by)
{
	switch (by) {
	case SITES_PEAK:
		return t->at_peak_blocks;
	case SITES_COUNT:
		return (int64_t)t->alloc_bytes;
	case SITES_ALLOCATED:
		return (int64_t)t->allocs;
	case SITES_TEMPORARY:
		return (int64_t)t->temp_bytes;
	case SITES_LOST:
		return t->lost_blocks;
	default:
		return t->live_blocks;
	}
}

bool
sites_in_bytes(enum sites_by by)
{
	return by != SITES_COUNT && by != SITES_TEMPORARY;
}

double
sites_count_variance(const struct sites_total *t, uint64_t n)
{
	return t->allocs > 0 ? t->var_allocs * (double)n / (double)t->allocs : 0;
}

double
sites_variance(const struct sites_total *t, enum sites_by by)
{
	double x = (double)sites_value(t, by);

	if (t->samples == 0 || x <= 0)
		return 0;
	switch (by) {
	case SITES_LOST:
		return 0; /* only ever known exactly */
	case SITES_LIVE:
		return t->var_live_bytes;
	case SITES_ALLOCATED:
		return t->var_alloc_bytes;
	case SITES_PEAK:
		return t->alloc_bytes > 0
			       ? t->var_alloc_bytes * x / (double)t->alloc_bytes
			       : 0;
	default:
		return sites_count_variance(t, (uint64_t)x);
	}
}

struct sites_order {
	const struct sites_row *rows;
	enum sites_by by;
};

/* Ranked figure, then what can decide between equals, so that order never depends on
 * hashing. */
static int
sites_compare(const void *pa, const void *pb, void *ctx)
{
	const struct sites_order *o = ctx;
	const struct sites_row *a = &o->rows[*(const uint32_t *)pa];
	const struct sites_row *b = &o->rows[*(const uint32_t *)pb];
	int64_t x = sites_value(&a->t, o->by), y = sites_value(&b->t, o->by);

	if ((a->kept != NULL) != (b->kept != NULL))
		return a->kept != NULL ? 1 : -1;
	if (x != y)
		return x > y ? -1 : 1;
	x = sites_beside(&a->t, o->by);
	y = sites_beside(&b->t, o->by);
	if (x != y)
		return x > y ? -1 : 1;
	if (a->t.alloc_bytes != b->t.alloc_bytes)
		return a->t.alloc_bytes > b->t.alloc_bytes ? -1 : 1;
	return a->node > b->node ? 1 : a->node < b->node ? -1 : 0;
}

void
sites_rank(struct sites *ss, const struct prof *p, enum sites_by by)
{
	struct sites_order o = {.rows = ss->rows, .by = by};
	uint32_t *order = xcalloc(ss->nrows, sizeof *order);
	uint32_t *where = xcalloc(ss->nrows, sizeof *where);
	struct sites_row *rows = xcalloc(ss->nrows, sizeof *rows);

	for (uint32_t i = 0; i < ss->nrows; i++)
		order[i] = i;
	if (ss->nrows > 1)
		qsort_r(order, ss->nrows, sizeof *order, sites_compare, &o);
	for (uint32_t i = 0; i < ss->nrows; i++) {
		rows[i] = ss->rows[order[i]];
		where[order[i]] = i;
	}
	for (uint32_t i = 0; i < p->nsites; i++) {
		if (ss->row_of_site[i] != UINT32_MAX)
			ss->row_of_site[i] = where[ss->row_of_site[i]];
	}
	free(ss->rows);
	ss->rows = rows;
	free(order);
	free(where);
}

struct sites_rows VEC_BODY(struct sites_row);

/* Of each row: what was seen first, and the bytes allocated by the stack it shows. */
struct sites_origin {
	uint32_t node, process;
	uint64_t heaviest;
};

/* What is only needed while rows are made. */
struct sites_seen {
	struct map rows;      /* key of the place -> row + 1 */
	struct map nodes;     /* (row, node) seen, besides the first of each row */
	struct map processes; /* (row, process) seen, likewise */
	VEC(struct sites_origin) of_row;
};

/* First time this pair is seen? */
static bool
sites_first(struct map *m, uint32_t row, uint32_t of)
{
	uint64_t *seen = map_add(m, (uint64_t)row << 32 | of);

	return (*seen)++ == 0;
}

static void
sites_add(struct sites *ss, struct sites_rows *rows, struct sites_seen *seen,
	  struct sites_work *w, uint32_t i)
{
	const struct prof_site *s = &w->p->sites[i];
	const char *kept = skip_kept_by_libc(w->s, s);
	uint64_t key = sites_key(w, s->node);
	uint32_t at;
	struct sites_row *r;
	uint64_t *n;

	if (kept != NULL) /* never in one row with what is the program's own */
		key = hash_pair(key, UINT32_MAX);
	n = map_add(&seen->rows, key);
	if (*n == 0) {
		*vec_add(rows) = (struct sites_row){.process = s->process,
						    .kept = kept,
						    .first_ms = s->first_ms,
						    .stacks = 1,
						    .processes = 1};
		*n = rows->len;
		vec_push(&seen->of_row, (struct sites_origin){s->node, s->process, 0});
	}
	at = (uint32_t)*n - 1;
	r = &rows->data[at];
	ss->row_of_site[i] = at;
	if (s->node != seen->of_row.data[at].node &&
	    sites_first(&seen->nodes, at, s->node))
		r->stacks++;
	if (s->process != seen->of_row.data[at].process &&
	    sites_first(&seen->processes, at, s->process))
		r->processes++;
	if (r->node == 0 || s->alloc_bytes > seen->of_row.data[at].heaviest) {
		r->node = s->node;
		seen->of_row.data[at].heaviest = s->alloc_bytes;
	}
	if (s->first_ms < r->first_ms)
		r->first_ms = s->first_ms;
	r->peak_bytes += s->peak_bytes;
	sites_total_add(&r->t, w, i);
	sites_total_add(&ss->total, w, i);
}

/* `listed`: also what is not judged. */
static void
sites_add_loss(struct sites_total *t, const struct prof_loss *l, unsigned kinds,
	       bool managed, bool listed)
{
	if (managed) {
		t->managed_bytes += (int64_t)l->bytes;
		t->managed_blocks += (int64_t)l->blocks;
	} else if (l->known) {
		t->known_bytes += (int64_t)l->bytes;
		t->known_blocks += (int64_t)l->blocks;
	} else {
		t->loss_bytes[l->kind] += (int64_t)l->bytes;
		t->loss_blocks[l->kind] += (int64_t)l->blocks;
	}
	if (managed && !listed)
		return;
	if ((kinds & 1u << l->kind) == 0)
		return;
	t->lost_bytes += (int64_t)l->bytes;
	t->lost_blocks += (int64_t)l->blocks;
	/* Never counted twice: not where indirect losses are rows. */
	if (l->kind == PROF_LOSS_DEFINITE && (kinds & 1u << PROF_LOSS_INDIRECT) == 0)
		t->through_bytes += (int64_t)l->indirect_bytes;
}

unsigned
sites_root_kinds(const struct prof *p)
{
	for (uint32_t i = 0; i < p->nlosses; i++) {
		if (p->losses[i].kind == PROF_LOSS_DEFINITE && p->losses[i].blocks > 0)
			return SITES_LOSS_KINDS & ~(1u << PROF_LOSS_INDIRECT);
	}
	return SITES_LOSS_KINDS;
}

static void
sites_add_losses(struct sites *ss, const struct prof *p, const struct skip *s,
		 unsigned kinds)
{
	bool listed = kinds != 0;

	if (kinds == 0)
		kinds = sites_root_kinds(p);
	ss->managed = managed_losses(p, s);
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];
		uint32_t row =
			l->site < p->nsites ? ss->row_of_site[l->site] : UINT32_MAX;

		if (row == UINT32_MAX || l->kind >= PROF_LOSS_KINDS)
			continue;
		sites_add_loss(&ss->rows[row].t, l, kinds, ss->managed[i] != NULL,
			       listed);
		sites_add_loss(&ss->total, l, kinds, ss->managed[i] != NULL, listed);
	}
}

void
sites_init(struct sites *ret_sites, const struct prof *p, const struct skip *s,
	   const struct sites_query *q)
{
	struct sites_work w = {.p = p, .s = s, .q = q};
	struct sites_seen seen = {0};
	struct sites_rows rows = {0};
	struct sites ss = {0};

	sites_number_frames(&w);
	if (q->depth == 0)
		sites_number_nodes(&w);
	if (q->point.at == SITES_AT_MARK)
		choose_mark_figures(w.p, w.q->point.mark, &w.mark_bytes, &w.mark_blocks);
	ss.row_of_site = xcalloc(p->nsites, sizeof *ss.row_of_site);
	map_reserve(&seen.rows, p->nsites);
	for (uint32_t i = 0; i < p->nsites; i++) {
		if (i == 0 || (q->chosen != NULL && !q->chosen[p->sites[i].process]))
			ss.row_of_site[i] = UINT32_MAX;
		else
			sites_add(&ss, &rows, &seen, &w, i);
	}
	ss.rows = rows.data;
	ss.nrows = (uint32_t)rows.len;
	sites_add_losses(&ss, p, s, q->loss_kinds);
	sites_rank(&ss, p, q->by);
	map_done(&seen.rows);
	map_done(&seen.nodes);
	map_done(&seen.processes);
	vec_done(&seen.of_row);
	map_done(&w.keys);
	free(w.spots);
	free(w.loc_spots);
	free(w.node_keys);
	free(w.mark_bytes);
	free(w.mark_blocks);
	*ret_sites = ss;
}

void
sites_done(struct sites *s)
{
	free(s->rows);
	free(s->row_of_site);
	free(s->managed);
	*s = (struct sites){0};
}
