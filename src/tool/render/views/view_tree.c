/* SPDX-License-Identifier: MIT */
/* view_tree.c -- a tree of calls, one line a call.
 *
 * Only where a function is called from, or calls, several places does the tree go to the
 * right: a chain of single calls stays in its column, so that deep stacks remain
 * readable. */
#include <stdlib.h>
#include <string.h>

#include "tool/render/views/view_impl.h"
#include "tool/util/fmt.h"
#include "tool/util/vec.h"

enum {
	VIEW_TREE_ROWS = 2000, /* of a tree on a terminal */
	VIEW_TREE_TOP = 20,    /* outermost nodes that are drawn however small they are */
};

#define VIEW_TREE_FRACTION 0.005

/* The children of one node while they are drawn. */
struct view_level {
	uint32_t child;	  /* the next to draw */
	uint32_t visible; /* of those left */
	uint32_t small;	  /* children that are left out */
	double small_total;
	size_t prefix; /* bytes of the prefix in front of them */
	bool branch;
	bool several; /* outermost, and not alone */
};

struct view_drawing {
	struct buf *out;
	const struct view *v;
	const struct graph_node *nodes;
	VEC(struct view_level) levels;
	struct buf prefix;
	size_t value_width;
	uint32_t rows, max;
};

static void
view_open(struct view_drawing *d, uint32_t node, bool top)
{
	struct view_level l = {.child = d->nodes[node].first_child,
			       .prefix = d->prefix.len};

	/* The largest come first. */
	for (uint32_t c = l.child; c != 0; c = d->nodes[c].next) {
		if (view_is_small(d->v, d->nodes[c].total, VIEW_TREE_FRACTION) &&
		    (!top || l.visible >= VIEW_TREE_TOP)) {
			l.small++;
			l.small_total += d->nodes[c].total;
		} else {
			l.visible++;
		}
	}
	l.branch = !top && (l.visible > 1 || (l.visible == 1 && l.small > 0) ||
			    (l.visible == 1 && d->nodes[node].self != 0));
	l.several = top && l.visible + l.small > 1;
	vec_push(&d->levels, l);
}

/* The sign in front of a child, and what stands below it. */
static const char *
view_branch(const struct view_drawing *d, bool last, bool below)
{
	if (d->v->o->ascii)
		return below ? (last ? "  " : "| ") : (last ? "`-" : "|-");
	if (below)
		return last ? "  " : "\xe2\x94\x82 ";
	return last ? "\xe2\x94\x94 " : "\xe2\x94\x9c ";
}

static void
view_line(struct view_drawing *d, const struct graph_node *n, const char *sign)
{
	struct buf *out = d->out;
	size_t from = out->len;

	figure_right(out, view_amount(d->v, n->total, 0).s, d->value_width);
	buf_add_str(out, "  ");
	figure_right(out, view_share(d->v, n->total).s, 6);
	buf_printf(out, "  %s%s", buf_str(&d->prefix), sign);
	view_name(d->v, out, from, n->entry);
	if (n->self != 0 && n->first_child != 0)
		buf_printf(out, "  (itself %s)", view_amount(d->v, n->self, 0).s);
	buf_add_char(out, '\n');
	d->rows++;
}

static void
view_left_out(struct view_drawing *d, const struct view_level *l)
{
	struct buf *out = d->out;

	figure_right(out, view_amount(d->v, l->small_total, 0).s, d->value_width);
	buf_add_str(out, "  ");
	figure_right(out, view_share(d->v, l->small_total).s, 6);
	buf_printf(out, "  %s%s(%s smaller)\n", buf_str(&d->prefix),
		   l->branch ? view_branch(d, true, false) : "", fmt_count(l->small).s);
	d->rows++;
}

/* Draws the next child of the innermost level, or closes it. */
static void
view_step(struct view_drawing *d)
{
	struct view_level *l = vec_last(&d->levels);
	uint32_t child;
	bool last;

	d->prefix.len = l->prefix;
	if (d->prefix.data != NULL)
		d->prefix.data[l->prefix] = '\0';
	if (l->visible == 0) {
		if (l->small > 0)
			view_left_out(d, l);
		d->levels.len--;
		return;
	}
	child = l->child;
	l->child = d->nodes[child].next;
	last = --l->visible == 0 && l->small == 0;
	view_line(d, &d->nodes[child], l->branch ? view_branch(d, last, false) : "");
	if (l->branch)
		buf_add_str(&d->prefix, view_branch(d, last, true));
	else if (l->several)
		buf_add_str(&d->prefix, "  "); /* what follows is not beside it */
	view_open(d, child, false);
}

void
view_draw(struct buf *out, const struct view *v, const struct graph_node *nodes)
{
	struct view_drawing d = {.out = out, .v = v, .nodes = nodes, .max = UINT32_MAX};

	if (v->o->rows > 0)
		d.max = v->o->rows;
	else if (!v->o->all && v->o->term != NULL && v->o->term->tty)
		d.max = VIEW_TREE_ROWS;
	d.value_width = figure_width(view_amount(v, nodes[0].total, 0).s);
	if (d.value_width < 8)
		d.value_width = 8;
	view_open(&d, 0, true);
	while (d.levels.len > 0 && d.rows < d.max)
		view_step(&d);
	if (d.levels.len > 0)
		buf_add_str(out, "# there is more (--all)\n");
	vec_done(&d.levels);
	buf_done(&d.prefix);
}

void
view_json_nodes(const struct view *v, struct json *j, const struct graph_node *nodes,
		uint32_t n)
{
	json_member_arr(j, "nodes");
	for (uint32_t i = 1; i < n; i++) {
		json_obj(j);
		view_key_number(j, "entry", (double)nodes[i].entry - 1);
		json_member_u64_if(j, "parent", nodes[i].parent != 0,
				   nodes[i].parent - 1);
		view_key_number(j, "self", nodes[i].self);
		view_key_number(j, "total", nodes[i].total);
		json_obj_end(j);
	}
	json_arr_end(j);
	view_json_entries(v, j);
}

uint32_t
view_tree(struct buf *out, const struct view *v)
{
	view_draw(out, v, v->g->nodes);
	return 1;
}

uint32_t
view_tree_json(struct json *j, const struct view *v)
{
	view_json_nodes(v, j, v->g->nodes, v->g->nnodes);
	return 1;
}
