/* SPDX-License-Identifier: MIT */
/* who_text.h -- one block: what it is, who holds it, step by step from a root; and what is in it.
 *
 * Strings are in its arena, or constants. */
#ifndef SEEP_RENDER_WHO_TEXT_H
#define SEEP_RENDER_WHO_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/arena.h"
#include "tool/util/buf.h"
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

void who_text(struct buf *out, const struct who *w);
void who_json(struct buf *out, const struct who *w);
void who_done(struct who *w);

/* ---- bytes of a block ---- */

/* What a word of it means, or NULL; borrowed until the next call. */
typedef const char *who_namer(void *ctx, uint64_t word);

/* A line for every 16 bytes: hexadecimal, characters, and what the words point to. Masked unless `show`. Equal
 * lines are told once. */
void who_bytes(struct buf *out, uint64_t addr, const unsigned char *data, size_t bytes,
	       bool show, who_namer *name, void *ctx);

#endif
