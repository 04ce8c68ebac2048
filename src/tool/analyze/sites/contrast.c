/* SPDX-License-Identifier: MIT */
/* contrast.c -- what tells the lost blocks of a line from the freed ones; see contrast.h.
 *
 * Sites are sorted by their line and row once, so the sites of a line are a range, and
 * those of a row are one within it. Callers are tried from the inside: at each step
 * outwards the range is cut into parts by one frame more, until a cut is clear. */
#include "tool/analyze/sites/contrast.h"

#include <stdlib.h>

#include "shared/hash.h"
#include "tool/analyze/sites/value.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	CONTRAST_DEPTH = 32,	     /* frames outwards that are tried */
	CONTRAST_SITES = 100000,     /* of a line with more, nothing is said */
	CONTRAST_TRIES = 256,	     /* rows whose threads and sizes are compared */
	CONTRAST_SMALLEST_SIZE = 16, /* bytes of the first class of sizes */
};

struct contrast_part {
	uint64_t lost, freed, allocs;
	uint32_t what; /* a site, a thread, or a class of sizes */
};

struct contrast_parts VEC_BODY(struct contrast_part);

struct contrast {
	const struct prof *p;
	const struct skip *s;
	const struct sites *ss;
	uint64_t
		*line; /* for every site: the innermost own frame of its row, as a hash */
	uint32_t *order; /* sites by that, then by row */
	uint32_t norder;
	uint64_t *lost;	      /* for every site: blocks lost */
	uint32_t *row_site;   /* for every row: the site that lost most, 0 = none */
	uint32_t *blocks;     /* rows of prof.blocks, by site */
	uint32_t *blocks_end; /* for every site: where its own end */
	struct map threads;   /* (process, serial) -> thread; filled with `blocks` */
	uint32_t tried;	      /* rows whose blocks were looked through */
	struct map known;     /* line -> number in `found` + 1, of the lines asked for */
	uint32_t *row_known;  /* for every row: the same, 0 = not asked for */
	VEC(struct contrast_found) found; /* CONTRAST_NONE: nothing is clear */
};

/* Sites of one line, or of one row: order[from … to-1]. */
struct contrast_line {
	uint32_t from, to;
	uint64_t lost, freed, live;
};

static uint64_t
contrast_frame(const struct prof *p, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos);

	if (f == NULL || f->line == 0)
		return hash_pair(p->nodes[pos.node].loc, pos.inl);
	return hash_pair(hash_pair(f->function, f->file), f->line);
}

/* The innermost frame that is the program's own: every caller of strdup has a line of its
 * own. */
static struct skip_pos
contrast_first(const struct contrast *c, uint32_t node)
{
	struct skip_pos first = skip_first(c->s, node), pos = first;

	while (!skip_is_own(c->s, pos)) {
		if (!skip_next(c->s, &pos))
			return first;
	}
	return pos;
}

/* Two sites by their lines, and by their rows if asked. */
static int
contrast_order(const struct contrast *c, uint32_t a, uint32_t b, bool rows)
{
	uint32_t row_a = c->ss->row_of_site[a], row_b = c->ss->row_of_site[b];

	if (c->line[a] != c->line[b])
		return c->line[a] > c->line[b] ? 1 : -1;
	return !rows || row_a == row_b ? 0 : row_a > row_b ? 1 : -1;
}

static int
contrast_compare(const void *pa, const void *pb, void *ctx)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int order = contrast_order(ctx, a, b, true);

	return order != 0 ? order : a > b ? 1 : a < b ? -1 : 0;
}

struct contrast *
contrast_new(const struct prof *p, const struct skip *s, const struct sites *ss)
{
	struct contrast *c = xcalloc(1, sizeof *c);

	*c = (struct contrast){.p = p, .s = s, .ss = ss};
	c->line = xcalloc(p->nsites, sizeof *c->line);
	c->order = xcalloc(p->nsites, sizeof *c->order);
	c->lost = xcalloc(p->nsites, sizeof *c->lost);
	c->row_site = xcalloc(ss->nrows, sizeof *c->row_site);
	c->row_known = xcalloc(ss->nrows, sizeof *c->row_known);
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (l->kind <= PROF_LOSS_INDIRECT && l->site < p->nsites)
			c->lost[l->site] += l->blocks;
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row = ss->row_of_site[i];

		if (row == UINT32_MAX || p->sites[i].node == 0 ||
		    ss->rows[row].kept != NULL)
			continue;
		c->line[i] = contrast_frame(p, contrast_first(c, ss->rows[row].node));
		c->order[c->norder++] = i;
		if (c->lost[i] > c->lost[c->row_site[row]])
			c->row_site[row] = i;
	}
	if (c->norder > 1)
		qsort_r(c->order, c->norder, sizeof *c->order, contrast_compare, c);
	return c;
}

