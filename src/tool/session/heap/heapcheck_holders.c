/* SPDX-License-Identifier: MIT */
/* heapcheck_holders.c -- who holds the blocks of a heap that was looked through: one way
 * to each, and what would go if a root let go; see heapcheck.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/leak/dominators.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum {
	HOLDERS_MAX = 100,
	LEADERS_MOST = 64,
	SHARE_SHARED = 100, /* 1 / share of all that a block must retain to be told */
};

/* Data of programs and libraries first, then everything else but stacks, then stacks. */
static unsigned
root_order(const struct heapcheck *c, const struct scan_range *r)
{
	const struct memmap_area *a = memmap_find(c->image.map, r->start);

	if (a == NULL)
		return 1;
	if (strcmp(a->name, "[stack]") == 0 ||
	    roots_stack_of(c->image.stacks, c->image.nstacks, r->start) != NULL)
		return 2;
	return memmap_data_of(c->image.map, a) != NULL ? 0 : 1;
}

static void
add_registers(struct heapcheck *c, bool inside)
{
	const struct procmem_words *words = c->image.words;

	for (size_t t = 0; t < c->image.threads.len; t++) {
		const struct image_thread *th = &c->image.threads.data[t];
		size_t end = t + 1 < c->image.threads.len
				     ? c->image.threads.data[t + 1].regs
				     : words->len;

		for (size_t i = th->regs; i < end && i < words->len; i++) {
			uint64_t at = holders_register(t, (unsigned)(i - th->regs));

			if (scan_find(&c->index, words->data[i]) != NULL &&
			    !heapcheck_is_header(c, words->data[i]))
				paths_word(&c->paths, words->data[i], at,
					   holders_root(&c->holders, at), inside);
		}
	}
}

static void
add_kernel_words(struct heapcheck *c, bool inside)
{
	const struct kernelwords *words = &c->image.z.kernel;

	for (size_t i = 0; i < words->len; i++) {
		uint64_t at = holders_kernel(i);

		if (scan_find(&c->index, words->data[i].word) != NULL)
			paths_word(&c->paths, words->data[i].word, at,
				   holders_root(&c->holders, at), inside);
	}
}

/* Blocks that were found before the stacks. */
static void
note_held(struct heapcheck *c)
{
	if (c->held != NULL)
		return;
	c->held = xcalloc(c->blocks.len, sizeof *c->held);
	for (size_t i = 0; i < c->blocks.len; i++)
		c->held[i] = c->paths.from[i] != 0;
}

void
heapcheck_paths(struct heapcheck *c)
{
	if (c->paths.from != NULL)
		return;
	paths_init(&c->paths, &c->image.space, &c->index, holders_root, &c->holders);
	for (int inside = 0; inside < 2; inside++) {
		for (unsigned order = 0; order < 3; order++) {
			for (size_t i = 0; i < c->roots.len; i++) {
				if (root_order(c, &c->roots.data[i]) == order)
					paths_range(&c->paths, c->roots.data[i], inside);
			}
			paths_follow(&c->paths, inside);
			if (order == 1)
				note_held(c);
		}
		add_kernel_words(c, inside);
		paths_follow(&c->paths, inside);
		add_registers(c, inside);
		for (uint32_t i = 0; i < c->blocks.len && inside == 0; i++) {
			if ((c->blocks.data[i].flags & SCAN_BLOCK_ROOT) != 0)
				paths_block(&c->paths, i, 0);
		}
		paths_follow(&c->paths, inside);
	}
	for (uint32_t i = 0; i < c->blocks.len; i++) {
		if (c->blocks.data[i].state == CLASSIFY_DEFINITE) {
			paths_block(&c->paths, i, 0);
			paths_follow(&c->paths, true);
		}
	}
}

/* ---- dominators ---- */

