/* SPDX-License-Identifier: MIT */
/* walk_glibc_impl.h -- one way through the heaps of glibc's malloc, from block to block,
 * and who is told of what is there: walk_glibc.c (all blocks) and heapwalk.c (sums). */
#ifndef SEEP_TARGET_WALK_GLIBC_IMPL_H
#define SEEP_TARGET_WALK_GLIBC_IMPL_H

#include "tool/target/heap/heapwalk_impl.h"
#include "tool/target/heap/walker_impl.h"

/* A piece of one heap: blocks lie in [first, end). */
struct hb_piece {
	uint64_t start, first, end, top;
	unsigned arena;
};

/* A block with a mapping of its own, [start, end). */
struct hb_mapped {
	uint64_t start, end;
	uint64_t addr, bytes;
	bool sure; /* it is the first of its mapping */
};

struct hb_words VEC_BODY(uint64_t);

struct hb_walk;

/* What the walk tells of a piece; addresses are those of headers, sizes include them. */
struct hb_visitor {
	void (*block)(struct hb_walk *k, const struct hb_piece *p, uint64_t at,
		      uint64_t size, bool used);
	void (*top)(struct hb_walk *k, const struct hb_piece *p, uint64_t size);
	/* Makes no sense, or is not malloc's. */
	void (*gap)(struct hb_walk *k, const struct hb_piece *p, uint64_t start,
		    uint64_t end);
};

/* Start with memory, `visitor` and `to`; the rest is the walk's. */
struct hb_walk {
	const struct procmem *m;
	const struct memmap *map;
	heapblocks_look *look;
	void *ctx;
	const struct hb_visitor *visitor;
	void *to; /* the visitor's */
	/* what was looked at last */
	const unsigned char *seen;
	uint64_t seen_start, seen_end;
	struct hw_state state;
	VEC(struct hb_piece) pieces;  /* ascending */
	VEC(struct hb_mapped) mapped; /* ascending */
	/* as malloc counts them, and the bytes of their mappings; -1 = not known */
	int64_t mapped_expected;
	uint64_t mapped_expected_bytes;
	struct hb_words caches; /* blocks that may be a thread's cache */
	struct hb_words firsts; /* the first block of each piece */
	struct hb_words cached; /* addresses of blocks that are freed and kept */
	/* more do not fit into the heap: lists that run in circles */
	uint64_t cached_most;
	/* the caller knows blocks: what it does not know and is empty is a cache */
	bool recorded;
};

/* Finds malloc's state and its heaps; false with half a sentence in `why`. */
bool hb_begin(struct hb_walk *k, char *why, size_t size);
void hb_done(struct hb_walk *k);

/* Goes through one piece, and tells the visitor. */
void hb_walk_piece(struct hb_walk *k, const struct hb_piece *p);

/* The next place at or behind `at` from where blocks fit; `end` when there is none. */
uint64_t hb_resync(struct hb_walk *k, uint64_t at, uint64_t end, uint64_t top);

/* The word at `addr`, which is aligned; 0 when it is not there. */
uint64_t hb_word(struct hb_walk *k, uint64_t addr);

/* Whether something is there; if not, *ret_bytes is how far it is until something may be
 * there again. */
bool hb_is_there(struct hb_walk *k, uint64_t addr, uint64_t *ret_bytes);

/* ---- walk_glibc_kept.c ---- */

/* After all pieces: blocks that threads and arenas keep, into k->cached; those caches
 * that are none are dropped. */
void hb_find_cached(struct hb_walk *k);

/* ---- walk_glibc_mapped.c ---- */

/* Where malloc's first block is, and how many blocks it has mapped, into
 * k->mapped_expected: from its parameters. False: they were not found. */
bool hb_parameters(struct hb_walk *k, uint64_t *ret_first);

/* How far mappings are looked through for blocks: pages without one. */
struct hb_limits {
	unsigned in_one, in_all;
	bool absent_too; /* count pages that are not there as well */
};

/* Finds blocks with mappings of their own, into k->mapped. NULL: as many as malloc
 * counts, however far that is. */
void hb_find_mapped(struct hb_walk *k, const struct hb_limits *limits);

#endif
