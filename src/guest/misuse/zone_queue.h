/* SPDX-License-Identifier: MIT */
/* zone_queue.h -- freed blocks held back, the oldest first. Used by zone.c alone. */
#ifndef SEEP_ZONE_QUEUE_H
#define SEEP_ZONE_QUEUE_H

#include "guest/misuse/zone_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands before a block. */
struct head {
	uint64_t magic; /* of the block's address */
	size_t bytes;
	uint32_t front; /* how far before the block the allocator's begins */
	uint32_t site, freed;
	uint32_t of; /* which recording these refs are of */
	struct head *next;
	struct room_filled
		filled;	    /* of a freed one: what of it nobody may have changed */
	uint8_t func, kind; /* what freed it; where it came from */
	bool told;	    /* what was written around it has been reported */
	uint8_t unused[5];
};

_Static_assert(sizeof(struct head) % 16 == 0, "blocks stay aligned");

/* At the end; false: it could not be. */
bool queue_push(struct head *h);

/* The oldest, if there are more than `most` bytes in the queue; NULL: there are not. */
struct head *queue_pop(size_t most);

/* Every one that is in it, where it stands. */
void queue_each(void (*look)(struct head *h));

/* In a forked child. */
void queue_forked(void);

#endif
