/* SPDX-License-Identifier: MIT */
/* blocklook.c -- see blocklook.h. */
#include "tool/analyze/process/blocklook.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shared/mem.h"
#include "tool/analyze/process/content.h"

/* A look is one of these with what goes with it: whether the byte is zero, or a digit for
 * each of the first words. */
enum {
	LOOK_EMPTY = 0,
	LOOK_FILLED = 1 << 16,
	LOOK_TEXT = 2 << 16,
	LOOK_WORDS = 3 << 16,
	LOOK_SORTS = 0xff << 16,
	WORDS = 4, /* that are told apart */
	WORD_BITS = 4,
	WORD_NONE = 15,
	TEXT_LEAST = 6,
};

static bool
is_filled(const unsigned char *p, size_t n)
{
	return n >= 8 && memcmp(p, p + 1, n - 1) == 0;
}

/* Text up to a NUL or to the end. */
static bool
is_text(const unsigned char *p, size_t n)
{
	size_t i = 0;

	while (i < n && content_is_text(p[i]))
		i++;
	return i >= TEXT_LEAST && (i == n || p[i] == '\0' || p[i] == '\n');
}

uint32_t
blocklook(const struct memmap *map, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	size_t n = bytes < BLOCKLOOK_BYTES ? bytes : BLOCKLOOK_BYTES;
	uint32_t look = LOOK_WORDS;

	if (n == 0)
		return LOOK_EMPTY;
	if (is_filled(p, n))
		return LOOK_FILLED | (p[0] != 0);
	/* The bytes of an address may all be letters. */
	if (is_text(p, n) &&
	    (n < 8 || content_word(map, mem_get_u64(p)) != CONTENT_POINTER))
		return LOOK_TEXT;
	for (unsigned i = 0; i < WORDS; i++) {
		uint32_t sort = WORD_NONE;

		if ((i + 1) * 8 <= n)
			sort = content_word(map, mem_get_u64(p + (size_t)i * 8));
		look |= sort << i * WORD_BITS;
	}
	return look;
}

void
blocklook_words(uint32_t look, char *ret, size_t size)
{
	static const char *const one[CONTENT_WORDS] = {
		"zero", "pointer",	  "small number", "text",
		"time", "floating point", "data"};
	size_t at = 0;

	ret[0] = '\0';
	switch (look & (uint32_t)LOOK_SORTS) {
	case LOOK_FILLED:
		snprintf(ret, size, (look & 1) == 0 ? "all zero" : "all bytes equal");
		return;
	case LOOK_TEXT:
		snprintf(ret, size, "text");
		return;
	case LOOK_WORDS:
		for (unsigned i = 0; i < WORDS && at < size; i++) {
			unsigned sort = look >> i * WORD_BITS & WORD_NONE;

			if (sort < CONTENT_WORDS)
				at += (size_t)snprintf(ret + at, size - at, "%s%s",
						       i > 0 ? ", " : "", one[sort]);
		}
		return;
	default:
		return;
	}
}
