/* SPDX-License-Identifier: MIT */
/* who.h -- who holds a single block of a heap that was searched, step by step from a
 * root.
 *
 * Strings are in its arena, or constants. */
#ifndef SEEP_SESSION_WHO_H
#define SEEP_SESSION_WHO_H

#include "tool/session/heap/heapcheck.h"
#include "tool/util/arena.h"
#include "tool/util/vec.h"

/* A word that leads on to a block. */
struct who_step {
	const char
		*place; /* root the word is in; NULL = in the block of the step before */
	uint64_t at;	/* address of the word; 0 = in no memory */
	uint64_t off;	/* of the word in that block */
	uint64_t block, size; /* where it leads */
	uint64_t into;	      /* how far into that block it points */
	const char *what;     /* type or look of that block */
};

struct who {
	uint64_t address;
	uint64_t block,
		size;	  /* block 0: the address is in none, `what` says where it is */
	const char *kind; /* "still reachable" … */
	const char *what;
	const char *target; /* "4711 (api-server)" */
	VEC(struct who_step) steps;
	uint32_t left_out;   /* steps that are not there, */
	uint32_t left_after; /* behind so many that are */
	VEC(struct who_step)
	others; /* further words that point to it; block is that which they are in */
	uint64_t more_others;
	struct arena strings; /* for all of them */
};

void who_done(struct who *w);

/* "definitely lost" and the like, for the state of a block. */
const char *who_kind(unsigned state);

/* Who holds the block at `addr`, or what else is there. End with who_done. The process
 * must stand still. */
void who_find(struct heapcheck *c, uint64_t addr, struct who *ret);

/* An address as people write it: hexadecimal with or without 0x. */
bool who_address(const char *text, uint64_t *ret_addr);

#endif
