/* SPDX-License-Identifier: MIT */
/* heapscan.h -- what was found in a heap that nobody recorded: blocks by size and type,
 * what is lost of them, who holds the rest, and what malloc keeps.
 *
 * Filled by a look at a process or a core, or by the reader of a look that was saved;
 * read by reports. No I/O here. */
#ifndef SEEP_MODEL_HEAPSCAN_H
#define SEEP_MODEL_HEAPSCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/rounds.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

/* As enum classify_kind and enum prof_loss_kind. */
enum heapscan_kind {
	HEAPSCAN_DEFINITE,
	HEAPSCAN_INDIRECT,
	HEAPSCAN_POSSIBLE,
	HEAPSCAN_REACHABLE,
	HEAPSCAN_KINDS,
};

struct heapscan_sum {
	uint64_t blocks, bytes;
};

/* Blocks of one size that look the same. Strings are ids; 0 = none. */
struct heapscan_group {
	uint64_t size;	  /* of each, as malloc gave it */
	uint64_t least;	  /* not 0: their sizes are from this up to `size` */
	uint32_t type;	  /* class, or what their first word points to */
	uint32_t pattern; /* what is in them */
	uint32_t holder;  /* which root holds most of those that are held */
	uint64_t held;	  /* how many of them that one holds */
	struct heapscan_sum sums[HEAPSCAN_KINDS];
	uint64_t indirect_bytes; /* lost because of its definitely lost ones */
	uint64_t example;	 /* address of one, of the worst kind there is */
};

/* A root and what could be freed if it went. */
struct heapscan_holder {
	uint32_t name;
	uint32_t stacks;  /* of threads that point into it as well, for the moment */
	uint64_t address; /* of the block that most of it hangs on; 0 = several */
	struct heapscan_sum retained;
};

struct heapscan_arena {
	uint64_t system_bytes, used_bytes, used_blocks, free_bytes, free_blocks;
	uint64_t largest_free, top_bytes, cached_bytes, gap_bytes;
	uint32_t heaps;
};

/* Start with `= {0}`. */
struct heapscan {
	struct strtab strings;
	uint32_t what;	  /* "4711 (api-server)" */
	uint32_t program; /* name */
	uint32_t core;	  /* path of the core; 0 = a process */
	/* string: "jemalloc 5.3", several with "and"; 0 = not known */
	uint32_t allocators;
	int pid;
	uint64_t time_ns; /* when; of a core, when it was written. 0 = not known */
	uint64_t stop_ns, pause_ns; /* of a process */
	uint32_t threads;
	uint32_t
		snapshot; /* 1: a copy was looked at, and the process went on meanwhile */
	struct heapscan_sum sums[HEAPSCAN_KINDS];
	/* possible ones that only words hold which malloc may have left */
	struct heapscan_sum leftover;
	VEC(struct heapscan_group) groups;   /* most bytes lost first */
	VEC(struct heapscan_holder) holders; /* most retained first */
	VEC(struct heapscan_arena) arenas;
	struct heapscan_sum mapped; /* blocks with mappings of their own */
	/* those that malloc counts and that were not found; not saved */
	struct heapscan_sum missed;
	/* what is resident of the heaps of allocators other than glibc's; not saved */
	uint64_t extent_bytes;
	/* memory of no file that the process has, all of it; 0 = not known */
	uint64_t anon_bytes;
	/* memory that the headers of a core promise and its file has not */
	uint64_t missing_bytes;
	uint32_t
		hides; /* string: where else the program may keep memory; 0 = not known */
	uint32_t objects; /* string: a runtime whose own heap holds objects; 0 = none */
	/* string: a runtime in the process whose blocks are never called lost; 0 =
	 * none */
	uint32_t managed;
	/* string: why none of its blocks could be read; 0 = they were */
	uint32_t unreadable;
	VEC(uint32_t) notes; /* strings: what could not be had */
	/* Repeated checks, and when lost blocks of a group (`site`) were lost. Times are
	 * since the first check; `to_ms` 0 = before it. In no file. */
	VEC(struct prof_round) rounds;
	VEC(struct prof_moment) moments;
};

/* One more block. */
static inline void
heapscan_count(struct heapscan_sum *s, uint64_t bytes)
{
	s->blocks++;
	s->bytes += bytes;
}

/* Blocks and bytes of all kinds. */
struct heapscan_sum heapscan_total(const struct heapscan *h);
struct heapscan_sum heapscan_group_total(const struct heapscan_group *g);

const char *heapscan_text(const struct heapscan *h, uint32_t id);
void heapscan_note(struct heapscan *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void heapscan_done(struct heapscan *h); /* legal on a zeroed one */

/* The words for blocks of a group: "24 bytes, class Session". */
void heapscan_group_words(struct buf *out, const struct heapscan *s,
			  const struct heapscan_group *g);

#endif
