/* SPDX-License-Identifier: MIT */
/* hp_files.c -- the files that heaptrack_print writes: folded stacks, a histogram of
 * sizes, and memory over time as massif writes it.
 *
 * massif's file has a snapshot for every time stamp, what is live then, and for every
 * few of them the tree of stacks that it is live from. heaptrack_print 1.4 writes trees
 * without figures, puts the head behind them and counts in seconds, which ms_print does
 * not know; here the trees are those of the moment, the head comes first, and time is in
 * milliseconds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hp.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { HP_TREE_DEPTH = 256 };

/* ---- folded stacks ---- */

static void
hp_flame_frame(struct hp *p, const struct ht_frame *f, bool always)
{
	if (f->file != 0 || always)
		buf_printf(&p->out, " (%s)", file_base(ht_text(&p->h, f->file)));
	buf_add_char(&p->out, ';');
}

static void
hp_flame_ip(struct hp *p, const struct ht_ip *ip)
{
	if (ip->frame.function != 0)
		hp_add_name(p, ht_text(&p->h, ip->frame.function));
	else
		buf_printf(&p->out, "0x%" PRIx64, ip->address);
	hp_flame_frame(p, &ip->frame, false);
	for (uint32_t i = 0; i < ip->ninlined; i++) {
		const struct ht_frame *f = &p->h.inlined.data[ip->inlined + i];

		hp_add_name(p, ht_text(&p->h, f->function));
		hp_flame_frame(p, f, true);
	}
}

void
hp_flamegraph(struct hp *p, enum hp_figure by)
{
	VEC(uint32_t) path = {0};

	for (size_t i = 0; i < p->stacks.len; i++) {
		const struct hp_alloc *a = &p->stacks.data[i];
		struct ht_trace t = ht_trace(&p->h, a->trace);

		path.len = 0;
		for (; t.ip != 0; t = ht_trace(&p->h, t.parent)) {
			vec_push(&path, t.ip);
			if (hp_is_stop(&p->h, ht_ip(&p->h, t.ip)->frame.function))
				break;
		}
		if (a->trace == 0)
			buf_add_str(&p->out, "??");
		while (path.len > 0)
			hp_flame_ip(p, ht_ip(&p->h, path.data[--path.len]));
		buf_printf(&p->out, " %" PRId64 "\n", a->v[by]);
	}
	vec_done(&path);
}

/* ---- sizes ---- */

struct hp_size {
	uint64_t bytes, count;
};

void
hp_histogram(struct hp *p)
{
	VEC(struct hp_size) sizes = {0};
	size_t to = 0;

	for (size_t i = 0; i < p->h.kinds.len; i++) {
		const struct ht_kind *k = &p->h.kinds.data[i];

		if (k->allocs > 0)
			vec_push(&sizes, (struct hp_size){k->bytes, k->allocs});
	}
	vec_sort(&sizes, vec_compare_by(struct hp_size, bytes));
	for (size_t i = 0; i < sizes.len; i++) {
		if (to > 0 && sizes.data[to - 1].bytes == sizes.data[i].bytes)
			sizes.data[to - 1].count += sizes.data[i].count;
		else
			sizes.data[to++] = sizes.data[i];
	}
	for (size_t i = 0; i < to; i++)
		buf_printf(&p->out, "%" PRIu64 "\t%" PRIu64 "\n", sizes.data[i].bytes,
			   sizes.data[i].count);
	vec_done(&sizes);
}

/* ---- massif ---- */

/* Stacks that share what was written up to here; `trace` is what is left of each. */
struct hp_left {
	uint32_t module, function, file, line; /* of its next frame: they sort by these */
	uint32_t ip, trace;
	int64_t live;
};

struct hp_lefts VEC_BODY(struct hp_left);

struct hp_branch {
	int64_t live;
	size_t first, n;
};

static int
hp_compare_left(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct hp_left, ip));
}