static void
add_roots(struct heapcheck *c, struct dominators *d)
{
	const struct procmem_words *words = c->image.words;

	for (size_t i = 0; i < c->roots.len; i++)
		dominators_range(d, c->roots.data[i], holders_root, &c->holders);
	for (size_t t = 0; t < c->image.threads.len; t++) {
		uint64_t sp = c->image.threads.data[t].sp;
		size_t from = c->image.threads.data[t].regs;
		size_t end = t + 1 < c->image.threads.len
				     ? c->image.threads.data[t + 1].regs
				     : words->len;

		for (size_t i = from; i < end; i++) {
			uint64_t at = holders_register(t, (unsigned)(i - from));

			/* A local variable may be in both: a thread's registers and stack
			 * are one holder. */
			if (scan_find(&c->index, words->data[i]) != NULL &&
			    !heapcheck_is_header(c, words->data[i]))
				dominators_word(
					d, words->data[i],
					holders_root(&c->holders, sp != 0 ? sp : at));
		}
	}
	for (size_t i = 0; i < c->image.z.kernel.len; i++) {
		uint64_t word = c->image.z.kernel.data[i].word;

		if (scan_find(&c->index, word) != NULL)
			dominators_word(d, word,
					holders_root(&c->holders, holders_kernel(i)));
	}
	for (uint32_t i = 0; i < c->blocks.len; i++) {
		if ((c->blocks.data[i].flags & SCAN_BLOCK_ROOT) != 0)
			dominators_block(d, i, 0);
	}
}

static void
add_holder(struct heapcheck *c, const char *name, uint64_t address, uint32_t stacks,
	   const struct dominators_sum *s)
{
	vec_push(&c->scan.holders,
		 (struct heapscan_holder){
			 .name = strtab_add(&c->scan.strings, name),
			 .stacks = stacks,
			 .address = address,
			 .retained = {.blocks = s->blocks, .bytes = s->bytes}});
}

/* How many stacks point into what each root holds. */
static uint32_t *
count_stacks(struct dominators *d)
{
	uint32_t *stacks = xcalloc((size_t)d->nroots + 1, sizeof *stacks);
	struct map seen = {0};

	for (size_t i = 0; i < d->left.len; i++) {
		uint32_t top = dominators_top(d, d->left.data[i].block);

		if (top != UINT32_MAX &&
		    (*map_add(&seen, (uint64_t)top << 32 | d->left.data[i].root))++ == 0)
			stacks[top]++;
	}
	map_done(&seen);
	return stacks;
}

