/* SPDX-License-Identifier: MIT */
/* dominators.c -- see dominators.h.
 *
 * Pointers are gone through once and kept as edges. Then the nodes are numbered depth
 * first, and from the last to the first each gets its semidominator: the lowest number
 * from which it can be reached through higher ones alone. The paths that are walked for
 * that are shortened as they are walked. The dominator is then the nearest common one of
 * that and of the node's parent in the tree (Lengauer and Tarjan's theorem; Georgiadis'
 * way to finish). Nothing recurses. */
#include "tool/leak/dominators.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/mem.h"
#include "tool/leak/classify.h"
#include "tool/util/x.h"

enum { WORD = 8, EDGES_FIRST = 1 << 16 };

void
dominators_init(struct dominators *ret, struct scan_space *space,
		const struct scan_index *index)
{
	*ret = (struct dominators){.space = space, .index = index};
}

void
dominators_done(struct dominators *d)
{
	free(d->above);
	free(d->retained);
	free(d->from);
	free(d->to);
	free(d->top);
	vec_done(&d->left);
	*d = (struct dominators){0};
}

uint64_t
dominators_need(uint64_t blocks)
{
	return blocks * 96; /* three edges each, both ways, and nine words */
}

/* ---- edges ---- */

static void
add_edge(struct dominators *d, uint32_t from, uint32_t to)
{
	/* The same pointer twice in a row says nothing new. */
	if (d->nedges > 0 && d->from[d->nedges - 1] == from && d->to[d->nedges - 1] == to)
		return;
	if (d->nedges == d->room) {
		d->room = d->room > 0 ? 2 * d->room : EDGES_FIRST;
		d->from = xreallocarray(d->from, d->room, sizeof *d->from);
		d->to = xreallocarray(d->to, d->room, sizeof *d->to);
	}
	d->from[d->nedges] = from;
	d->to[d->nedges++] = to;
}

static void
add_root(struct dominators *d, uint32_t root, const struct scan_block *b)
{
	uint32_t block = (uint32_t)(b - d->index->blocks);

	if (root >= d->nroots)
		d->nroots = root + 1;
	if (d->held != NULL && d->held[block] && d->passes(d->passes_ctx, root))
		vec_push(&d->left,
			 (struct dominators_left){.root = root, .block = block});
	else
		add_edge(d, dominators_of_root(d, root), dominators_of_block(block));
}

/* Words of [start, end): in block `block`, or UINT32_MAX, in a root. */
static void
look_through(struct dominators *d, uint64_t start, uint64_t end, uint32_t block,
	     paths_namer *name, void *ctx)
{
	const uint64_t low = d->index->start, span = d->index->end - low;
	struct scan_space *s = d->space;

	start = ALIGN_UP(start, (uint64_t)WORD);
	end = ALIGN_DOWN(end, (uint64_t)WORD);
	while (start < end) {
		uint64_t n = 0;
		const unsigned char *p = s->look(s->ctx, start, end - start, &n);

		s->seen_start = s->seen_end = 0;
		if (p == NULL || n < WORD) {
			start += ALIGN_UP(n > 0 ? n : WORD, (uint64_t)WORD);
			continue;
		}
		n = ALIGN_DOWN(n < end - start ? n : end - start, (uint64_t)WORD);
		for (uint64_t off = 0; off < n; off += WORD) {
			uint64_t word = mem_get_u64(p + off);
			const struct scan_block *b;

			if (word - low >= span)
				continue;
			b = scan_find(d->index, word);
			if (b == NULL || (b->heuristic == 0 && scan_is_header(b, word)))
				continue;
			if (block == UINT32_MAX)
				add_root(d, name(ctx, start + off), b);
			else if (b != &d->index->blocks[block])
				add_edge(d, dominators_of_block(block),
					 dominators_of_block(
						 (uint32_t)(b - d->index->blocks)));
		}
		start += n;
	}
}

