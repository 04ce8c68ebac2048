/* SPDX-License-Identifier: MIT */
/* paths.h -- who holds a block: for every block that can be reached, one word that leads
 * to it, back to a root.
 *
 * classify.h says how well a block is held; this says by whom. Breadth first, so ways are
 * short; roots are given in the order in which they are preferred (a global variable says
 * more than a register), and everything that hangs below one lot is found before the
 * next. Pointers to beginnings are followed first; those into the middle only for what is
 * not found otherwise. */
#ifndef SEEP_LEAK_PATHS_H
#define SEEP_LEAK_PATHS_H

#include "tool/leak/scan.h"

/* Which root a word at `addr` belongs to, as a number of the caller's. */
typedef uint32_t paths_namer(void *ctx, uint64_t addr);

struct paths {
	struct scan_space *space;
	const struct scan_index *index;
	paths_namer *name;
	void *ctx;
	/* by block: */
	uint64_t *from; /* address of the word that leads to it, or what paths_word was
			     told; 0 = it was not found */
	uint32_t *root; /* number of its root */
	/* private */
	uint32_t *queue;
	uint32_t found, followed, followed_inside;
};

/* Begins; `name` may be NULL. Free with paths_done. */
void paths_init(struct paths *ret, struct scan_space *space,
		const struct scan_index *index, paths_namer *name, void *ctx);
void paths_done(struct paths *p); /* legal on a zeroed one */

/* Roots: every word of a range; or one that is in no memory, for which `at` stands. With
 * `inside`, pointers into the middle of blocks count too. */
void paths_range(struct paths *p, struct scan_range range, bool inside);
void paths_word(struct paths *p, uint64_t word, uint64_t at, uint32_t root, bool inside);

/* A block that is held by nobody, taken for a root: paths begin at it. */
void paths_block(struct paths *p, uint32_t block, uint32_t root);

/* Everything that can be found from what was found so far. */
void paths_follow(struct paths *p, bool inside);

/* The way to a block: block numbers from the first behind the root to the block itself,
 * at most `max`; of a longer way the first max - max / 2 and the last max / 2. Returns
 * how many; the words are from[] of each. 0 = it was not found. *ret_all is how long the
 * way is. */
uint32_t paths_to(const struct paths *p, uint32_t block, uint32_t *ret_blocks,
		  uint32_t max, uint32_t *ret_all);

#endif
