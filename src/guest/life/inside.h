/* SPDX-License-Identifier: MIT */
/* inside.h -- a program that asks for a look at its own memory. */
#ifndef SEEP_INSIDE_H
#define SEEP_INSIDE_H

#include <stdint.h>

/* What the look is for. */
enum inside_ask {
	INSIDE_ALL = 0,	      /* whatever is lost is told on stderr */
	INSIDE_NEW = 1,	      /* what was not lost at the last look */
	INSIDE_DRACONIAN = 3, /* what is still reachable, too */
	INSIDE_LSAN = 4,      /* as INSIDE_ALL, in LeakSanitizer's words */
	INSIDE_QUIET =
		2, /* nothing is told; the next look for what is new counts from here */
};

/* Starts the tool, which looks at us, and waits for it. 0 nothing is lost, 1 something
 * is, -1 it could not be done. `sp`: below this the stack is ours. Not from signal
 * handlers; leaves errno alone. */
int inside_look(enum inside_ask ask, uintptr_t sp);

/* In a forked child. */
void inside_forked(void);

#endif
