/* SPDX-License-Identifier: MIT */
/* paths.c -- see paths.h. */
#include "tool/leak/paths.h"

#include <stdlib.h>

#include "shared/compiler.h"
#include "shared/mem.h"
#include "tool/util/x.h"

enum { WORD = 8 };

void
paths_init(struct paths *ret, struct scan_space *space, const struct scan_index *index,
	   paths_namer *name, void *ctx)
{
	*ret = (struct paths){.space = space,
			      .index = index,
			      .name = name,
			      .ctx = ctx,
			      .from = xcalloc(index->nblocks, sizeof(uint64_t)),
			      .root = xcalloc(index->nblocks, sizeof(uint32_t)),
			      .queue = xcalloc(index->nblocks, sizeof(uint32_t))};
}

void
paths_done(struct paths *p)
{
	free(p->from);
	free(p->root);
	free(p->queue);
	*p = (struct paths){0};
}

/* Whether the word is as good as a pointer to the block's beginning. */
static bool
is_start(const struct scan_block *b, uint64_t word)
{
	return word == b->addr || b->heuristic != 0;
}

/* A word at `at`; `parent` is the block it is in, or UINT32_MAX: in a root. */
static void
hit(struct paths *p, uint64_t word, uint64_t at, uint32_t parent, bool inside)
{
	const struct scan_block *b = scan_find(p->index, word);
	uint32_t i;

	/* malloc's own words hold nothing */
	if (b == NULL || (!is_start(b, word) && (!inside || scan_is_header(b, word))))
		return;
	i = (uint32_t)(b - p->index->blocks);
	if (p->from[i] != 0 || i == parent)
		return;
	p->from[i] = at;
	if (parent != UINT32_MAX)
		p->root[i] = p->root[parent];
	else if (p->name != NULL)
		p->root[i] = p->name(p->ctx, at);
	p->queue[p->found++] = i;
}

static void
look_through(struct paths *p, uint64_t start, uint64_t end, uint32_t parent, bool inside)
{
	const uint64_t low = p->index->start, span = p->index->end - low;
	struct scan_space *s = p->space;

	start = ALIGN_UP(start, (uint64_t)WORD);
	end = ALIGN_DOWN(end, (uint64_t)WORD);
	while (start < end) {
		uint64_t n = 0;
		const unsigned char *at = s->look(s->ctx, start, end - start, &n);

		s->seen_start = s->seen_end = 0; /* its window is gone */
		if (at == NULL || n < WORD) {
			start += ALIGN_UP(n > 0 ? n : WORD, (uint64_t)WORD);
			continue;
		}
		n = ALIGN_DOWN(n < end - start ? n : end - start, (uint64_t)WORD);
		for (uint64_t off = 0; off < n; off += WORD) {
			uint64_t word = mem_get_u64(at + off);

			if (word - low < span)
				hit(p, word, start + off, parent, inside);
		}
		start += n;
	}
}

void
paths_range(struct paths *p, struct scan_range range, bool inside)
{
	look_through(p, range.start, range.end, UINT32_MAX, inside);
}

void
paths_word(struct paths *p, uint64_t word, uint64_t at, uint32_t root, bool inside)
{
	const struct scan_block *b = scan_find(p->index, word);

	if (b == NULL || (!inside && !is_start(b, word)))
		return;
	if (p->from[b - p->index->blocks] == 0) {
		uint32_t i = (uint32_t)(b - p->index->blocks);

		p->from[i] = at;
		p->root[i] = root;
		p->queue[p->found++] = i;
	}
}

void
paths_block(struct paths *p, uint32_t block, uint32_t root)
{
	if (p->from[block] != 0)
		return;
	p->from[block] = p->index->blocks[block].addr; /* itself: nothing is before it */
	p->root[block] = root;
	p->queue[p->found++] = block;
}

void
paths_follow(struct paths *p, bool inside)
{
	uint32_t *at = inside ? &p->followed_inside : &p->followed;

	for (; *at < p->found; (*at)++) {
		uint32_t i = p->queue[*at];
		const struct scan_block *b = &p->index->blocks[i];

		look_through(p, b->addr, b->addr + b->bytes, i, inside);
	}
}

/* The block behind which `block` was found; NULL = a root. */
static const struct scan_block *
parent_of(const struct paths *p, uint32_t block)
{
	const struct scan_block *b = scan_find(p->index, p->from[block]);

	return b != &p->index->blocks[block] ? b : NULL;
}

uint32_t
paths_to(const struct paths *p, uint32_t block, uint32_t *ret_blocks, uint32_t max,
	 uint32_t *ret_all)
{
	uint32_t all = 1, n, near = max / 2, i = 0;
	const struct scan_block *b;

	*ret_all = 0;
	if (p->from[block] == 0)
		return 0;
	for (b = parent_of(p, block); b != NULL && all < p->found;
	     b = parent_of(p, (uint32_t)(b - p->index->blocks)))
		all++;
	*ret_all = all;
	n = all < max ? all : max;
	/* From the block to its root, filled in from the end. */
	for (b = &p->index->blocks[block]; b != NULL && i < all; i++) {
		uint32_t at = (uint32_t)(b - p->index->blocks);

		if (i < near)
			ret_blocks[n - 1 - i] = at;
		else if (all - 1 - i < n - near)
			ret_blocks[all - 1 - i] = at;
		b = parent_of(p, at);
	}
	return n;
}
