/* SPDX-License-Identifier: MIT */
/* scan.h -- an address space to look through, and which block an address lies in.
 *
 * The space may be another process, a copy of one, a file, or our own memory: the caller
 * gives its mappings and a way to look at bytes. Blocks are an array in the order of
 * their addresses; an index over it answers "which block does this word point into" with
 * two or three memory accesses. All memory is the caller's: nothing here allocates, fails
 * or asks the kernel anything. */
#ifndef SEEP_LEAK_SCAN_H
#define SEEP_LEAK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scan_map_flags {
	SCAN_READ = 1,
	SCAN_WRITE = 2,
	SCAN_EXEC = 4,
	SCAN_FILE = 8,	  /* contents of a file, not a device */
	SCAN_DEVICE = 16, /* reading it might do something */
	SCAN_SEALED = 32, /* not writable, but the program has written what is there */
};

struct scan_map {
	uint64_t start, end;
	uint32_t flags;
};

struct scan_range {
	uint64_t start, end;
};

/* Bytes at `addr`: as many as there are in one piece, in *ret_bytes, at least 1 and no
 * matter whether more than `bytes`. NULL: nothing is there for the next *ret_bytes bytes.
 * What is returned stays valid until the next call. */
typedef const unsigned char *scan_look(void *ctx, uint64_t addr, uint64_t bytes,
				       uint64_t *ret_bytes);

struct scan_space {
	const struct scan_map *maps; /* ascending, disjoint */
	uint32_t nmaps;
	scan_look *look;
	void *ctx;
	/* What was looked at last, so that neighbours cost no call. */
	const unsigned char *seen;
	uint64_t seen_start, seen_end;
};

/* The mapping that holds `addr`, or NULL. */
const struct scan_map *scan_map_at(const struct scan_space *s, uint64_t addr);

/* The 8 bytes at `addr`; false when they cannot be had. */
bool scan_word(struct scan_space *s, uint64_t addr, uint64_t *ret_word);

/* ---- blocks ---- */

/* enum classify_kind is in `state`; the rest of the fields is the caller's or
 * classify.c's. */
struct scan_block {
	uint64_t addr;
	uint64_t bytes; /* as asked for; 0 counts as 1 */
	/* of a leader: bytes lost through it; of an indirect one: its leader */
	uint64_t indirect;
	uint32_t site; /* the caller's */
	uint8_t state;
	/* enum classify_heuristic: why an interior pointer was enough */
	uint8_t heuristic;
	uint8_t flags;	 /* enum scan_block_flags */
	uint8_t pending; /* waits to be looked through */
};

enum scan_block_flags {
	SCAN_BLOCK_ROOT = 1, /* reachable whatever points to it */
	SCAN_BLOCK_CUSTOM =
		2, /* part of another block that the program deals out itself */
	SCAN_BLOCK_FOREIGN = 4, /* not to be reported: of a parent process */
	SCAN_BLOCK_ROUNDED = 8, /* up to 15 bytes more than were asked for */
	SCAN_BLOCK_CLASS = 16,	/* up to a quarter more */
	SCAN_BLOCK_INNER = 32,	/* may begin further on: any pointer into it counts */
	SCAN_BLOCK_HEADER = 64, /* a header of glibc's malloc is behind it */
	SCAN_BLOCK_LEFTOVER =
		128, /* set by classify.c: possibly lost, and held only by words
				    * that malloc may have left behind */
};

/* Drops every block that has a SCAN_BLOCK_CUSTOM one inside it: the parts take its place.
 * The array must be ascending and stays so. Returns how many are left. */
uint32_t scan_tidy(struct scan_block *blocks, uint32_t n);

/* Blocks that are close together. */
struct scan_area {
	uint64_t start, end;
	uint32_t first; /* block */
	uint32_t pages; /* first slot in scan_index.pages */
};

struct scan_index {
	struct scan_block *blocks; /* ascending */
	uint32_t nblocks;
	struct scan_area *areas;
	uint32_t nareas;
	uint32_t *pages; /* blocks that begin before each 512 bytes of an area */
	uint64_t start, end;
};

/* Bytes of memory that the index over these needs. */
size_t scan_index_bytes(const struct scan_block *blocks, uint32_t n);

/* Makes it in `memory`, which is aligned to 8 and must outlive it, as must the blocks. */
void scan_index_init(struct scan_index *ret_index, struct scan_block *blocks, uint32_t n,
		     void *memory);

/* The block that `addr` lies in, or NULL. One past its end is not in it. */
struct scan_block *scan_find(const struct scan_index *x, uint64_t addr);

/* The same in three steps, each of which asks for the memory that the next one needs: who
 * has several to find takes a step for all before the next, and waits once instead of
 * twice for each. */
struct scan_probe {
	uint64_t addr;
	const struct scan_area *area;
	const uint32_t *slot; /* in scan_index.pages; NULL = the area is one block */
	uint32_t low, high;
};

bool scan_probe(const struct scan_index *x, uint64_t addr,
		struct scan_probe *ret_probe); /* false: in none */
void scan_probe_on(const struct scan_index *x, struct scan_probe *p);
struct scan_block *scan_probe_end(const struct scan_index *x, const struct scan_probe *p);

/* new T[0] of a type with a destructor is 8 bytes for the number of elements, and what
 * the program has is the address behind them. So probes, other than scan_find, find a
 * block of 8 bytes for that address too, unless another block begins there; this says
 * that it was so. */
enum { SCAN_COOKIE_BYTES = 8 };
bool scan_is_past(const struct scan_block *b, uint64_t addr);

/* Whether `word`, which points into `b`, is the address of the header behind it: that
 * lies 8 bytes before the end of the memory that malloc gave for `b`. malloc links free
 * blocks by these addresses, and leaves them in memory that is used again. A program's
 * own pointer to the last 8 bytes of a block looks the same. */
bool scan_is_header(const struct scan_block *b, uint64_t word);

#endif
