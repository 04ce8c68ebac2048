/* SPDX-License-Identifier: MIT */
/* varint.h -- whole numbers in as few bytes as they need.
 *
 * Seven bits a byte, lowest first, top bit set on all but the last: the code of
 * protobuf and of DWARF's ULEB128. Signed numbers are folded first (0, -1, 1, -2 …
 * become 0, 1, 2, 3 …), so that small ones stay short. Pure; the writer's room is the
 * caller's business. */
#ifndef SEEP_SHARED_VARINT_H
#define SEEP_SHARED_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10 }; /* of a 64-bit number */

/* Writes `v` at `to`, which has VARINT_MAX_BYTES of room; returns how many bytes it
 * took. */
static inline size_t
varint_put(unsigned char *to, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		to[n++] = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	to[n++] = (unsigned char)v;
	return n;
}

/* Reads a number from `left` bytes; returns how many it took, or 0 when they end too
 * soon or hold more than 64 bits. *ret_v is untouched then. */
static inline size_t
varint_get(const unsigned char *from, size_t left, uint64_t *ret_v)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (size_t n = 0; n < left && shift < 64; n++, shift += 7) {
		v |= (uint64_t)(from[n] & 0x7f) << shift;
		if ((from[n] & 0x80) != 0)
			continue;
		if (shift == 63 && from[n] > 1)
			return 0; /* a 65th bit */
		*ret_v = v;
		return n + 1;
	}
	return 0;
}

static inline uint64_t
varint_fold(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t
varint_unfold(uint64_t v)
{
	return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

#endif