static int
hp_compare_branch(const void *a, const void *b)
{
	const struct hp_branch *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void
hp_next_frame(const struct ht *h, struct hp_left *x)
{
	struct ht_trace t = ht_trace(h, x->trace);
	const struct ht_ip *ip = ht_ip(h, t.ip);

	x->ip = t.ip;
	x->module = ip->module;
	x->function = ip->frame.function;
	x->file = ip->frame.file;
	x->line = ip->frame.line;
}

static void
hp_massif_label(struct buf *out, const struct ht *h, uint32_t number)
{
	const struct ht_ip *ip = ht_ip(h, number);
	const char *name = ht_text(h, ip->frame.function);

	buf_printf(out, " 0x%" PRIx64 ": %s (", ip->address,
		   *name != '\0' ? name : "???");
	if (ip->frame.file != 0)
		buf_printf(out, "%s:%u)\n", ht_text(h, ip->frame.file), ip->frame.line);
	else
		buf_printf(out, "%s)\n",
			   ip->module != 0 ? ht_text(h, ip->module) : "???");
}

static void
hp_massif_rest(struct hp_massif *m, unsigned depth, int64_t *rest, size_t *places)
{
	if (*places > 0)
		buf_printf(&m->out,
			   "%*sn0: %" PRId64
			   " in %zu places, all below massif's threshold (%g)\n",
			   (int)depth + 1, "", *rest, *places, m->threshold);
	*places = 0;
}

/* The branches of `left`, which are sorted here, largest first; those below the threshold
 * are summed up. */
static size_t
hp_massif_branches(struct hp_lefts *left, int64_t least, struct hp_branch **ret,
		   int64_t *ret_rest, size_t *ret_places)
{
	struct hp_branch *b = xcalloc(left->len + 1, sizeof *b);
	size_t n = 0, to = 0;

	vec_sort(left, hp_compare_left);
	for (size_t i = 0; i < left->len; i++) {
		if (n == 0 ||
		    hp_compare_left(&left->data[b[n - 1].first], &left->data[i]))
			b[n++] = (struct hp_branch){.first = i};
		b[n - 1].n++;
		b[n - 1].live += left->data[i].live;
	}
	for (size_t i = 0; i < n; i++) {
		if (b[i].live >= least && b[i].live > 0)
			b[to++] = b[i];
		else if (b[i].live > 0)
			*ret_rest += b[i].live, ++*ret_places;
	}
	qsort(b, to, sizeof *b, hp_compare_branch);
	*ret = b;
	return to;
}

static void
hp_massif_tree(struct hp_massif *m, const struct ht *h, struct hp_lefts *left,
	       int64_t live, int64_t least, uint32_t ip, unsigned depth)
{
	bool stop = depth > HP_TREE_DEPTH || hp_is_stop(h, ht_ip(h, ip)->frame.function);
	struct hp_branch *b = NULL;
	int64_t rest = 0;
	size_t n = 0, places = 0;

	if (!stop)
		n = hp_massif_branches(left, least, &b, &rest, &places);
	buf_printf(&m->out, "%*sn%zu: %" PRId64, (int)depth, "", n + (places > 0), live);
	if (depth == 0)
		buf_add_str(&m->out, " (heap allocation functions) malloc/new/new[], "
				     "--alloc-fns, etc.\n");
	else
		hp_massif_label(&m->out, h, ip);
	for (size_t i = 0; i < n; i++) {
		struct hp_lefts below = {0};

		if (rest > b[i].live)
			hp_massif_rest(m, depth, &rest, &places);
		for (size_t k = 0; k < b[i].n; k++) {
			struct hp_left x = left->data[b[i].first + k];

			x.trace = ht_trace(h, x.trace).parent;
			hp_next_frame(h, &x);
			if (x.ip != 0)
				vec_push(&below, x);
		}
		hp_massif_tree(m, h, &below, b[i].live, least, left->data[b[i].first].ip,
			       depth + 1);
		vec_done(&below);
	}
	hp_massif_rest(m, depth, &rest, &places);
	free(b);
}

static void
hp_massif_snapshot(struct hp_massif *m, const struct ht *h, uint64_t ms, int64_t live,
		   bool tree)
{
	struct hp_lefts left = {0};

	if (m->snapshots == 0)
		buf_printf(&m->out, "desc: heaptrack\ncmd: %s\ntime_unit: ms\n",
			   strtab_str(&h->texts, h->command));
	buf_printf(&m->out,
		   "#-----------\nsnapshot=%" PRIu64 "\n#-----------\ntime=%" PRIu64 "\n"
		   "mem_heap_B=%" PRId64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		   "heap_tree=%s\n",
		   m->snapshots++, ms, live, tree ? "detailed" : "empty");
	for (size_t i = 0; tree && i < h->rows.len; i++) {
		struct hp_left x = {.trace = h->rows.data[i].trace,
				    .live = h->rows.data[i].live_bytes};

		hp_next_frame(h, &x);
		if (x.live > 0)
			vec_push(&left, x);
	}
	if (tree)
		hp_massif_tree(m, h, &left, live,
			       (int64_t)((double)live * m->threshold * 0.01), 0, 0);
	vec_done(&left);
}

void
hp_massif_stamp(void *massif, const struct ht *h, uint64_t ms, bool last)
{
	struct hp_massif *m = massif;

	hp_massif_snapshot(m, h, ms, h->total.live_bytes,
			   m->detailed > 0 && (last || m->snapshots % m->detailed == 0));
}

void
hp_massif_points(struct hp_massif *m, const struct ht *h)
{
	for (size_t i = 0; i < h->points.len; i++)
		hp_massif_snapshot(m, h, h->points.data[i].ms,
				   h->points.data[i].live_bytes, false);
	hp_massif_snapshot(m, h, h->last_ms + 1, h->total.live_bytes, m->detailed > 0);
}
