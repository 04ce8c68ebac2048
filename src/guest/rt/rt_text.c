/* SPDX-License-Identifier: MIT */
/* rt_text.c -- formatting into a caller's buffer, parsing of numbers. See rt_text.h. */
#include "guest/rt/rt_text.h"

#include <string.h>

struct text
text_on(char *buf, size_t cap)
{
	buf[0] = '\0';
	return (struct text){.at = buf, .cap = cap};
}

void
text_addn(struct text *t, const char *s, size_t n)
{
	size_t room = t->cap - 1 - t->len;

	if (n > room) {
		n = room;
		t->cut = true;
	}
	memcpy(t->at + t->len, s, n);
	t->len += n;
	t->at[t->len] = '\0';
}

void
text_add(struct text *t, const char *s)
{
	text_addn(t, s, text_len(s));
}

void
text_dec(struct text *t, uint64_t n)
{
	char digits[20];
	size_t i = sizeof(digits);

	do
		digits[--i] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	text_addn(t, digits + i, sizeof(digits) - i);
}

void
text_hex(struct text *t, uint64_t n, unsigned digits)
{
	for (unsigned i = digits; i-- > 0;)
		text_addn(t, &"0123456789abcdef"[n >> (4 * i) & 15], 1);
}

size_t
text_len(const char *s)
{
	size_t n = 0;

	/* Not strlen: that may be an ifunc not yet relocated when we are called first. */
	while (s[n] != '\0')
		n++;
	return n;
}

bool
text_same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b)
		a++, b++;
	return *a == *b;
}

bool
text_size(const char *s, const char *end, uint64_t *ret)
{
	uint64_t n = 0;
	const char *first = s;

	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (n > (UINT64_MAX >> 4) / 10)
			return false;
		n = n * 10 + (uint64_t)(*s - '0');
	}
	if (s == first)
		return false;
	if (s < end) {
		unsigned shift = *s == 'K' || *s == 'k'	  ? 10
				 : *s == 'M' || *s == 'm' ? 20
				 : *s == 'G' || *s == 'g' ? 30
							  : 0;

		if (shift == 0 || s + 1 != end || n > UINT64_MAX >> shift)
			return false;
		n <<= shift;
	}
	*ret = n;
	return true;
}

bool
text_hex_u64(const char *s, const char *end, uint64_t *ret)
{
	uint64_t n = 0;

	if (s == end || end - s > 16)
		return false;
	for (; s < end; s++) {
		unsigned d = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
			     : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a' + 10)
						      : 16u;

		if (d == 16)
			return false;
		n = n << 4 | d;
	}
	*ret = n;
	return true;
}
