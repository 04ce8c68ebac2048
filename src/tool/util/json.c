/* SPDX-License-Identifier: MIT */
/* json.c -- streaming JSON writer.
 *
 * A stack of two flags a level decides about commas. A misplaced call (a value without a
 * key, an end too many) sets `bad` instead of writing: the text stays what it was,
 * json_ok tells. */
#include "tool/util/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/clean.h"

void
json_init(struct json *j, struct buf *out)
{
	memset(j, 0, sizeof *j);
	j->out = out;
}

/* Comma before a value where one is due; false when no value may stand here. */
static bool
json_before_value(struct json *j)
{
	bool in_obj = j->depth > 0 && j->is_obj[j->depth];

	if (in_obj != j->key || (j->depth == 0 && j->some[0])) {
		j->bad = true;
		return false;
	}
	if (!in_obj && j->some[j->depth])
		buf_add_char(j->out, ',');
	j->some[j->depth] = true;
	j->key = false;
	return true;
}

static void
json_open(struct json *j, bool is_obj)
{
	if (j->depth >= JSON_MAX_DEPTH) {
		j->bad = true;
		return;
	}
	if (!json_before_value(j))
		return;
	buf_add_char(j->out, is_obj ? '{' : '[');
	j->depth++;
	j->some[j->depth] = false;
	j->is_obj[j->depth] = is_obj;
}

static void
json_close(struct json *j, bool is_obj)
{
	if (j->depth == 0 || j->is_obj[j->depth] != is_obj || j->key) {
		j->bad = true;
		return;
	}
	buf_add_char(j->out, is_obj ? '}' : ']');
	j->depth--;
}

void
json_obj(struct json *j)
{
	json_open(j, true);
}

void
json_obj_end(struct json *j)
{
	json_close(j, true);
}

void
json_arr(struct json *j)
{
	json_open(j, false);
}

void
json_arr_end(struct json *j)
{
	json_close(j, false);
}

size_t
json_utf8(const unsigned char *s, size_t n, size_t *ret_bad)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t want, i;

	*ret_bad = 1;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/* no overlong forms, no surrogates, nothing above U+10FFFF */
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < want; i++) {
		if (i >= n || s[i] < lo || s[i] > hi) {
			*ret_bad = i;
			return 0;
		}
		lo = 0x80;
		hi = 0xbf;
	}
	return want;
}

/* The escape of one ASCII character, or NULL when it stands for itself. */
static const char *
json_escape(const struct json *j, unsigned char c, char scratch[16])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	case '<':
	case '>':
	case '&':
		if (!j->html)
			return NULL;
		break;
	default:
		if (c >= 0x20 && c != 0x7f)
			return NULL;
	}
	snprintf(scratch, 16, "\\u%04x", c);
	return scratch;
}

/* The same for a longer one: valid JSON as it is, but not to be printed (clean.h). */
static const char *
json_escape_wide(const unsigned char *s, size_t len, char scratch[16])
{
	unsigned bytes;
	uint32_t c = clean_decode(s, len, &bytes);

	if (bytes == 0 || !clean_harmful(c))
		return NULL;
	if (c < 0x10000)
		snprintf(scratch, 16, "\\u%04x", c);
	else
		snprintf(scratch, 16, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
			 0xdc00 + (c & 0x3ff));
	return scratch;
}

static void
json_quote(struct json *j, const unsigned char *s, size_t n)
{
	const char *esc;
	char scratch[16];
	size_t i = 0, plain = 0, len, bad;

	buf_add_char(j->out, '"');
	while (i < n) {
		len = json_utf8(s + i, n - i, &bad);
		esc = len == 1 ? json_escape(j, s[i], scratch) : NULL;
		if (len == 0)
			esc = "\xef\xbf\xbd";
		if (len > 1)
			esc = json_escape_wide(s + i, len, scratch);
		if (esc == NULL) {
			i += len;
			continue;
		}
		buf_add(j->out, s + plain, i - plain);
		buf_add_str(j->out, esc);
		i += len ? len : bad;
		plain = i;
	}
	buf_add(j->out, s + plain, i - plain);
	buf_add_char(j->out, '"');
}

void
json_key(struct json *j, const char *name)
{
	if (j->depth == 0 || !j->is_obj[j->depth] || j->key) {
		j->bad = true;
		return;
	}
	if (j->some[j->depth])
		buf_add_char(j->out, ',');
	json_quote(j, (const unsigned char *)name, strlen(name));
	buf_add_char(j->out, ':');
	j->key = true;
}

void
json_strn(struct json *j, const void *p, size_t n)
{
	if (json_before_value(j))
		json_quote(j, p, n);
}

void
json_str(struct json *j, const char *s)
{
	if (s == NULL)
		json_null(j);
	else
		json_strn(j, s, strlen(s));
}

void
json_u64(struct json *j, uint64_t n)
{
	if (json_before_value(j))
		buf_printf(j->out, "%" PRIu64, n);
}

void
json_i64(struct json *j, int64_t n)
{
	if (json_before_value(j))
		buf_printf(j->out, "%" PRId64, n);
}

/* The shortest of 15 to 17 digits that reads back as the same double. */
void
json_f64(struct json *j, double x)
{
	char text[40];
	char *comma;

	if (!isfinite(x)) {
		json_null(j);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	comma = strchr(text, ','); /* some locales' decimal point */
	if (comma != NULL)
		*comma = '.';
	if (json_before_value(j))
		buf_add_str(j->out, text);
}

void
json_bool(struct json *j, bool x)
{
	if (json_before_value(j))
		buf_add_str(j->out, x ? "true" : "false");
}

void
json_null(struct json *j)
{
	if (json_before_value(j))
		buf_add_str(j->out, "null");
}

void
json_member_str(struct json *j, const char *name, const char *s)
{
	json_key(j, name);
	json_str(j, s);
}

void
json_member_u64(struct json *j, const char *name, uint64_t n)
{
	json_key(j, name);
	json_u64(j, n);
}

void
json_member_i64(struct json *j, const char *name, int64_t n)
{
	json_key(j, name);
	json_i64(j, n);
}

void
json_member_u64_if(struct json *j, const char *name, bool known, uint64_t n)
{
	json_key(j, name);
	if (known)
		json_u64(j, n);
	else
		json_null(j);
}

void
json_member_i64_if(struct json *j, const char *name, bool known, int64_t n)
{
	json_key(j, name);
	if (known)
		json_i64(j, n);
	else
		json_null(j);
}

void
json_member_f64(struct json *j, const char *name, double x)
{
	json_key(j, name);
	json_f64(j, x);
}

void
json_member_bool(struct json *j, const char *name, bool x)
{
	json_key(j, name);
	json_bool(j, x);
}

void
json_member_obj(struct json *j, const char *name)
{
	json_key(j, name);
	json_obj(j);
}

void
json_member_arr(struct json *j, const char *name)
{
	json_key(j, name);
	json_arr(j);
}

bool
json_ok(const struct json *j)
{
	return !j->bad && j->depth == 0 && !j->key && j->some[0];
}
