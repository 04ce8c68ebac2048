/* SPDX-License-Identifier: MIT */
/* spare.h -- what a program says is no leak: blocks, what a thread allocates for a while,
 * and memory that holds pointers. */
#ifndef SEEP_SPARE_H
#define SEEP_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "shared/recording.h"

/* Tells where the list is. */
void spare_tell(struct rec_hold *d);

/* A block was allocated while some thread has asked for its own to be spared. */
void spare_allocated(const void *p, size_t bytes);

/* In a forked child. */
void spare_forked(void);

#endif
