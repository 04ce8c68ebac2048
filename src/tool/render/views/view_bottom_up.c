/* SPDX-License-Identifier: MIT */
/* view_bottom_up.c -- the tree of calls the other way round: who allocates, called by
 * whom.
 *
 * Made level by level. A node is a set of stacks that agree up to here; it is split by
 * the next caller only if it is large enough to be shown, so the cost follows what is
 * drawn and not the depth of all stacks. */
#include <math.h>
#include <stdlib.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

#define VIEW_UP_FRACTION 0.005

/* A stack: where on its way outwards it stands now. */
struct view_stack {
	uint32_t node; /* of the graph; 0 = above the outermost frame */
	uint32_t entry;
	double value;
};

struct view_stacks VEC_BODY(struct view_stack);

struct view_up {
	const struct view *v;
	VEC(struct graph_node) nodes;
	struct view_stacks stacks;
	VEC(size_t) from; /* of every node: its stacks … */
	VEC(size_t) to;
};

static int
view_stack_compare(const void *pa, const void *pb)
{
	const struct view_stack *a = pa, *b = pb;

	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* The children of one node while they are put in order. */
struct view_child {
	uint32_t node;
	double size;
};

static int
view_child_compare(const void *pa, const void *pb)
{
	const struct view_child *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Makes children of `parent` from stacks[from …], which are sorted by entry. */
static void
view_split(struct view_up *u, uint32_t parent, size_t from)
{
	VEC(struct view_child) children = {0};
	uint32_t *link;

	for (size_t i = from; i < u->stacks.len;) {
		uint32_t entry = u->stacks.data[i].entry;
		struct graph_node n = {.entry = entry, .parent = parent};
		size_t begin = i;

		for (; i < u->stacks.len && u->stacks.data[i].entry == entry; i++)
			n.total += u->stacks.data[i].value;
		vec_push(&children,
			 (struct view_child){(uint32_t)u->nodes.len, fabs(n.total)});
		vec_push(&u->nodes, n);
		vec_push(&u->from, begin);
		vec_push(&u->to, i);
	}
	vec_sort(&children, view_child_compare);
	link = &u->nodes.data[parent].first_child;
	for (size_t i = 0; i < children.len; i++) {
		*link = children.data[i].node;
		link = &u->nodes.data[*link].next;
	}
	vec_done(&children);
}

/* The callers of one node. */
static void
view_expand(struct view_up *u, uint32_t node)
{
	const struct graph_node *nodes = u->v->g->nodes;
	size_t from = u->stacks.len;

	for (size_t i = u->from.data[node]; i < u->to.data[node]; i++) {
		struct view_stack x = u->stacks.data[i];

		x.node = nodes[x.node].parent;
		if (x.node == 0) {
			u->nodes.data[node].self += x.value;
			continue;
		}
		x.entry = nodes[x.node].entry;
		vec_push(&u->stacks, x);
	}
	if (u->stacks.len > from)
		qsort(u->stacks.data + from, u->stacks.len - from, sizeof *u->stacks.data,
		      view_stack_compare);
	view_split(u, node, from);
}

static void
view_up_init(struct view_up *u, const struct view *v)
{
	const struct graph *g = v->g;

	*u = (struct view_up){.v = v};
	vec_add(&u->nodes);
	vec_push(&u->from, 0);
	vec_push(&u->to, 0);
	for (uint32_t i = 1; i < g->nnodes; i++) {
		if (g->nodes[i].self != 0)
			vec_push(&u->stacks, (struct view_stack){i, g->nodes[i].entry,
								 g->nodes[i].self});
	}
	vec_sort(&u->stacks, view_stack_compare);
	u->nodes.data[0].total = g->total;
	view_split(u, 0, 0);
	for (uint32_t i = 1; i < u->nodes.len; i++) {
		if (!view_is_small(v, u->nodes.data[i].total, VIEW_UP_FRACTION))
			view_expand(u, i);
	}
}

static void
view_up_done(struct view_up *u)
{
	vec_done(&u->nodes);
	vec_done(&u->stacks);
	vec_done(&u->from);
	vec_done(&u->to);
}

uint32_t
view_bottom_up(struct buf *out, const struct view *v)
{
	struct view_up u;

	view_up_init(&u, v);
	/* What ends here has no caller: that is no figure of its own. */
	for (size_t i = 0; i < u.nodes.len; i++)
		u.nodes.data[i].self = 0;
	view_draw(out, v, u.nodes.data);
	view_up_done(&u);
	return 1;
}

uint32_t
view_bottom_up_json(struct json *j, const struct view *v)
{
	struct view_up u;

	view_up_init(&u, v);
	view_json_nodes(v, j, u.nodes.data, (uint32_t)u.nodes.len);
	view_up_done(&u);
	return 1;
}
