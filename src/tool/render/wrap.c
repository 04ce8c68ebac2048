/* SPDX-License-Identifier: MIT */
/* wrap.c -- see wrap.h. */
#include "tool/render/wrap.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { WRAP_INDENT = 4 };

/* Bytes of a colour's code at `s`, 0 for none. */
static size_t
wrap_colour(const char *s)
{
	size_t n = 2;

	if (s[0] != '\033' || s[1] != '[')
		return 0;
	while (isdigit((unsigned char)s[n]) || s[n] == ';')
		n++;
	return s[n] == 'm' ? n + 1 : 0;
}

static size_t
wrap_width(const char *s, size_t bytes)
{
	size_t columns = 0;

	for (size_t i = 0; i < bytes;) {
		size_t skip = wrap_colour(s + i);

		columns += skip == 0 && ((unsigned char)s[i] & 0xc0) != 0x80;
		i += skip > 0 ? skip : 1;
	}
	return columns;
}

/* May the line be broken at the blank s[i]? */
static bool
wrap_may_break(const char *s, size_t i)
{
	/* "72 blocks", "31 %"; a dot ends the line */
	return !(isdigit((unsigned char)s[i - 1]) &&
		 (isalpha((unsigned char)s[i + 1]) || s[i + 1] == '%')) &&
	       strncmp(s + i + 1, "\xc2\xb7 ", 3) != 0;
}

/* Is the blank s[i] behind a dot between two facts? */
static bool
wrap_is_dot(const char *s, size_t i)
{
	return (i >= 2 && memcmp(s + i - 2, "\xc2\xb7", 2) == 0) ||
	       (i >= 2 && s[i - 1] == '-' && s[i - 2] == ' '); /* the same in ASCII */
}

/* Bytes of the first part of a line of `n` bytes that is to have at most `columns`; `n`
 * when it cannot be broken. */
static size_t
wrap_first(const char *s, size_t n, size_t columns)
{
	const char *command = memmem(s, n, "next: ", 6);
	size_t end = command != NULL ? (size_t)(command - s) : n, at = 0, wide = 0;
	size_t first = strspn(s, " "), best = 0, dot = 0;

	while (at < n && wide <= columns) {
		size_t skip = wrap_colour(s + at);

		if (s[at] == ' ' && at > first && at + 1 < n && s[at - 1] != ' ' &&
		    (at < end || wrap_is_dot(s, at)) && wrap_may_break(s, at)) {
			best = at;
			if (wrap_is_dot(s, at) && wide * 2 > columns)
				dot = at;
		}
		wide += skip == 0 && ((unsigned char)s[at] & 0xc0) != 0x80;
		at += skip > 0 ? skip : 1;
	}
	if (dot != 0)
		return dot;
	return best != 0 ? best : n;
}

static void
wrap_line(struct buf *out, const char *s, size_t n, unsigned columns)
{
	size_t indent = strspn(s, " ");

	indent = indent >= WRAP_INDENT ? indent + 2 : WRAP_INDENT;
	for (size_t room = columns; wrap_width(s, n) > room; room = columns - indent) {
		size_t part = wrap_first(s, n, room);

		if (part == n)
			break;
		buf_add(out, s, part);
		part += strspn(s + part, " ");
		s += part;
		n -= part;
		buf_printf(out, "\n%*s", (int)indent, "");
	}
	buf_add(out, s, n);
}

void
wrap_text(struct buf *out, size_t from, unsigned columns)
{
	struct buf text = {0};
	const char *s, *end;

	if (out->len <= from || columns <= 2 * WRAP_INDENT)
		return;
	buf_add(&text, out->data + from, out->len - from);
	out->len = from;
	for (s = buf_str(&text); *s != '\0'; s = end) {
		end = s + strcspn(s, "\n");
		wrap_line(out, s, (size_t)(end - s), columns);
		if (*end == '\n') {
			buf_add_char(out, '\n');
			end++;
		}
	}
	buf_done(&text);
}

void
wrap_term(struct buf *out, size_t from, const struct term *t)
{
	if (t != NULL && t->columns > 0)
		wrap_text(out, from, t->columns);
}

size_t
wrap_lines(const char *s, unsigned columns)
{
	size_t lines = 0;

	for (const char *end; *s != '\0'; s = end + (*end != '\0')) {
		size_t width;

		end = s + strcspn(s, "\n");
		width = wrap_width(s, (size_t)(end - s));
		lines += columns > 0 && width > columns ? (width + columns - 1) / columns
							: 1;
	}
	return lines;
}
