/* SPDX-License-Identifier: MIT */
/* flame_text.c -- decoding, cleaning and escaping of names, one character at a time. */
#include "tool/render/flame/flame_text.h"

#include <stdbool.h>
#include <string.h>

#include "tool/util/clean.h"

#define FLAME_BAD "\xef\xbf\xbd"      /* U+FFFD */
#define FLAME_ELLIPSIS "\xe2\x80\xa6" /* U+2026 */

void
flame_clean(struct buf *out, const char *text, size_t max_bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t from = out->len;

	while (*s != '\0') {
		unsigned n;
		uint32_t c = clean_decode(s, 4, &n); /* the NUL at the end stops it */

		if (max_bytes != 0 && out->len - from + (n > 3 ? n : 3) > max_bytes) {
			buf_add_str(out, FLAME_ELLIPSIS);
			return;
		}
		if (n == 1 && (c == '\t' || c == '\n' || c == '\r'))
			buf_add_char(out, ' ');
		else if (n != 0 && (c == 0x2028 || c == 0x2029))
			buf_add_char(out, ' ');
		else if (n == 0 || clean_harmful(c))
			buf_add_str(out, FLAME_BAD);
		else
			buf_add(out, s, n);
		s += n != 0 ? n : 1;
	}
}

static const char *
entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void
flame_escape(struct buf *out, const char *text)
{
	struct buf clean = {0};
	const char *s;

	flame_clean(&clean, text, 0);
	s = buf_str(&clean);
	while (*s != '\0') {
		size_t plain = strcspn(s, "&<>\"'");

		buf_add(out, s, plain);
		s += plain;
		if (*s != '\0')
			buf_add_str(out, entity(*s++));
	}
	buf_done(&clean);
}

static bool
is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void
flame_cut(struct buf *out, const char *text, size_t columns)
{
	const char *s = text, *last = text; /* `last`: where the ellipsis would go */
	size_t n = 0;

	while (*s != '\0' && n < columns) {
		last = s++;
		while (is_inside(*s))
			s++;
		n++;
	}
	if (*s == '\0') {
		buf_add(out, text, (size_t)(s - text));
		return;
	}
	if (columns == 0)
		return;
	buf_add(out, text, (size_t)(last - text));
	buf_add_str(out, FLAME_ELLIPSIS);
}

uint32_t
flame_hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h ^ h >> 15;
}
