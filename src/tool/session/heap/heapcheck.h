/* SPDX-License-Identifier: MIT */
/* heapcheck.h -- a heap that nobody recorded, looked through: its blocks, what is lost of
 * them, who holds the rest.
 *
 * Joins the image (a process or a core), the walk over malloc's heaps, src/tool/leak and
 * the names of roots, and fills a struct heapscan. Blocks and index stay until the end,
 * for questions about single blocks. */
#ifndef SEEP_SESSION_HEAPCHECK_H
#define SEEP_SESSION_HEAPCHECK_H

#include "tool/leak/classify.h"
#include "tool/leak/paths.h"
#include "tool/model/heapscan.h"
#include "tool/session/heap/holders.h"
#include "tool/session/heap/image.h"
#include "tool/target/heap/walker.h"

struct heapcheck;

struct heapcheck_opts {
	bool copy;	/* look at a copy of the process, so that it goes on meanwhile */
	bool only_copy; /* and not at all where that cannot be had */
	bool states_only; /* only which blocks are lost: no groups, no names */
	/* who holds most of a group, if there are blocks of these kinds (bits) */
	unsigned held;
	bool holders; /* the same of all blocks, and what would go with each holder */
	/* of a core: read in place of the file that it names; NULL = that one */
	const char *program;
	/* Called when everything is found, before the process goes on; NULL = nothing
	 * more is asked. */
	void (*then)(struct heapcheck *c, void *ctx);
	void *ctx;
};

/* Start with `= HEAPCHECK_NONE`; heapcheck_done is legal at any time. */
struct heapcheck {
	struct image image;
	struct heapblocks heap;
	struct image_ranges roots;
	VEC(struct scan_block) blocks;
	struct scan_index index;
	struct holders holders;
	struct paths paths;
	/* by block, with the paths: roots beside stacks and registers lead to it */
	bool *held;
	struct heapscan scan;
	void *index_memory; /* private */
};

#define HEAPCHECK_NONE                                                                   \
	{                                                                                \
		.image = IMAGE_NONE                                                      \
	}

/* Looks through the process that c->image was opened for, or a core. -ENOTSUP: it has
 * another malloc than glibc's, and the message says what can be done instead. */
#define HEAPCHECK_INTERRUPTED                                                            \
	"NO VERDICT  interrupted before the leak check was complete; the process "       \
	"continues"
int heapcheck_process(struct heapcheck *c, const struct heapcheck_opts *o, struct err *e);
int heapcheck_core(struct heapcheck *c, const char *path, const struct heapcheck_opts *o,
		   struct err *e);
void heapcheck_done(struct heapcheck *c);

/* Who holds what, unless that was found out already. */
void heapcheck_paths(struct heapcheck *c);

/* Who holds most blocks of each group, into the scan. */
void heapcheck_held(struct heapcheck *c);

/* The same, and what each root retains. */
void heapcheck_holders(struct heapcheck *c);

/* Whether a word found in a register is malloc's own: the header of the block behind this
 * one, left over from a call of malloc or free. It lies in the last word of the block
 * before, which it does not hold. */
bool heapcheck_is_header(const struct heapcheck *c, uint64_t word);

/* What a block is, for people: its type, or what it looks like. Borrowed from the
 * scan. */
const char *heapcheck_what(const struct heapcheck *c, const struct scan_block *b);

#endif
