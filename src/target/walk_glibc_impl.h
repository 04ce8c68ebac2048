/* SPDX-License-Identifier: MIT */
/* walk_glibc_impl.h -- what the files of the walker over glibc's malloc share: a view on the memory, and what
 * is being found. */
#ifndef SEEP_TARGET_WALK_GLIBC_IMPL_H
#define SEEP_TARGET_WALK_GLIBC_IMPL_H

#include "target/heapwalk_impl.h"
#include "target/walker_impl.h"

/* A piece of one heap: blocks lie in [first, end). */
struct hb_piece {
	uint64_t start, first, end, top;
	unsigned arena;
};

struct hb_words VEC_BODY(uint64_t);

struct hb_walk {
	const struct procmem *m;
	const struct memmap *map;
	heapblocks_look *look;
	void *ctx;
	/* what was looked at last */
	const unsigned char *seen;
	uint64_t seen_start, seen_end;
	struct hw_state state;
	struct heapblocks *to;
	VEC(struct hb_piece) pieces;
	struct hb_words caches; /* blocks that may be a thread's cache */
	struct hb_words firsts; /* the first block of each piece */
	struct hb_words cached; /* addresses of blocks that are freed and kept */
};

/* The word at `addr`, which is aligned; 0 when it is not there. */
uint64_t hb_word(struct hb_walk *k, uint64_t addr);

/* Bytes until something may be there again, from `addr` on, where hb_word found nothing. */
bool hb_is_there(struct hb_walk *k, uint64_t addr, uint64_t *ret_bytes);

/* Whether a block of this size, with its header, begins 16 bytes before `addr`. */
bool hb_is_block(struct hb_walk *k, uint64_t addr, uint64_t size);

/* ---- walk_glibc_kept.c ---- */

/* Blocks that threads and arenas keep, into k->cached; those caches that are none are dropped. */
void hb_find_cached(struct hb_walk *k);

/* ---- walk_glibc_mapped.c ---- */

/* Where malloc's first block is, and how many blocks it has mapped: from its parameters. False: they
 * were not found. */
bool hb_parameters(struct hb_walk *k, uint64_t *ret_first, int64_t *ret_mapped);

/* Adds blocks with mappings of their own. */
void hb_find_mapped(struct hb_walk *k);

#endif
