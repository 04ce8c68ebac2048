/* SPDX-License-Identifier: MIT */
/* zone.h -- room around blocks and freed blocks held back, between the hooks and the real
 * allocator.
 *
 * When asked for, the functions in `next` are replaced by ones that ask for more than the
 * program did, and look at what was written there when a block goes. The hooks and the
 * recorder know nothing of it: addresses and sizes are the program's. */
#ifndef SEEP_ZONE_H
#define SEEP_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zone_settings {
	bool on;	   /* blocks have room around them */
	size_t around;	   /* so much before and behind each; a multiple of 16 */
	size_t quarantine; /* freed blocks held back, in bytes; 0 = none */
};

/* Once, when recording begins; blocks that were handed out before stay as they are. */
void zone_install(const struct zone_settings *s);

/* The process ends: looks at all that is live, or held back. Once for a recording. */
void zone_end(void);

/* The calling thread's state, if it may be used: of a hook that has left the gate, or
 * that waits for us in the middle of a realloc. NULL: not now. zone_leave in any case. */
struct thread;
struct thread *zone_enter(uintptr_t cfa, bool *ret_entered);
void zone_leave(struct thread *t, bool entered);

/* A new recording, of a forked child, has begun. */
void zone_forked(void);

/* Is it a live block with room around it? It must be one that was handed out. */
bool zone_owns(const void *p);

/* A freed block that is held back at `p`. */
struct zone_freed {
	size_t bytes;
	uint32_t site, freed; /* refs; 0 when they are another recording's */
	uint32_t func, kind;  /* enum rec_func that freed it, enum rec_kind */
};
bool zone_held_back(uintptr_t p, struct zone_freed *ret);

#endif
