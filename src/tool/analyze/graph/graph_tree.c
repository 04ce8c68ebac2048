/* SPDX-License-Identifier: MIT */
/* graph_tree.c -- nodes of call paths, and all that is summed over them.
 *
 * Totals go from the children up, as nodes come after their parents. Then one walk
 * through the tree counts each entry and each edge where it is met first on the way from
 * the root: what hangs below is counted once, however often a function calls itself. */
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/graph/graph_impl.h"
#include "tool/util/x.h"

enum {
	GRAPH_FIRST_SLOTS = 64,
	GRAPH_NEAR = 4, /* children of a node that are linked while the tree is made */
};

/* ---- pairs ---- */

static void
graph_pairs_grow(struct graph_pairs *t, size_t cap)
{
	struct graph_pair *old = t->slots;
	size_t n = t->cap;

	t->slots = xcalloc(cap, sizeof *t->slots);
	t->cap = cap;
	for (size_t i = 0; i < n; i++) {
		size_t at = hash_u64(old[i].key) & (cap - 1);

		if (old[i].number == 0)
			continue;
		while (t->slots[at].number != 0)
			at = (at + 1) & (cap - 1);
		t->slots[at] = old[i];
	}
	free(old);
}

uint32_t *
graph_pair(struct graph_pairs *t, uint32_t a, uint32_t b, bool *ret_new)
{
	uint64_t key = (uint64_t)a << 32 | b;
	size_t at;

	if (t->len + 1 > t->cap / 4 * 3)
		graph_pairs_grow(t, t->cap != 0 ? t->cap * 2 : GRAPH_FIRST_SLOTS);
	at = hash_u64(key) & (t->cap - 1);
	while (t->slots[at].number != 0 && t->slots[at].key != key)
		at = (at + 1) & (t->cap - 1);
	*ret_new = t->slots[at].number == 0;
	if (*ret_new) {
		t->slots[at].key = key;
		t->slots[at].number = UINT32_MAX; /* until the caller says better */
		t->len++;
	}
	return &t->slots[at].number;
}

/* ---- nodes ---- */

uint32_t
graph_child(struct graph_work *w, uint32_t parent, uint32_t entry, bool inlined)
{
	bool flat_grain = w->q->grain == GRAPH_FILES || w->q->grain == GRAPH_MODULES;
	struct graph_node *n = w->nodes.data;
	uint32_t at = n[parent].first_child, near = 0, *number = NULL;
	bool new = true;

	if (flat_grain && parent != 0 && n[parent].entry == entry)
		return parent;
	while (at != 0 && n[at].entry != entry) {
		at = n[at].next;
		near++;
	}
	if (at == 0 && near == GRAPH_NEAR) {
		number = graph_pair(&w->children, parent, entry, &new);
		at = new ? 0 : *number;
	}
	if (at != 0) {
		if (!inlined)
			w->inlined.data[at] = 0;
		return at;
	}
	at = (uint32_t)w->nodes.len;
	vec_push(&w->nodes, (struct graph_node){.entry = entry, .parent = parent});
	n = w->nodes.data;
	if (number != NULL) {
		*number = at;
	} else {
		n[at].next = n[parent].first_child;
		n[parent].first_child = at;
	}
	vec_push(&w->var, 0);
	vec_push(&w->inlined, inlined);
	return at;
}