void
contrast_free(struct contrast *c)
{
	if (c == NULL)
		return;
	free(c->line);
	free(c->order);
	free(c->lost);
	free(c->row_site);
	free(c->row_known);
	free(c->blocks);
	free(c->blocks_end);
	map_done(&c->threads);
	map_done(&c->known);
	vec_done(&c->found);
	free(c);
}

/* The sites of the line that `site` is of, or only those of its row. */
static struct contrast_line
contrast_line_of(const struct contrast *c, uint32_t site, bool row)
{
	struct contrast_line l = {.to = c->norder};
	uint32_t end = c->norder;

	while (l.from < end) {
		uint32_t mid = l.from + (end - l.from) / 2;

		if (contrast_order(c, c->order[mid], site, row) < 0)
			l.from = mid + 1;
		else
			end = mid;
	}
	for (l.to = l.from;
	     l.to < c->norder && contrast_order(c, c->order[l.to], site, row) == 0;
	     l.to++) {
		const struct prof_site *s = &c->p->sites[c->order[l.to]];

		l.lost += c->lost[c->order[l.to]];
		l.freed += s->frees;
		l.live += s->live_blocks > 0 ? (uint64_t)s->live_blocks : 0;
	}
	return l;
}

static bool
contrast_most(uint64_t some, uint64_t all)
{
	return some * 100 >= all * CONTRAST_PERCENT;
}

static void
contrast_side_add(struct contrast_side *side, const struct contrast_part *x,
		  uint64_t blocks)
{
	side->blocks += blocks;
	side->of += x->allocs;
	side->parts++;
}

/* Is the split clear? The parts with the most of each are left in ret_what. */
static bool
contrast_is_clear(const struct contrast_line *l, const struct contrast_parts *parts,
		  struct contrast_found *f, uint32_t ret_what[2])
{
	uint64_t most[2] = {0, 0};

	f->lost = f->freed = (struct contrast_side){0};
	for (size_t i = 0; i < parts->len; i++) {
		const struct contrast_part *x = &parts->data[i];

		if (x->lost > 0 && contrast_most(x->lost, x->allocs)) {
			contrast_side_add(&f->lost, x, x->lost);
			if (x->lost > most[0]) {
				most[0] = x->lost;
				ret_what[0] = x->what;
			}
		} else if (x->freed > 0 && contrast_most(x->freed, x->allocs)) {
			contrast_side_add(&f->freed, x, x->freed);
			if (x->freed > most[1]) {
				most[1] = x->freed;
				ret_what[1] = x->what;
			}
		}
	}
	f->only = f->lost.blocks == l->lost;
	return f->lost.parts > 0 && f->lost.parts <= CONTRAST_PARTS &&
	       f->freed.parts > 0 && contrast_most(f->lost.blocks, l->lost) &&
	       contrast_most(f->freed.blocks, l->freed);
}

/* ---- callers ---- */

/* Where a site's stack has been followed to. */
struct contrast_walk {
	uint64_t path;
	struct skip_pos pos;
	bool ended;
};

/* The parts of the line by the paths walked so far. */
static void
contrast_cut(const struct contrast *c, const struct contrast_line *l,
	     const struct contrast_walk *walks, struct contrast_parts *parts)
{
	struct map seen = {0};

	parts->len = 0;
	for (uint32_t i = 0; i < l->to - l->from; i++) {
		uint32_t site = c->order[l->from + i];
		uint64_t *at = map_add(&seen, walks[i].path);
		struct contrast_part *x;

		if (*at == 0) {
			*vec_add(parts) = (struct contrast_part){.what = i};
			*at = parts->len;
		}
		x = &parts->data[*at - 1];
		x->lost += c->lost[site];
		x->freed += c->p->sites[site].frees;
		x->allocs += c->p->sites[site].allocs;
	}
	map_done(&seen);
}

static bool
contrast_by_caller(const struct contrast *c, const struct contrast_line *l,
		   struct contrast_found *f)
{
	uint32_t n = l->to - l->from, what[2] = {0, 0};
	struct contrast_walk *walks;
	struct contrast_parts parts = {0};
	bool clear = false, more = true;

	if (n < 2)
		return false;
	walks = xcalloc(n, sizeof *walks);
	for (uint32_t i = 0; i < n; i++)
		walks[i].pos = contrast_first(c, c->p->sites[c->order[l->from + i]].node);
	for (unsigned depth = 0; depth < CONTRAST_DEPTH && more && !clear; depth++) {
		more = false;
		for (uint32_t i = 0; i < n; i++) {
			struct contrast_walk *w = &walks[i];

			w->ended = w->ended || !skip_next(c->s, &w->pos);
			if (w->ended)
				continue;
			w->path = hash_pair(w->path, contrast_frame(c->p, w->pos));
			more = true;
		}
		contrast_cut(c, l, walks, &parts);
		clear = more && contrast_is_clear(l, &parts, f, what);
	}
	if (clear) {
		f->by = CONTRAST_CALLER;
		f->lost.caller = walks[what[0]].pos;
		f->freed.caller = walks[what[1]].pos;
		/* a stack that ended before the others differ has no caller to name */
		clear = !walks[what[0]].ended && !walks[what[1]].ended;
	}
	vec_done(&parts);
	free(walks);
	return clear;
}

