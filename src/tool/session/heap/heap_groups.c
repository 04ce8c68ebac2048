/* SPDX-License-Identifier: MIT */
/* heap_groups.c -- see heap_groups.h.
 *
 * The process stands still while blocks are looked at, so only their first words are read
 * then: names of types are found when it goes on. */
#include "tool/session/heap/heap_groups.h"

#include <stdlib.h>
#include <string.h>

#include "tool/analyze/process/blocklook.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum {
	ROWS_MANY = 400,
	FOLD_FROM = 256, /* larger sizes */
};

/* The first word if it leads to a constant or to code, which many blocks share; else
 * 0. */
static uint64_t
sign_of(const struct heapcheck *c, uint64_t word)
{
	const struct scan_map *m = scan_map_at(&c->image.space, word);

	return m != NULL && (m->flags & SCAN_FILE) != 0 && (m->flags & SCAN_WRITE) == 0
		       ? word
		       : 0;
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	a ^= b * UINT64_C(0x9e3779b97f4a7c15);
	a ^= a >> 29;
	return a * UINT64_C(0xbf58476d1ce4e5b9);
}

static struct looked *
row_of(struct looked_vec *rows, struct map *known, const struct looked *key)
{
	uint64_t hash = mix(mix(key->size, key->first), key->look);

	/* Two that fall together by chance are told apart by looking. */
	for (;; hash++) {
		uint64_t *at = map_add(known, hash);
		struct looked *row;

		if (*at == 0) {
			vec_push(rows, *key);
			*at = rows->len;
			return vec_last(rows);
		}
		row = &rows->data[*at - 1];
		if (row->size == key->size && row->first == key->first &&
		    row->look == key->look)
			return row;
	}
}

/* Number of each block's row is left in scan_block.site. */
void
groups_find(struct heapcheck *c, struct looked_vec *rows)
{
	struct map known = {0};

	for (size_t i = 0; i < c->blocks.len; i++) {
		struct scan_block *b = &c->blocks.data[i];
		struct looked key = {.size = b->bytes}, *row;
		unsigned char begin[BLOCKLOOK_BYTES];
		size_t n = b->bytes < sizeof begin ? (size_t)b->bytes : sizeof begin;

		n = image_read(&c->image, b->addr, begin, n);
		if (n >= 8) {
			uint64_t word;

			memcpy(&word, begin, sizeof word);
			key.first = sign_of(c, word);
			/* Objects of a class are one sort, whatever is in them. */
			if (key.first == 0)
				key.look = blocklook(c->image.map, begin, n);
		}
		row = row_of(rows, &known, &key);
		b->site = (uint32_t)(row - rows->data);
		heapscan_count(&row->sums[b->state], b->bytes);
		if (b->state == CLASSIFY_DEFINITE)
			row->indirect_bytes += b->indirect;
		if (row->example == 0 || b->state < row->example_kind) {
			row->example = b->addr;
			row->example_kind = b->state;
		}
		heapscan_count(&c->scan.sums[b->state], b->bytes);
		if ((b->flags & SCAN_BLOCK_LEFTOVER) != 0)
			heapscan_count(&c->scan.leftover, b->bytes);
	}
	c->image.space.seen_start = c->image.space.seen_end = 0;
	map_done(&known);
}

static bool
has_lost(const struct looked *r)
{
	return r->sums[HEAPSCAN_REACHABLE].blocks == 0 ||
	       r->sums[HEAPSCAN_DEFINITE].blocks + r->sums[HEAPSCAN_INDIRECT].blocks +
			       r->sums[HEAPSCAN_POSSIBLE].blocks >
		       0;
}

/* A program with blocks of any size has as many rows as blocks: then those without a type
 * are told by look and by the power of two that their size is below. What is lost is told
 * by its size as long as that is not too much. */
void
groups_fold(struct heapcheck *c, struct looked_vec *rows)
{
	struct looked_vec folded = {0};
	struct map known = {0};
	uint32_t *row_of_old;
	size_t lost = 0;

	if (rows->len <= ROWS_MANY)
		return;
	for (size_t i = 0; i < rows->len; i++)
		lost += has_lost(&rows->data[i]);
	row_of_old = xcalloc(rows->len, sizeof *row_of_old);
	for (size_t i = 0; i < rows->len; i++) {
		struct looked *old = &rows->data[i], *row;
		struct looked key = {
			.size = old->size, .first = old->first, .look = old->look};

		if (old->first == 0 && old->size > FOLD_FROM &&
		    (lost > ROWS_MANY || !has_lost(old)))
			key.size = UINT64_C(1) << (64 - __builtin_clzll(old->size - 1));
		row = row_of(&folded, &known, &key);
		row_of_old[i] = (uint32_t)(row - folded.data);
		for (unsigned k = 0; k < HEAPSCAN_KINDS; k++) {
			row->sums[k].blocks += old->sums[k].blocks;
			row->sums[k].bytes += old->sums[k].bytes;
		}
		row->indirect_bytes += old->indirect_bytes;
		if (row->most == 0 || old->size > row->most)
			row->most = old->size;
		if (row->least == 0 || old->size < row->least)
			row->least = old->size;
		if (row->example == 0 || old->example_kind < row->example_kind) {
			row->example = old->example;
			row->example_kind = old->example_kind;
		}
	}
	for (size_t i = 0; i < c->blocks.len; i++)
		c->blocks.data[i].site = row_of_old[c->blocks.data[i].site];
	free(row_of_old);
	map_done(&known);
	vec_done(rows);
	*rows = folded;
}

/* Rows with names; what has the same name in the end stays apart only by size and
 * look. */
void
groups_name(struct heapcheck *c, const struct looked_vec *rows)
{
	struct heapscan *s = &c->scan;
	char text[80];

	for (size_t i = 0; i < rows->len; i++) {
		const struct looked *r = &rows->data[i];
		struct heapscan_group *g = vec_add(&s->groups);
		uint32_t type = r->first != 0 ? holders_type(&c->holders, r->first) : 0;

		g->size = r->most != 0 ? r->most : r->size;
		g->least = r->least < g->size ? r->least : 0;
		if (type != 0)
			g->type =
				strtab_add(&s->strings, holders_name(&c->holders, type));
		blocklook_words(r->look, text, sizeof text);
		g->pattern = strtab_add(&s->strings, text);
		memcpy(g->sums, r->sums, sizeof g->sums);
		g->indirect_bytes = r->indirect_bytes;
		g->example = r->example;
	}
}

const char *
heapcheck_what(const struct heapcheck *c, const struct scan_block *b)
{
	const struct heapscan_group *g = &c->scan.groups.data[b->site];

	return heapscan_text(&c->scan, g->type != 0 ? g->type : g->pattern);
}
