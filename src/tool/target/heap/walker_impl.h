/* SPDX-License-Identifier: MIT */
/* walker_impl.h -- what walkers share: words of the process's memory, the account of one
 * allocator, and the search for a two-level table of pages. */
#ifndef SEEP_TARGET_WALKER_IMPL_H
#define SEEP_TARGET_WALKER_IMPL_H

#include "tool/target/heap/walker.h"

enum {
	WALK_WORD = 8,
	WALK_ADDRESS_BITS = 47,
	WALK_LEAF_BITS = 18, /* elements of a leaf of such a table, a word each */
	WALK_LEAVES_MAX = 4096,
	WALK_TLS_BYTES = 64 << 10, /* of static TLS, below a thread pointer */
};

#define WALK_LEAF_BYTES (UINT64_C(8) << WALK_LEAF_BITS)

struct walk_words VEC_BODY(uint64_t);

/* One walker at work. */
struct walk {
	const struct walker_memory *m;
	struct heapblocks *to;
	size_t owner;	    /* number in to->owners */
	size_t first_block; /* of this allocator, in to->blocks */
	size_t first_range; /* and in to->heaps */
	size_t first_gap;
	struct walk_words cached; /* blocks that are freed and kept in caches */
	struct walk_words own;	  /* blocks that are the allocator's own */
	/* what was looked at last */
	const unsigned char *seen;
	uint64_t seen_start, seen_end;
	const struct memmap_area *area;
};

/* ---- memory ---- */

/* The word at `addr`, which is aligned to 8; 0 when it is not there. */
uint64_t walk_word(struct walk *w, uint64_t addr);
bool walk_has_word(struct walk *w, uint64_t addr, uint64_t *ret_word);
uint32_t walk_u32(struct walk *w, uint64_t addr); /* aligned to 4 */
uint16_t walk_u16(struct walk *w, uint64_t addr); /* aligned to 2 */

/* Copies bytes; what is not there is zero. False: nothing was there. */
bool walk_read(struct walk *w, uint64_t addr, void *to, size_t bytes);

/* One word by itself, without reading what is around it. */
uint64_t walk_peek(const struct walk *w, uint64_t addr);

/* Whether [addr, addr + bytes) is memory that can be written and belongs to no file. */
bool walk_is_anonymous(struct walk *w, uint64_t addr, uint64_t bytes);

/* Whether `addr` can be written at all. */
bool walk_is_writable(struct walk *w, uint64_t addr);

/* The next part of [start, end) that is there, at or behind `at`: up to `max` words,
 * copied. Returns how many; 0 = no more. *ret_at is where they are. */
size_t walk_next_words(struct walk *w, uint64_t at, uint64_t end, uint64_t *to,
		       size_t max, uint64_t *ret_at);

/* The whole of an object's data around `addr`: neighbouring areas. */
struct heapblocks_range walk_data_around(const struct memmap *map, uint64_t addr);

/* ---- result ---- */

/* Registers the allocator. walk_end takes cached blocks out and finishes the account; or
 * removes everything that was added, when it was not found or too many checks failed, and
 * returns false. */
void walk_begin(struct walk *w, const struct walker_memory *m, struct heapblocks *to);
void walk_name(struct walk *w, const char *name);
bool walk_end(struct walk *w, bool found);

/* The allocator was recognized and cannot be read: half a sentence. walk_end with `found`
 * false follows. */
void walk_refuse(struct walk *w, const char *why);

/* A used block; they come in the order of their addresses. Never overlaps the one before:
 * false. */
bool walk_block(struct walk *w, uint64_t addr, uint64_t bytes, bool inner);
void walk_free(struct walk *w, uint64_t blocks, uint64_t bytes);

/* Memory of the allocator; in any order. */
void walk_range(struct walk *w, uint64_t start, uint64_t end);

/* A part of it that is not consistent, which counts as a failed check. */
void walk_gap(struct walk *w, uint64_t start, uint64_t end);

/* One more check, and whether it held. Returns `held`. */
bool walk_check(struct walk *w, bool held);
void walk_unread_cache(struct walk *w);

/* A block that is freed and kept, of `bytes` (0 = any): must be one that was added.
 * Checked. */
bool walk_cached(struct walk *w, uint64_t addr, uint64_t bytes);

/* The block at or around `addr`, or NULL. */
const struct heapblock *walk_find(const struct walk *w, uint64_t addr);

/* ---- tables of pages (walker_tree.c) ---- */

/* What an element of the table says: the extent that the page belongs to. */
struct walk_extent {
	uint64_t descriptor; /* address */
	uint64_t first, pages;
};

/* False: this is no element. */
typedef bool walk_describe(struct walk *w, uint64_t element, struct walk_extent *ret);

/* Address of the first word of the table's root, or 0. `least`: elements of a leaf that
 * must agree. */
uint64_t walk_find_root(struct walk *w, walk_describe *describe, unsigned least);

/* Calls `each` for every element that stands for the first page of its extent, ascending;
 * `leaf` before each leaf. `entries`: how long the root is. False: the table makes no
 * sense. */
struct walk_tree {
	uint64_t root;
	size_t entries;
	walk_describe *describe;
	void (*leaf)(struct walk *w, void *ctx, uint64_t leaf);
	void (*extent)(struct walk *w, void *ctx, uint64_t element,
		       const struct walk_extent *x);
	void *ctx;
};
bool walk_each_extent(struct walk *w, const struct walk_tree *t);

/* ---- the walkers: each adds what it finds, or nothing ---- */

void walk_glibc(const struct walker_memory *m, struct heapblocks *to);
void walk_jemalloc(const struct walker_memory *m, struct heapblocks *to);
void walk_tcmalloc(const struct walker_memory *m, struct heapblocks *to);
void walk_mimalloc(const struct walker_memory *m, struct heapblocks *to);

#endif
