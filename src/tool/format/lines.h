/* SPDX-License-Identifier: MIT */
/* lines.h -- text of other tools, line by line, and the few things that stand on a line.
 *
 * Everything works on a range [at, end) and never looks past its end; nothing is copied.
 * A scan_* that does not find what it looks for leaves `at` where it was and says
 * false. */
#ifndef SEEP_FORMAT_LINES_H
#define SEEP_FORMAT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lines {
	const char *at, *end;
	uint64_t number; /* of the line last given out, from 1 */
	bool cut;	 /* that line has no newline behind it */
};

struct line {
	const char *at, *end;
};

static inline struct lines
lines_init(const void *data, size_t bytes)
{
	return (struct lines){.at = data, .end = (const char *)data + bytes};
}

/* The next line, without its newline and a carriage return before that; false at the
 * end. */
static inline bool
lines_next(struct lines *l, struct line *ret)
{
	const char *nl;

	if (l->at == l->end)
		return false;
	nl = memchr(l->at, '\n', (size_t)(l->end - l->at));
	l->cut = nl == NULL;
	ret->at = l->at;
	ret->end = nl != NULL ? nl : l->end;
	l->at = nl != NULL ? nl + 1 : l->end;
	l->number++;
	if (ret->end > ret->at && ret->end[-1] == '\r')
		ret->end--;
	return true;
}

static inline size_t
line_len(const struct line *l)
{
	return (size_t)(l->end - l->at);
}

/* Adds without leaving the range: the figures of a file may be anything. */
static inline void
line_sum(int64_t *to, int64_t v)
{
	if (__builtin_add_overflow(*to, v, to))
		*to = v < 0 ? INT64_MIN : INT64_MAX;
}

static inline bool
scan_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline void
scan_blanks(struct line *l)
{
	while (l->at < l->end && scan_is_blank(*l->at))
		l->at++;
}

/* Blanks at both ends are left out. */
static inline void
scan_trim(struct line *l)
{
	scan_blanks(l);
	while (l->end > l->at && scan_is_blank(l->end[-1]))
		l->end--;
}

/* Steps over `text` if the line goes on with it. */
static inline bool
scan_text(struct line *l, const char *text)
{
	size_t n = strlen(text);

	if (line_len(l) < n || memcmp(l->at, text, n) != 0)
		return false;
	l->at += n;
	return true;
}

static inline bool
scan_char(struct line *l, char c)
{
	if (l->at == l->end || *l->at != c)
		return false;
	l->at++;
	return true;
}

/* A word up to the next blank or the end; false when there is none. */
static inline bool
scan_word(struct line *l, struct line *ret)
{
	ret->at = l->at;
	while (l->at < l->end && !scan_is_blank(*l->at))
		l->at++;
	ret->end = l->at;
	return ret->end > ret->at;
}

/* An unsigned decimal number that fits. */
static inline bool
scan_u64(struct line *l, uint64_t *ret)
{
	const char *at = l->at;
	uint64_t v = 0;

	for (; at < l->end && *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (at == l->at)
		return false;
	l->at = at;
	*ret = v;
	return true;
}

/* A decimal number that may have a minus sign. */
static inline bool
scan_i64(struct line *l, int64_t *ret)
{
	struct line at = *l;
	bool minus = scan_char(&at, '-');
	uint64_t v;

	if (!scan_u64(&at, &v) || v > INT64_MAX)
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	*l = at;
	return true;
}

static inline int
scan_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A hexadecimal number of at most 64 bits, with or without 0x before it. */
static inline bool
scan_hex(struct line *l, uint64_t *ret)
{
	struct line at = *l;
	uint64_t v = 0;
	unsigned digits = 0;

	if (!scan_text(&at, "0x"))
		scan_text(&at, "0X");
	for (; at.at < at.end && scan_hex_digit(*at.at) >= 0; at.at++, digits++) {
		if (v >> 60 != 0)
			return false;
		v = v << 4 | (unsigned)scan_hex_digit(*at.at);
	}
	if (digits == 0)
		return false;
	l->at = at.at;
	*ret = v;
	return true;
}

#endif