/* ---- threads and sizes, from the blocks that are left ---- */

static void
contrast_sort_blocks(struct contrast *c)
{
	const struct prof *p = c->p;
	uint32_t *end = xcalloc(p->nsites + 1, sizeof *end);

	c->blocks = xcalloc(p->nblocks, sizeof *c->blocks);
	c->blocks_end = end;
	for (uint32_t i = 0; i < p->nblocks; i++)
		end[p->blocks[i].site < p->nsites ? p->blocks[i].site + 1 : 0]++;
	end[0] = 0; /* blocks of no site are in no range */
	for (uint32_t i = 1; i <= p->nsites; i++)
		end[i] += end[i - 1];
	for (uint32_t i = 0; i < p->nblocks; i++) {
		if (p->blocks[i].site < p->nsites)
			c->blocks[end[p->blocks[i].site]++] = i;
	}
	for (uint32_t i = 1; i < p->nthreads; i++)
		*map_add(&c->threads, value_thread_key(p->threads[i].process,
						       p->threads[i].serial)) = i;
}

/* Thread of a block as cells have it: 0 for those that have ended. */
static uint32_t
contrast_thread(const struct contrast *c, const struct prof_block *b, uint32_t *ret_name)
{
	uint64_t *t =
		map_find(&c->threads, value_thread_key(b->process, b->thread_serial));

	*ret_name = t != NULL ? c->p->threads[*t].name : 0;
	return t != NULL && !c->p->threads[*t].ended ? (uint32_t)*t : 0;
}

static unsigned
contrast_size_class(uint64_t bytes)
{
	unsigned k = 0;

	while (k + 1 < PROF_SIZE_BUCKETS && bytes > (uint64_t)CONTRAST_SMALLEST_SIZE << k)
		k++;
	return k;
}

/* The part for `what`, added when new. */
static struct contrast_part *
contrast_part(struct contrast_parts *parts, struct map *seen, uint32_t what)
{
	uint64_t *at = map_add(seen, what);

	if (*at == 0) {
		*vec_add(parts) = (struct contrast_part){.what = what};
		*at = parts->len;
	}
	return &parts->data[*at - 1];
}

/* Allocations of the row, by thread or by size. */
static void
contrast_count_allocs(const struct contrast *c, const struct contrast_line *l,
		      enum contrast_by by, struct contrast_parts *parts, struct map *seen)
{
	const struct prof *p = c->p;
	uint32_t row = c->ss->row_of_site[c->order[l->from]];

	for (uint32_t i = l->from; i < l->to && by == CONTRAST_SIZE; i++) {
		struct prof_hist h = prof_hist(p, c->order[i]);

		for (unsigned k = 0; k < PROF_SIZE_BUCKETS; k++) {
			if (h.sizes[k] > 0)
				contrast_part(parts, seen, k)->allocs += h.sizes[k];
		}
	}
	for (uint32_t i = 0; i < p->ncells && by == CONTRAST_THREAD; i++) {
		const struct prof_cell *x = &p->cells[i];

		if (x->site < p->nsites && x->allocs > 0 &&
		    c->ss->row_of_site[x->site] == row)
			contrast_part(parts, seen,
				      p->threads[x->thread].ended ? 0 : x->thread)
				->allocs += x->allocs;
	}
}

/* What of them is left, which is lost. */
static void
contrast_count_left(const struct contrast *c, const struct contrast_line *l,
		    enum contrast_by by, struct contrast_parts *parts, struct map *seen,
		    uint32_t *ret_ended)
{
	bool first = true;

	for (uint32_t i = l->from; i < l->to; i++) {
		uint32_t site = c->order[i];

		for (uint32_t k = c->blocks_end[site - 1]; k < c->blocks_end[site]; k++) {
			const struct prof_block *b = &c->p->blocks[c->blocks[k]];
			uint32_t name, what = contrast_thread(c, b, &name);

			if (by == CONTRAST_THREAD && what == 0) {
				*ret_ended = first || *ret_ended == name ? name : 0;
				first = false;
			}
			if (by == CONTRAST_SIZE)
				what = contrast_size_class(b->bytes);
			contrast_part(parts, seen, what)->lost++;
		}
	}
	for (size_t i = 0; i < parts->len; i++) {
		struct contrast_part *x = &parts->data[i];

		x->freed = x->allocs > x->lost ? x->allocs - x->lost : 0;
	}
}

