/* SPDX-License-Identifier: MIT */
/* hash.h -- mixing of 64-bit words and runs of bytes, for hash tables.
 *
 * Two rounds of multiply and shift: every bit of the input moves every bit of the
 * result. Not for secrets, and never stored: the constants may change. Who reads
 * foreign keys gives a seed that the file's author cannot know. Pure, any thread,
 * signal handlers too. */
#ifndef SEEP_SHARED_HASH_H
#define SEEP_SHARED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0x9fb21c651e98df25);
	x ^= x >> 29;
	x *= UINT64_C(0xd1b54a32d192ed03);
	return x ^ (x >> 32);
}

/* Of two words; the order counts. */
static inline uint64_t
hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(a) + b);
}

static inline uint64_t
hash_bytes(const void *p, size_t bytes, uint64_t seed)
{
	const unsigned char *at = p;
	uint64_t h = seed ^ bytes;
	uint64_t word;

	for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
		memcpy(&word, at, sizeof word);
		h = hash_pair(h, word);
	}
	if (bytes > 0) {
		word = 0;
		memcpy(&word, at, bytes);
		h = hash_pair(h, word);
	}
	return h;
}

#endif
