/* SPDX-License-Identifier: MIT */
/* hand.h -- what a forked child is handed: the list of blocks that it inherits.
 *
 * One list at a time: where two threads fork at once, one of the children starts
 * empty. */
#ifndef SEEP_HAND_H
#define SEEP_HAND_H

#include <stdbool.h>
#include <stdint.h>

struct inherit;
struct recorder;

/* List our blocks for the child that is about to be made. No handler may run meanwhile:
 * it could fork, and its child would go on listing blocks that are gone. */
void hand_fill(struct recorder *r);

/* After it: the parent needs no list, the child none that is not its own. */
void hand_settle(bool child);

/* Take the list out of a forked child's hand, unless it is an ancestor's that has begun
 * another recording than the one numbered `begun` since. NULL: there is none. */
struct inherit *hand_take(uint64_t begun);

/* In a child that was forked in the middle of an event: the list is of an outer fork,
 * whose child may begin with it. */
void hand_drop(void);

/* Never a moment in which a list is gone and still to be found: a handler may fork,
 * another thread does. */
void hand_forget(struct inherit **list);

#endif
