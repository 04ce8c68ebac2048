/* SPDX-License-Identifier: MIT */
/* pieces.h -- some of the equal pieces of something large, in few places.
 *
 * Who goes through something large mostly does so in order, and comes back to few pieces:
 * the one that was read first is the one replaced, and its place, which need not be made
 * and is in the processor's cache, used again. That some are asked for again shows that
 * there are too few places: then there will be twice as many, up to a limit. So what is
 * gone through once costs next to nothing, and what is gone through at random as much as
 * all of it.
 *
 *	struct pieces p = {.piece_bytes = 65536, .most = 4096};
 *	unsigned char *at = pieces_find(&p, 7);
 *	if (at == NULL && (at = pieces_room(&p, 7)) != NULL)
 *		read_piece(7, at);
 *
 * A pointer is good until the next pieces_room. Pieces that are kept are never replaced,
 * and have places of their own. */
#ifndef SEEP_UTIL_PIECES_H
#define SEEP_UTIL_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/map.h"
#include "tool/util/vec.h"

struct pieces {
	size_t piece_bytes; /* set by the caller: a power of two, 4 MiB at most, */
	size_t most;	    /* and how many places there may be; */
	size_t others_most; /* of these, for pieces that are not kept; 0 = no fewer */
	/* private */
	struct map where;	    /* number of a piece -> its place + 1, or replaced */
	VEC(unsigned char *) slabs; /* many places each */
	VEC(uint64_t) held; /* number of the piece in each place that is in use, */
	size_t kept;	    /* of which so many, the first, are kept */
	size_t turn;	    /* place whose piece is replaced next */
	size_t limit;	    /* places there are for now, but for those kept */
	size_t again;	    /* pieces asked for again since that was set */
};

/* Gives everything back. */
void pieces_done(struct pieces *p);

/* Where piece `number` is; NULL: it is not there. */
unsigned char *pieces_find(struct pieces *p, uint64_t number);

/* Whether it is there, for who does not need it now. */
bool pieces_has(const struct pieces *p, uint64_t number);

/* Whether there are as many as may be: the next one will replace another. */
bool pieces_full(const struct pieces *p);

/* A place for piece `number`, which is not there, with whatever is in it. NULL: no
 * memory. */
unsigned char *pieces_room(struct pieces *p, uint64_t number);

/* The same for a piece that is to be kept; NULL also where there are too many. Others
 * must have been dropped. */
unsigned char *pieces_keep(struct pieces *p, uint64_t number);

/* Forgets all but those kept, or all. */
void pieces_drop(struct pieces *p, bool kept_too);

#endif
