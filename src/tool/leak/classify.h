/* SPDX-License-Identifier: MIT */
/* classify.h -- which blocks are still reachable, and how those are lost that are not.
 *
 * The four kinds and nine cases of memcheck; the essay at the top of classify.c tells
 * them. The caller gives roots (ranges, single words, blocks) and gets the kind of every
 * block. */
#ifndef SEEP_LEAK_CLASSIFY_H
#define SEEP_LEAK_CLASSIFY_H

#include "tool/leak/scan.h"

/* In scan_block.state. */
enum classify_kind {
	CLASSIFY_DEFINITE =
		0, /* nothing points to it, or only what is lost because of it */
	CLASSIFY_INDIRECT = 1, /* only lost blocks point to it */
	CLASSIFY_POSSIBLE =
		2, /* pointed to, but somewhere on the way not at a beginning */
	CLASSIFY_REACHABLE = 3,
	CLASSIFY_KINDS = 4,
};

/* Why a pointer into the middle counts as one to the beginning; bits of
 * classify.heuristics. */
enum classify_heuristic {
	CLASSIFY_STDSTRING = 1,	  /* the text of a reference-counted std::string */
	CLASSIFY_LENGTH64 = 2,	  /* behind a word that holds the length of the rest */
	CLASSIFY_NEWARRAY = 4,	  /* behind the number of elements of new T[n] */
	CLASSIFY_INHERITANCE = 8, /* a further base of an object with virtual functions */
	CLASSIFY_PYTHON =
		16, /* an object of Python behind the collector's head; not valgrind's */
	CLASSIFY_ALL_HEURISTICS = 31,
};

enum { CLASSIFY_WAIT = 32 };

/* A word that was found, on its way to the block it points to. */
struct classify_word {
	struct scan_probe probe;
	enum classify_kind from;   /* what kind of block it was found in */
	uint64_t before[2], after; /* of a lost block: the words beside it; 0 = none */
};

struct classify {
	struct scan_space *space;
	const struct scan_index *index;
	unsigned heuristics;
	uint32_t *stack; /* room for as many words as there are blocks */
	uint32_t depth;
	uint64_t words; /* looked at so far */
	struct classify_word wait[CLASSIFY_WAIT];
	unsigned waiting;
	bool tails;	/* the program may use what malloc rounds up: set by the caller */
	bool leftovers; /* words that malloc may have left count, too */
};

/* Begins: all blocks are lost but those of SCAN_BLOCK_ROOT. `stack` is the caller's. */
void classify_init(struct classify *ret_classify, struct scan_space *space,
		   const struct scan_index *index, unsigned heuristics, uint32_t *stack);

/* Roots: every aligned word of a range, or one word. */
void classify_root_range(struct classify *c, struct scan_range range);
void classify_root_word(struct classify *c, uint64_t word);

/* After all roots: follows every pointer and then tells leaders from what hangs below
 * them. */
void classify_finish(struct classify *c);

#endif
