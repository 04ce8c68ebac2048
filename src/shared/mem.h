/* SPDX-License-Identifier: MIT */
/* mem.h -- numbers in bytes: little- and big-endian loads and stores at any address.
 *
 * Through memcpy, so alignment and aliasing are no concern; compilers make one
 * instruction of each. The bounds are the caller's business: foreign bytes go through
 * cursor.h instead. Pure, any thread, signal handlers too. */
#ifndef SEEP_SHARED_MEM_H
#define SEEP_SHARED_MEM_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "seep knows little-endian machines");

static inline uint16_t
mem_get_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t
mem_get_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t
mem_get_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint16_t
mem_get_be16(const void *p)
{
	return __builtin_bswap16(mem_get_u16(p));
}

static inline uint32_t
mem_get_be32(const void *p)
{
	return __builtin_bswap32(mem_get_u32(p));
}

static inline uint64_t
mem_get_be64(const void *p)
{
	return __builtin_bswap64(mem_get_u64(p));
}

static inline void
mem_put_u16(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void
mem_put_u32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void
mem_put_u64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

#endif