static int
compare_holders(const void *a, const void *b)
{
	const struct heapscan_holder *x = a, *y = b;

	if (x->retained.bytes != y->retained.bytes)
		return x->retained.bytes > y->retained.bytes ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* The largest block right below each root; UINT32_MAX = none. */
static uint32_t *
largest_below(const struct dominators *d)
{
	uint32_t *largest = xmalloc(((size_t)d->nroots + 1) * sizeof *largest);

	memset(largest, 0xff, ((size_t)d->nroots + 1) * sizeof *largest);
	for (uint32_t i = 0; i < d->index->nblocks; i++) {
		uint32_t node = dominators_of_block(i), above = d->above[node], root;

		if (above == UINT32_MAX || above <= d->index->nblocks)
			continue;
		root = above - dominators_of_root(d, 0);
		if (largest[root] == UINT32_MAX ||
		    d->retained[node].bytes >
			    d->retained[dominators_of_block(largest[root])].bytes)
			largest[root] = i;
	}
	return largest;
}

static void
take_holders(struct heapcheck *c, struct dominators *d)
{
	uint32_t *below = largest_below(d), *stacks = count_stacks(d);
	uint64_t all = d->retained[0].bytes;

	for (uint32_t i = 0; i < d->nroots; i++) {
		const struct dominators_sum *s = &d->retained[dominators_of_root(d, i)];
		uint64_t via = 0;

		if (s->bytes == 0)
			continue;
		if (below[i] != UINT32_MAX &&
		    d->retained[dominators_of_block(below[i])].bytes >= s->bytes / 2)
			via = c->blocks.data[below[i]].addr;
		add_holder(c, i == 0 ? "libc's own tables" : holders_name(&c->holders, i),
			   via, stacks[i], s);
	}
	for (uint32_t i = 0; i < d->index->nblocks; i++) {
		uint32_t node = dominators_of_block(i);

		if (d->above[node] == 0 && d->retained[node].bytes >= all / SHARE_SHARED)
			add_holder(c, "several roots", c->blocks.data[i].addr, 0,
				   &d->retained[node]);
	}
	free(below);
	free(stacks);
	vec_sort(&c->scan.holders, compare_holders);
	if (c->scan.holders.len > HOLDERS_MAX)
		c->scan.holders.len = HOLDERS_MAX;
}

/* Who holds most blocks of a group: a root, or a group of lost blocks. */
struct most {
	uint64_t blocks;
	uint32_t by;
	bool lost;
};

/* The group of the block through which `b` is lost. */
static uint32_t
lost_with(const struct heapcheck *c, const struct scan_block *b)
{
	/* A leader that was reached later is one no more, and knows its own. */
	for (unsigned i = 0; i < LEADERS_MOST && b->state == CLASSIFY_INDIRECT; i++)
		b = &c->blocks.data[b->indirect];
	return b->site;
}

/* Counts by group and holder; then the largest of each, the first of several. */
static void
find_most(struct heapcheck *c, bool lost, struct most *most)
{
	struct map counts = {0};
	uint64_t key, n;
	size_t pos = 0;

	for (size_t i = 0; i < c->blocks.len; i++) {
		const struct scan_block *b = &c->blocks.data[i];
		bool held =
			b->state == CLASSIFY_REACHABLE || b->state == CLASSIFY_POSSIBLE;
		uint64_t group = (uint64_t)b->site << 32;

		if (lost && b->state == CLASSIFY_INDIRECT)
			(*map_add(&counts, group | lost_with(c, b)))++;
		else if (!lost && held && c->paths.root[i] != 0)
			(*map_add(&counts, group | c->paths.root[i]))++;
	}
	while (map_next(&counts, &pos, &key, &n)) {
		struct most *m = &most[key >> 32];
		uint32_t by = (uint32_t)key;

		if (n > m->blocks || (n == m->blocks && m->lost == lost && by < m->by))
			*m = (struct most){.blocks = n, .by = by, .lost = lost};
	}
	map_done(&counts);
}

void
heapcheck_held(struct heapcheck *c)
{
	struct heapscan *s = &c->scan;
	struct most *most = xcalloc(s->groups.len, sizeof *most);

	heapcheck_paths(c);
	find_most(c, false, most);
	find_most(c, true, most);
	for (size_t i = 0; i < s->groups.len; i++) {
		struct heapscan_group *g = &s->groups.data[i];
		struct buf name = {0};

		if (most[i].blocks == 0)
			continue;
		if (most[i].lost) {
			buf_add_str(&name, "lost blocks: ");
			heapscan_group_words(&name, s, &s->groups.data[most[i].by]);
		} else {
			buf_add_str(&name, holders_name(&c->holders, most[i].by));
		}
		g->held = most[i].blocks;
		g->holder = strtab_add(&s->strings, buf_str(&name));
		buf_done(&name);
	}
	free(most);
}

void
heapcheck_holders(struct heapcheck *c)
{
	struct dominators d = {0};

	heapcheck_held(c);
	if (c->image.core == NULL &&
	    dominators_need(c->blocks.len) > c->image.z.room_bytes / 2) {
		heapscan_note(&c->scan,
			      "no list of holders: it needs %s of memory, but only %s "
			      "is available",
			      fmt_size(dominators_need(c->blocks.len)).s,
			      fmt_size(c->image.z.room_bytes).s);
		return;
	}
	dominators_init(&d, &c->image.space, &c->index);
	d.held = c->held;
	d.passes = holders_passes;
	d.passes_ctx = &c->holders;
	add_roots(c, &d);
	dominators_find(&d);
	take_holders(c, &d);
	dominators_done(&d);
}
