/* SPDX-License-Identifier: MIT */
/* census_blocks.h -- every live block of the recorder, one by one. For census.c and
 * preload. */
#ifndef SEEP_CENSUS_BLOCKS_H
#define SEEP_CENSUS_BLOCKS_H

#include "guest/record/file/recorder.h"

/* `a` and `b` are the words of its struct rec_block. */
typedef void census_block_fn(void *arg, uintptr_t addr, uint64_t a, uint64_t b);

/* Calls `fn` for each block that is live. Takes no lock; blocks that come or go meanwhile
 * may or may not be among them. */
void census_each_block(const struct recorder *r, census_block_fn *fn, void *arg);

#endif
