/* SPDX-License-Identifier: MIT */
/* fence_signal.h -- SIGSEGV, for fenced pages: between the pool (fence.c) and the
 * handler. */
#ifndef SEEP_FENCE_SIGNAL_H
#define SEEP_FENCE_SIGNAL_H

#include <stdbool.h>

/* A fault in the pool: told, and the page opened. False: the kernel does not let us. */
bool fence_caught(unsigned char *at, const void *context);

/* Once the pool is there: the handler comes before the program's. */
void fence_take_signal(void);

#endif
