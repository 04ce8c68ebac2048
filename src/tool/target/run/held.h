/* SPDX-License-Identifier: MIT */
/* held.h -- a program that was just started, held at its entry until the recorder is in
 * it.
 *
 * Its loader has done its work by then, nothing of the program itself has run. It is held
 * by two bytes: a jump to itself in the place of its first instruction. */
#ifndef SEEP_TARGET_HELD_H
#define SEEP_TARGET_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/err.h"

enum { HELD_BYTES = 2 };

struct held {
	int pid;
	uint64_t entry;
	uint8_t before[HELD_BYTES];
};

/* Whether this can be done on this kind of machine at all. */
bool held_possible(void);

/* In the child, before exec: whoever started it may take hold of it. */
int held_prepare(void);

/* Takes hold of a child that has called held_prepare and is executing a program; it goes
 * on up to its entry. */
int held_take(int pid, struct held *ret, struct err *e);

/* Waits until it is there. -ESRCH: it has ended before. */
int held_wait(const struct held *h, struct err *e);

/* Lets it begin. */
int held_release(const struct held *h, struct err *e);

#endif