void
graph_drop_unused(struct graph_work *w, uint32_t *names, uint32_t nnames)
{
	uint32_t *to = xcalloc(w->nodes.len, sizeof *to);
	uint32_t *entries = xcalloc(w->entries.len, sizeof *entries);
	struct graph_node *n = w->nodes.data;
	uint32_t nodes = 1, kept = 1;

	for (size_t i = w->nodes.len; i-- > 1;) {
		if (n[i].self != 0 || n[i].was_self != 0 || to[i] != 0)
			to[i] = to[n[i].parent] = 1;
	}
	for (uint32_t i = 1; i < w->nodes.len; i++) {
		if (to[i] != 0)
			entries[n[i].entry] = 1;
	}
	for (uint32_t i = 1; i < w->entries.len; i++) {
		if (entries[i] == 0)
			continue;
		w->entries.data[kept] = w->entries.data[i];
		w->key_of.data[kept] = w->key_of.data[i];
		entries[i] = kept++;
	}
	to[0] = 0;
	for (uint32_t i = 1; i < w->nodes.len; i++) {
		if (to[i] == 0)
			continue;
		n[nodes] = n[i];
		n[nodes].entry = entries[n[i].entry];
		n[nodes].parent = to[n[i].parent];
		w->var.data[nodes] = w->var.data[i];
		w->inlined.data[nodes] = w->inlined.data[i];
		to[i] = nodes++;
	}
	for (uint32_t i = 0; i < nnames; i++)
		names[i] = to[names[i]];
	w->nodes.len = nodes;
	w->entries.len = kept;
	free(to);
	free(entries);
}

static double
graph_size(const struct graph_node *n)
{
	double now = n->total < 0 ? -n->total : n->total;
	double was = n->was_total < 0 ? -n->was_total : n->was_total;

	return now > was ? now : was;
}

/* Does `a` come before `b` among the children of a node? */
static bool
graph_before(const struct graph_work *w, uint32_t a, uint32_t b)
{
	const struct graph_node *x = &w->nodes.data[a], *y = &w->nodes.data[b];
	const struct graph_entry *ex = &w->entries.data[x->entry],
				 *ey = &w->entries.data[y->entry];
	int r;

	if (graph_size(x) != graph_size(y))
		return graph_size(x) > graph_size(y);
	r = strcmp(strtab_str(w->strings, ex->function),
		   strtab_str(w->strings, ey->function));
	if (r == 0)
		r = strcmp(strtab_str(w->strings, ex->file),
			   strtab_str(w->strings, ey->file));
	if (r == 0 && ex->line != ey->line)
		return ex->line < ey->line;
	return r != 0 ? r < 0 : a < b;
}

/* Sorts a list of siblings by merging runs of it; returns its first. */
static uint32_t
graph_sort(struct graph_work *w, uint32_t first)
{
	struct graph_node *n = w->nodes.data;
	uint32_t slow = first, fast = n[first].next, half, head = 0, *tail = &head;

	if (fast == 0)
		return first;
	while (fast != 0 && n[fast].next != 0) {
		slow = n[slow].next;
		fast = n[n[fast].next].next;
	}
	half = n[slow].next;
	n[slow].next = 0;
	first = graph_sort(w, first);
	half = graph_sort(w, half);
	while (first != 0 && half != 0) {
		uint32_t *least = graph_before(w, half, first) ? &half : &first;

		*tail = *least;
		tail = &n[*least].next;
		*least = *tail;
	}
	*tail = first != 0 ? first : half;
	return head;
}

static void
graph_order_children(struct graph_work *w)
{
	struct graph_node *n = w->nodes.data;

	for (size_t i = 0; i < w->nodes.len; i++)
		n[i].first_child = 0;
	for (size_t i = w->nodes.len; i-- > 1;) {
		n[i].next = n[n[i].parent].first_child;
		n[n[i].parent].first_child = (uint32_t)i;
	}
	for (size_t i = 0; i < w->nodes.len; i++) {
		if (n[i].first_child != 0 && n[n[i].first_child].next != 0)
			n[i].first_child = graph_sort(w, n[i].first_child);
	}
}

/* ---- sums ---- */

struct graph_walk {
	uint32_t *entry_depth; /* how often each entry is on the way */
	uint32_t *edge_depth;  /* and each edge */
	uint32_t *edges;       /* of every node; 0 = none */
	double *var_total;     /* of every node */
};