void
dominators_range(struct dominators *d, struct scan_range range, paths_namer *name,
		 void *ctx)
{
	look_through(d, range.start, range.end, UINT32_MAX, name, ctx);
}

void
dominators_word(struct dominators *d, uint64_t word, uint32_t root)
{
	const struct scan_block *b = scan_find(d->index, word);

	if (b != NULL)
		add_root(d, root, b);
}

void
dominators_block(struct dominators *d, uint32_t block, uint32_t root)
{
	add_root(d, root, &d->index->blocks[block]);
}

/* ---- the graph ---- */

/* Neighbours of each node, one after the other: those of n are list[first[n]] …
 * list[first[n + 1] - 1]. */
struct lists {
	size_t *first;
	uint32_t *list;
};

static struct lists
make_lists(const uint32_t *key, const uint32_t *value, size_t n, uint32_t nodes)
{
	struct lists l = {.first = xcalloc((size_t)nodes + 2, sizeof *l.first),
			  .list = xcalloc(n, sizeof *l.list)};

	for (size_t i = 0; i < n; i++)
		l.first[key[i] + 2]++;
	for (size_t i = 2; i <= (size_t)nodes + 1; i++)
		l.first[i] += l.first[i - 1];
	for (size_t i = 0; i < n; i++)
		l.list[l.first[key[i] + 1]++] = value[i];
	return l;
}

static void
lists_done(struct lists *l)
{
	free(l->first);
	free(l->list);
}

/* ---- dominators ---- */

/* All of these are by the number that the search gave. */
struct tree {
	uint32_t n;	  /* nodes that were reached */
	uint32_t *node;	  /* number -> node */
	uint32_t *number; /* node -> number + 1, 0 = not reached */
	uint32_t *parent;
	uint32_t *semi, *label, *ancestor, *above;
	uint32_t *stack;
};

/* Numbers the nodes depth first. `at` is where the search stands in each node's list. */
static void
number_nodes(struct tree *t, const struct lists *after, uint32_t nnodes)
{
	size_t *at = xcalloc(nnodes, sizeof *at);
	uint32_t depth = 0;

	t->node[0] = 0;
	t->number[0] = 1;
	t->n = 1;
	t->stack[depth++] = 0;
	at[0] = after->first[0];
	while (depth > 0) {
		uint32_t node = t->stack[depth - 1], next;

		if (at[node] == after->first[node + 1]) {
			depth--;
			continue;
		}
		next = after->list[at[node]++];
		if (t->number[next] != 0)
			continue;
		t->node[t->n] = next;
		t->parent[t->n] = t->number[node] - 1;
		t->number[next] = ++t->n;
		at[next] = after->first[next];
		t->stack[depth++] = next;
	}
	free(at);
}

/* The node with the lowest semidominator on the way up from `v`; shortens that way. */
static uint32_t
lowest(struct tree *t, uint32_t v)
{
	uint32_t depth = 0, at = v;

	if (t->ancestor[v] == UINT32_MAX)
		return v;
	while (t->ancestor[t->ancestor[at]] != UINT32_MAX) {
		t->stack[depth++] = at;
		at = t->ancestor[at];
	}
	while (depth > 0) {
		uint32_t w = t->stack[--depth], up = t->ancestor[w];

		if (t->semi[t->label[up]] < t->semi[t->label[w]])
			t->label[w] = t->label[up];
		t->ancestor[w] = t->ancestor[up];
	}
	return t->label[v];
}

static void
find_semi(struct tree *t, const struct lists *before)
{
	for (uint32_t i = 0; i < t->n; i++) {
		t->semi[i] = t->label[i] = i;
		t->ancestor[i] = UINT32_MAX;
	}
	for (uint32_t w = t->n; --w > 0;) {
		uint32_t node = t->node[w];

		for (size_t k = before->first[node]; k < before->first[node + 1]; k++) {
			uint32_t v = t->number[before->list[k]], u;

			if (v == 0)
				continue;
			u = lowest(t, v - 1);
			if (t->semi[u] < t->semi[w])
				t->semi[w] = t->semi[u];
		}
		t->ancestor[w] = t->parent[w];
	}
}

