/* SPDX-License-Identifier: MIT */
/* flame_tree.c -- boxes of a flame graph, downwards and upwards.
 *
 * Both ways make a flat list in which parents come before their children, and one
 * function puts that into the order in which it is drawn. No recursion: stacks are as
 * deep as they like. */
#include "tool/render/flame/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	MAX_BOXES = 60000, /* what a browser draws and searches without being felt */
	MAX_DEPTH = 2048,
};

struct flame_boxes VEC_BODY(struct flame_box);

static double
above_zero(double x)
{
	return x > 0 ? x : 0;
}

static void
self_widths(const struct graph_node *n, double ret[FLAME_WIDTHS])
{
	double now = above_zero(n->self), was = above_zero(n->was_self);

	ret[FLAME_BY_MAX] = now > was ? now : was;
	ret[FLAME_BY_NOW] = now;
	ret[FLAME_BY_WAS] = was;
}

static bool
is_wide(const double w[FLAME_WIDTHS], const double all[FLAME_WIDTHS], double share)
{
	share *= 1 - 1e-9; /* what is exactly as wide as it must be stays */
	for (int i = 0; i < FLAME_WIDTHS; i++) {
		if (w[i] > 0 && w[i] >= all[i] * share)
			return true;
	}
	return false;
}

/* ---- order ---- */

struct flame_sort {
	const struct graph *g;
	const struct flame_box *boxes;
	bool by_name;
};

static int
compare_boxes(const void *a, const void *b, void *ctx)
{
	const struct flame_sort *s = ctx;
	const struct flame_box *x = &s->boxes[*(const uint32_t *)a];
	const struct flame_box *y = &s->boxes[*(const uint32_t *)b];
	const struct graph_entry *ex = &s->g->entries[x->entry];
	const struct graph_entry *ey = &s->g->entries[y->entry];
	int c;

	if (!s->by_name && x->width[0] != y->width[0])
		return x->width[0] > y->width[0] ? -1 : 1;
	c = strcmp(graph_text(s->g, ex->function), graph_text(s->g, ey->function));
	if (c == 0)
		c = strcmp(graph_text(s->g, ex->file), graph_text(s->g, ey->file));
	return c != 0 ? c : (x->entry > y->entry) - (x->entry < y->entry);
}

/* `raw` has parents before children; makes t->boxes of it. */
static void
order_boxes(struct flame_tree *t, const struct flame_boxes *raw, struct flame_sort *s)
{
	uint32_t n = (uint32_t)raw->len, top = 0;
	uint32_t *first =
		xcalloc(n + 1, sizeof *first); /* children in `kids`, from here */
	uint32_t *kids = xcalloc(n, sizeof *kids);
	uint32_t *stack = xcalloc(n, sizeof *stack);
	uint32_t *new_at = xcalloc(n, sizeof *new_at);

	for (uint32_t i = 1; i < n; i++)
		first[raw->data[i].parent + 1]++;
	for (uint32_t i = 0; i < n; i++)
		first[i + 1] += first[i];
	memcpy(stack, first, n * sizeof *stack);
	for (uint32_t i = 1; i < n; i++)
		kids[stack[raw->data[i].parent]++] = i;

	t->boxes = xcalloc(n, sizeof *t->boxes);
	s->boxes = raw->data;
	stack[top++] = 0;
	while (top > 0) {
		uint32_t i = stack[--top], at = t->nboxes++;
		struct flame_box *b = &t->boxes[at];

		*b = raw->data[i];
		b->parent = at == 0 ? 0 : new_at[b->parent];
		b->depth = at == 0 ? 0 : t->boxes[b->parent].depth + 1;
		if (b->depth > t->depth)
			t->depth = b->depth;
		new_at[i] = at;
		qsort_r(kids + first[i], first[i + 1] - first[i], sizeof *kids,
			compare_boxes, s);
		for (uint32_t k = first[i + 1]; k > first[i]; k--)
			stack[top++] = kids[k - 1];
	}
	free(first);
	free(kids);
	free(stack);
	free(new_at);
}

/* ---- downwards ---- */

static double (*node_widths(const struct graph *g))[FLAME_WIDTHS]
{
	double(*w)[FLAME_WIDTHS] = xcalloc(g->nnodes + 1, sizeof *w);

	for (uint32_t i = 0; i < g->nnodes; i++)
		self_widths(&g->nodes[i], w[i]);
	for (uint32_t i = g->nnodes; i-- > 1;) {
		for (int k = 0; k < FLAME_WIDTHS; k++)
			w[g->nodes[i].parent][k] += w[i][k];
	}
	return w;
}

static void
box_init(struct flame_box *b, const struct graph_node *n, const double *w)
{
	*b = (struct flame_box){.entry = n->entry,
				.self = n->self,
				.total = n->total,
				.was_self = n->was_self,
				.was_total = n->was_total};
	memcpy(b->width, w, sizeof b->width);
}

/* Boxes of the nodes that are wide enough, in `raw`; how many were not. */
static uint64_t
keep_wide(const struct graph *g, double (*w)[FLAME_WIDTHS], double share,
	  struct flame_boxes *raw)
{
	uint32_t *box = xcalloc(g->nnodes + 1, sizeof *box); /* + 1, 0 = left out */
	uint32_t *depth = xcalloc(g->nnodes + 1, sizeof *depth);
	uint64_t left_out = 0;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		uint32_t parent = g->nodes[i].parent;