/* The sizes of one side's parts; false when they are not all larger or all smaller than
 * the other's. */
static bool
contrast_sizes(const struct contrast_parts *parts, struct contrast_found *f)
{
	uint32_t low[2] = {UINT32_MAX, UINT32_MAX}, high[2] = {0, 0};
	struct contrast_side *sides[2] = {&f->lost, &f->freed};

	for (size_t i = 0; i < parts->len; i++) {
		const struct contrast_part *x = &parts->data[i];
		unsigned side = contrast_most(x->lost, x->allocs) ? 0 : 1;

		if (side == 1 && !contrast_most(x->freed, x->allocs))
			continue;
		low[side] = x->what < low[side] ? x->what : low[side];
		high[side] = x->what > high[side] ? x->what : high[side];
	}
	for (unsigned i = 0; i < 2; i++) {
		sides[i]->over_bytes =
			low[i] > 0 ? (uint64_t)CONTRAST_SMALLEST_SIZE << (low[i] - 1) : 0;
		sides[i]->max_bytes = high[i] + 1 < PROF_SIZE_BUCKETS
					      ? (uint64_t)CONTRAST_SMALLEST_SIZE
							<< high[i]
					      : UINT64_MAX;
	}
	return high[0] < low[1] || high[1] < low[0];
}

static bool
contrast_by_blocks(const struct contrast *c, const struct contrast_line *l,
		   enum contrast_by by, struct contrast_found *f)
{
	struct contrast_parts parts = {0};
	struct map seen = {0};
	uint32_t what[2] = {0, 0}, ended = 0;
	bool clear;

	contrast_count_allocs(c, l, by, &parts, &seen);
	contrast_count_left(c, l, by, &parts, &seen, &ended);
	clear = contrast_is_clear(l, &parts, f, what);
	f->by = by;
	if (clear && by == CONTRAST_SIZE)
		clear = contrast_sizes(&parts, f);
	if (by == CONTRAST_THREAD) {
		f->lost.thread = what[0];
		f->freed.thread = what[1];
		f->lost.thread_name = what[0] == 0 ? ended : c->p->threads[what[0]].name;
		f->freed.thread_name = c->p->threads[what[1]].name;
	}
	map_done(&seen);
	vec_done(&parts);
	return clear;
}

static bool
contrast_is_enough(const struct contrast_line *l)
{
	return l->lost >= CONTRAST_BLOCKS && l->freed >= CONTRAST_BLOCKS &&
	       l->to - l->from <= CONTRAST_SITES;
}

/* Callers of the line that `site` is of: they are of several rows. */
static struct contrast_found
contrast_judge_line(const struct contrast *c, uint32_t site)
{
	struct contrast_line l = contrast_line_of(c, site, false);
	struct contrast_found f = {.line = l.from};

	if (!contrast_is_enough(&l) || !contrast_by_caller(c, &l, &f))
		f.by = CONTRAST_NONE;
	return f;
}

/* Threads and sizes of the row that `site` is of. */
static struct contrast_found
contrast_judge_row(struct contrast *c, uint32_t site)
{
	struct contrast_line l = contrast_line_of(c, site, true);
	struct contrast_found f = {.line = c->norder + c->ss->row_of_site[site]};

	/* Blocks that are still reachable cannot be told from the lost ones. */
	if (contrast_is_enough(&l) && c->p->blocks_dropped == 0 &&
	    contrast_most(l.lost, l.live) && c->tried++ < CONTRAST_TRIES) {
		if (c->blocks == NULL)
			contrast_sort_blocks(c);
		if (contrast_by_blocks(c, &l, CONTRAST_THREAD, &f) ||
		    contrast_by_blocks(c, &l, CONTRAST_SIZE, &f))
			return f;
	}
	f.by = CONTRAST_NONE;
	return f;
}

bool
contrast_find(struct contrast *c, uint32_t row, struct contrast_found *ret_found)
{
	uint32_t site = c->row_site[row];
	uint64_t *known;

	if (site == 0)
		return false;
	known = map_add(&c->known, c->line[site]);
	if (*known == 0) {
		vec_push(&c->found, contrast_judge_line(c, site));
		*known = c->found.len;
	}
	*ret_found = c->found.data[*known - 1];
	if (ret_found->by != CONTRAST_NONE)
		return true;
	if (c->row_known[row] == 0) {
		vec_push(&c->found, contrast_judge_row(c, site));
		c->row_known[row] = (uint32_t)c->found.len;
	}
	*ret_found = c->found.data[c->row_known[row] - 1];
	return ret_found->by != CONTRAST_NONE;
}