static void
find_above(struct tree *t)
{
	t->above[0] = 0;
	for (uint32_t w = 1; w < t->n; w++) {
		uint32_t up = t->parent[w];

		while (up > t->semi[w])
			up = t->above[up];
		t->above[w] = up;
	}
}

/* From the last number to the first: what is below is complete. */
static void
add_up(struct dominators *d, const struct tree *t)
{
	for (uint32_t w = t->n; w-- > 0;) {
		uint32_t node = t->node[w];
		struct dominators_sum *sum = &d->retained[node], *up;

		if (node > 0 && node <= d->index->nblocks) {
			sum->blocks++;
			sum->bytes += d->index->blocks[node - 1].bytes;
		}
		if (w == 0)
			break;
		d->above[node] = t->node[t->above[w]];
		up = &d->retained[d->above[node]];
		up->blocks += sum->blocks;
		up->bytes += sum->bytes;
	}
}

static void
solve(struct dominators *d, const struct lists *after, const struct lists *before)
{
	uint32_t n = d->nnodes, *all = xcalloc((size_t)n * 8, sizeof *all);
	struct tree t = {.node = all,
			 .number = all + n,
			 .parent = all + 2 * (size_t)n,
			 .semi = all + 3 * (size_t)n,
			 .label = all + 4 * (size_t)n,
			 .ancestor = all + 5 * (size_t)n,
			 .above = all + 6 * (size_t)n,
			 .stack = all + 7 * (size_t)n};

	number_nodes(&t, after, n);
	find_semi(&t, before);
	find_above(&t);
	add_up(d, &t);
	free(all);
}

void
dominators_find(struct dominators *d)
{
	struct lists after, before;

	for (uint32_t i = 0; i < d->index->nblocks; i++) {
		const struct scan_block *b = &d->index->blocks[i];

		if (b->state == CLASSIFY_REACHABLE || b->state == CLASSIFY_POSSIBLE)
			look_through(d, b->addr, b->addr + b->bytes, i, NULL, NULL);
	}
	for (uint32_t i = 0; i < d->nroots; i++)
		add_edge(d, 0, dominators_of_root(d, i));
	d->nnodes = d->index->nblocks + 1 + d->nroots;
	d->above = xcalloc(d->nnodes, sizeof *d->above);
	d->retained = xcalloc(d->nnodes, sizeof *d->retained);
	memset(d->above, 0xff, d->nnodes * sizeof *d->above);
	after = make_lists(d->from, d->to, d->nedges, d->nnodes);
	before = make_lists(d->to, d->from, d->nedges, d->nnodes);
	solve(d, &after, &before);
	lists_done(&after);
	lists_done(&before);
}

/* Every node of the way up gets the answer, so that no way is gone twice. */
uint32_t
dominators_top(struct dominators *d, uint32_t block)
{
	uint32_t node = dominators_of_block(block), first = node, found = UINT32_MAX;

	if (d->top == NULL)
		d->top = xcalloc(d->nnodes,
				 sizeof *d->top); /* root + 1; UINT32_MAX = none */
	while (node != 0 && node != UINT32_MAX && node <= d->index->nblocks &&
	       d->top[node] == 0)
		node = d->above[node];
	if (node != 0 && node != UINT32_MAX)
		found = node > d->index->nblocks ? node - dominators_of_root(d, 0) + 1
						 : d->top[node];
	for (node = first; node != 0 && node != UINT32_MAX && node <= d->index->nblocks &&
			   d->top[node] == 0;
	     node = d->above[node])
		d->top[node] = found;
	return found == UINT32_MAX ? UINT32_MAX : found - 1;
}