		depth[i] = i == 0 ? 0 : depth[parent] + 1;
		if (i > 0 && (box[parent] == 0 || depth[i] > MAX_DEPTH ||
			      !is_wide(w[i], w[0], share))) {
			left_out += w[i][0] > 0;
			continue;
		}
		box_init(vec_add(raw), &g->nodes[i], w[i]);
		box[i] = (uint32_t)raw->len;
		vec_last(raw)->parent = i == 0 ? 0 : box[parent] - 1;
		if (raw->len > MAX_BOXES)
			break;
	}
	free(box);
	free(depth);
	return left_out;
}

void
flame_tree_down(struct flame_tree *ret_tree, const struct graph *g, double share,
		bool by_name)
{
	struct flame_sort sort = {.g = g, .by_name = by_name};
	double(*w)[FLAME_WIDTHS] = node_widths(g);
	struct flame_tree t = {0};
	struct flame_boxes raw = {0};

	for (;;) {
		t.left_out = keep_wide(g, w, share, &raw);
		if (raw.len <= MAX_BOXES)
			break;
		raw.len = 0;
		share *= 1.5;
	}
	if (raw.len == 0)
		vec_add(&raw);
	t.least_share = share;
	order_boxes(&t, &raw, &sort);
	vec_done(&raw);
	free(w);
	*ret_tree = t;
}

/* ---- upwards ---- */

/* A stack on its way out: `self` is the node whose figures it has. */
struct up_item {
	uint32_t self, at, box;
};

struct up_items VEC_BODY(struct up_item);

static void
up_add(struct flame_box *b, const struct graph_node *n, bool ends)
{
	double w[FLAME_WIDTHS];

	self_widths(n, w);
	for (int k = 0; k < FLAME_WIDTHS; k++)
		b->width[k] += w[k];
	b->total += n->self;
	b->was_total += n->was_self;
	if (ends) {
		b->self += n->self;
		b->was_self += n->was_self;
	}
}

/* Every item goes one frame further out, into the box of that frame; those that are in
 * the outermost stay behind. */
static void
up_step(const struct graph *g, struct up_items *items, struct flame_boxes *raw)
{
	struct map boxes = {0};
	size_t kept = 0;

	for (size_t i = 0; i < items->len; i++) {
		struct up_item it = items->data[i];
		const struct graph_node *n = &g->nodes[it.at];
		uint64_t *at;

		if (it.at == 0)
			continue;
		at = map_add(&boxes, (uint64_t)it.box << 32 | n->entry);
		if (*at == 0) {
			struct flame_box *b = vec_add(raw);

			b->entry = n->entry;
			b->parent = it.box;
			*at = raw->len - 1;
		}
		up_add(&raw->data[*at], &g->nodes[it.self], n->parent == 0);
		items->data[kept++] = (struct up_item){it.self, n->parent, (uint32_t)*at};
	}
	items->len = kept;
	map_done(&boxes);
}

/* Takes boxes from `from` on that are too narrow out again, with their items. */
static uint64_t
up_cut(struct up_items *items, struct flame_boxes *raw, size_t from, double share)
{
	size_t made = raw->len - from, to = from, kept = 0;
	uint32_t *new_at = xcalloc(made, sizeof *new_at); /* 0 = taken out */
	uint64_t left_out = 0;

	for (size_t i = 0; i < made; i++) {
		struct flame_box *b = &raw->data[from + i];

		if (is_wide(b->width, raw->data[0].width, share)) {
			new_at[i] = (uint32_t)to;
			raw->data[to++] = *b;
		} else {
			left_out += b->width[0] > 0;
		}
	}
	raw->len = to;
	for (size_t i = 0; i < items->len; i++) {
		struct up_item it = items->data[i];

		it.box = new_at[it.box - from];
		if (it.box != 0)
			items->data[kept++] = it;
	}
	items->len = kept;
	free(new_at);
	return left_out;
}

static uint64_t
up_boxes(const struct graph *g, double share, struct flame_boxes *raw)
{
	struct flame_box *root = vec_add(raw);
	struct up_items items = {0};
	uint64_t left_out = 0;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct graph_node *n = &g->nodes[i];

		if (n->self == 0 && n->was_self == 0)
			continue;
		up_add(root, n, i == 0);
		if (i > 0)
			vec_push(&items, (struct up_item){i, i, 0});
	}
	for (int depth = 0; items.len > 0 && depth < MAX_DEPTH; depth++) {
		size_t from = raw->len;

		up_step(g, &items, raw);
		left_out += up_cut(&items, raw, from, share);
		if (raw->len > MAX_BOXES)
			break;
	}
	vec_done(&items);
	return left_out;
}

void
flame_tree_up(struct flame_tree *ret_tree, const struct graph *g, double share,
	      bool by_name)
{
	struct flame_sort sort = {.g = g, .by_name = by_name};
	struct flame_tree t = {0};
	struct flame_boxes raw = {0};

	for (;;) {
		t.left_out = up_boxes(g, share, &raw);
		if (raw.len <= MAX_BOXES)
			break;
		raw.len = 0;
		share *= 1.5;
	}
	t.least_share = share;
	order_boxes(&t, &raw, &sort);
	vec_done(&raw);
	*ret_tree = t;
}

void
flame_tree_done(struct flame_tree *t)
{
	free(t->boxes);
	*t = (struct flame_tree){0};
}
