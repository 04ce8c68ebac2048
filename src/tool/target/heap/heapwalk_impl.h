/* SPDX-License-Identifier: MIT */
/* heapwalk_impl.h -- glibc's malloc: its structures, and where they are found. */
#ifndef SEEP_TARGET_HEAPWALK_IMPL_H
#define SEEP_TARGET_HEAPWALK_IMPL_H

#include "tool/model/memmap.h"
#include "tool/target/heap/heapwalk.h"

enum {
	HW_BINS = 127,
	HW_WORD = 8,
	/* from the first list head */
	HW_TOP_BELOW = 16,
	HW_NEXT_ABOVE = 2 * HW_BINS * HW_WORD + 16,    /* behind the bit map of bins */
	HW_SYSTEM_ABOVE = HW_NEXT_ABOVE + 3 * HW_WORD, /* bytes from the kernel */
	HW_SYSTEM_MOST_ABOVE = HW_NEXT_ABOVE + 4 * HW_WORD, /* the most of them */
	HW_STATE_ABOVE = HW_NEXT_ABOVE + 5 * HW_WORD,
	HW_CHUNK_LEAST = 32,
	HW_ARENAS_MAX = 4096,
};

#define HW_HEAP_BYTES (UINT64_C(64) << 20) /* a heap of an arena, and its alignment */
#define HW_SIZE_MASK (~UINT64_C(7))
#define HW_PREV_INUSE UINT64_C(1)
#define HW_MMAPPED UINT64_C(2)

/* One of glibc's arenas. */
struct hw_arena {
	uint64_t state; /* address of its malloc_state */
	uint64_t top;	/* address of the block at its end */
};

/* malloc's state, as far as it was found. */
struct hw_state {
	uint64_t bins_off; /* of the first list head, in malloc_state */
	VEC(struct hw_arena) arenas;
	uint64_t heap_start, heap_end; /* grows with brk */
	bool unnamed;		       /* found by its end alone */
};

/* ---- layouts that versions differ in (heapwalk_layout.c) ---- */

enum {
	HW_CACHE_BINS =
		64, /* of blocks of one size each; those behind them are of several */
	HW_FASTBINS = 10,
};

/* A thread's cache, tcache_perthread_struct: counts, then heads of lists. */
struct hw_cache {
	uint64_t size; /* of its block, header included */
	unsigned bins, count_bytes;
	/* counts say how many more there is room for, not how many there are */
	bool room;
};

/* The layout of a cache whose block has this size, header included; NULL = none has. */
const struct hw_cache *hw_cache_of(uint64_t size);

/* Where an arena's fast bins are; 0 = its version has none. */
uint64_t hw_fastbins(const struct hw_state *s, const struct hw_arena *a);

/* One of an arena's heaps: malloc's own up to `first`, then blocks. */
struct hw_heap {
	uint64_t start, first, end;
};

/* All heaps of an arena other than the main one, the newest, which has its end, first. */
typedef void hw_heap_visitor(void *ctx, const struct hw_heap *h);
void hw_each_heap(const struct procmem *m, const struct memmap *map,
		  const struct hw_state *s, const struct hw_arena *a,
		  hw_heap_visitor *each, void *ctx);

/* The word at `addr` by itself; 0 when it is not there. */
uint64_t hw_peek(const struct procmem *m, uint64_t addr);

/* Whether `addr` lies in memory that malloc may have: writable and of no file. */
bool hw_is_heap_address(const struct memmap *map, uint64_t addr);

/* Finds malloc's state; false with the reason in h->why. */
bool hw_find_state(const struct procmem *m, const struct memmap *map,
		   struct hw_state *ret_state, struct heapmap *h);

#endif
