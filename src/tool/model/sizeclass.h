/* SPDX-License-Identifier: MIT */
/* sizeclass.h -- blocks of about one size, as glibc's malloc sees them: what it holds can
 * be compared with what was asked for.
 *
 * Up to 1 KiB every size that malloc has is a class of its own, then there are eight for
 * each doubling. */
#ifndef SEEP_MODEL_SIZECLASS_H
#define SEEP_MODEL_SIZECLASS_H

#include <stdint.h>

enum {
	SIZECLASS_UNIT = 16,
	SIZECLASS_FINE =
		1024 / SIZECLASS_UNIT, /* the first one that is not a single size */
	SIZECLASS_MAX = SIZECLASS_FINE + (64 - 10) * 8,
};

/* Of a block of `bytes`, malloc's header with it. */
static inline unsigned
sizeclass_of(uint64_t bytes)
{
	unsigned log;

	if (bytes < SIZECLASS_FINE * SIZECLASS_UNIT)
		return (unsigned)(bytes / SIZECLASS_UNIT);
	log = 63 - (unsigned)__builtin_clzll(bytes);
	return SIZECLASS_FINE + (log - 10) * 8 + (unsigned)(bytes >> (log - 3) & 7);
}

/* Of the block that malloc makes of a request. */
static inline unsigned
sizeclass_of_request(uint64_t bytes)
{
	uint64_t with = bytes < UINT64_MAX / 2 ? (bytes + 8 + 15) & ~UINT64_C(15) : bytes;

	return sizeclass_of(with < 32 ? 32 : with);
}

#endif