static void
graph_find_edges(struct graph_work *w, struct graph_walk *k)
{
	struct graph_pairs pairs = {0};

	k->edges = xcalloc(w->nodes.len, sizeof *k->edges);
	vec_add(&w->edges); /* a blank, so that 0 is none */
	for (size_t i = 1; i < w->nodes.len; i++) {
		const struct graph_node *n = &w->nodes.data[i];
		uint32_t from = w->nodes.data[n->parent].entry, *number;
		bool new;

		if (n->parent == 0 || from == n->entry)
			continue;
		number = graph_pair(&pairs, from, n->entry, &new);
		if (new) {
			*number = (uint32_t)w->edges.len;
			vec_push(&w->edges, (struct graph_edge){.from = from,
								.to = n->entry,
								.inlined = true});
		}
		k->edges[i] = *number;
		if (!w->inlined.data[i])
			w->edges.data[*number].inlined = false;
	}
	free(pairs.slots);
	k->edge_depth = xcalloc(w->edges.len, sizeof *k->edge_depth);
}

static void
graph_go_in(struct graph_work *w, struct graph_walk *k, uint32_t i)
{
	const struct graph_node *n = &w->nodes.data[i];
	struct graph_entry *x = &w->entries.data[n->entry];
	struct graph_edge *edge;

	x->flat += n->self;
	x->was_flat += n->was_self;
	if (k->var_total != NULL)
		x->var_flat += w->var.data[i];
	if (k->entry_depth[n->entry]++ == 0) {
		x->cum += n->total;
		x->was_cum += n->was_total;
		if (k->var_total != NULL)
			x->var_cum += k->var_total[i];
	}
	if (k->edges == NULL || k->edges[i] == 0 || k->edge_depth[k->edges[i]]++ != 0)
		return;
	edge = &w->edges.data[k->edges[i]];
	edge->weight += n->total;
	edge->was_weight += n->was_total;
}

static void
graph_go_out(const struct graph_work *w, struct graph_walk *k, uint32_t i)
{
	k->entry_depth[w->nodes.data[i].entry]--;
	if (k->edges != NULL && k->edges[i] != 0)
		k->edge_depth[k->edges[i]]--;
}

static void
graph_walk_all(struct graph_work *w, struct graph_walk *k)
{
	const struct graph_node *n = w->nodes.data;
	uint32_t at = n[0].first_child;

	while (at != 0) {
		graph_go_in(w, k, at);
		if (n[at].first_child != 0) {
			at = n[at].first_child;
			continue;
		}
		while (at != 0 && n[at].next == 0) {
			graph_go_out(w, k, at);
			at = n[at].parent;
		}
		if (at != 0) {
			graph_go_out(w, k, at);
			at = n[at].next;
		}
	}
}

void
graph_add_up(struct graph_work *w, bool sampled)
{
	struct graph_node *n = w->nodes.data;
	struct graph_walk k = {0};

	if (sampled) {
		k.var_total = xcalloc(w->nodes.len, sizeof *k.var_total);
		memcpy(k.var_total, w->var.data, w->nodes.len * sizeof *k.var_total);
	}
	for (size_t i = 0; i < w->nodes.len; i++) {
		n[i].total = n[i].self;
		n[i].was_total = n[i].was_self;
	}
	for (size_t i = w->nodes.len; i-- > 1;) {
		n[n[i].parent].total += n[i].total;
		n[n[i].parent].was_total += n[i].was_total;
		if (sampled)
			k.var_total[n[i].parent] += k.var_total[i];
	}
	graph_order_children(w);
	k.entry_depth = xcalloc(w->entries.len, sizeof *k.entry_depth);
	if (!w->q->no_edges)
		graph_find_edges(w, &k);
	graph_walk_all(w, &k);
	if (w->edges.len > 0) { /* without the blank */
		w->edges.len--;
		memmove(w->edges.data, w->edges.data + 1,
			w->edges.len * sizeof *w->edges.data);
	}
	free(k.entry_depth);
	free(k.edge_depth);
	free(k.edges);
	free(k.var_total);
}
