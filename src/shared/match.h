/* SPDX-License-Identifier: MIT */
/* match.h -- which of 16 bytes equal a given one, as a bit mask: one compare where the
 * processor has one, plain C elsewhere. */
#ifndef SEEP_SHARED_MATCH_H
#define SEEP_SHARED_MATCH_H

#include <stdint.h>

#if defined(__SSE2__)
#	include <emmintrin.h>

static inline uint32_t
match16(const uint8_t *at, uint8_t byte)
{
	__m128i have = _mm_loadu_si128((const __m128i *)(const void *)at);

	return (uint32_t)_mm_movemask_epi8(
		_mm_cmpeq_epi8(have, _mm_set1_epi8((char)byte)));
}
#else
static inline uint32_t
match16(const uint8_t *at, uint8_t byte)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < 16; i++)
		mask |= (uint32_t)(at[i] == byte) << i;
	return mask;
}
#endif

#endif
