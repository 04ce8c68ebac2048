/* SPDX-License-Identifier: MIT */
/* json_read.c -- see json_read.h: recursive descent, with a bound on its depth. */
#include "tool/util/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/buf.h"

enum { JSON_READ_DEPTH = 64, JSON_NUMBER_BYTES = 64 };

struct json_reader {
	struct json_tree *t;
	const char *start, *at, *end;
	struct err *e;
	struct buf text;
};

static int
jr_fail(struct json_reader *r, const char *what)
{
	return err_set(r->e, -EINVAL, "byte %zu: %s", (size_t)(r->at - r->start) + 1,
		       what);
}

static void
jr_blanks(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool
jr_char(struct json_reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* ---- strings ---- */

static bool
jr_hex4(struct json_reader *r, uint32_t *ret)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++, r->at++) {
		char c = r->at < r->end ? *r->at : 'x';
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return false;
		n = n << 4 | (uint32_t)digit;
	}
	*ret = n;
	return true;
}

static void
jr_utf8(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(b, (char)c);
	} else if (c < 0x800) {
		buf_add_char(b, (char)(0xc0 | c >> 6));
		buf_add_char(b, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		buf_add_char(b, (char)(0xe0 | c >> 12));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buf_add_char(b, (char)(0x80 | (c & 63)));
	} else {
		buf_add_char(b, (char)(0xf0 | c >> 18));
		buf_add_char(b, (char)(0x80 | (c >> 12 & 63)));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 63)));
		buf_add_char(b, (char)(0x80 | (c & 63)));
	}
}

/* Behind "\u". Half of a pair alone becomes U+FFFD. */
static bool
jr_unicode(struct json_reader *r)
{
	const char *back;
	uint32_t c, low;

	if (!jr_hex4(r, &c))
		return false;
	back = r->at;
	if (c >= 0xd800 && c < 0xdc00 && jr_char(r, '\\') && jr_char(r, 'u') &&
	    jr_hex4(r, &low) && low >= 0xdc00 && low < 0xe000)
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	else
		r->at = back;
	jr_utf8(&r->text, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return true;
}

static bool
jr_escape(struct json_reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (r->at == r->end)
		return false;
	if (jr_char(r, 'u'))
		return jr_unicode(r);
	found = *r->at != '\0' ? strchr(from, *r->at) : NULL;
	if (found == NULL)
		return false;
	buf_add_char(&r->text, to[found - from]);
	r->at++;
	return true;
}

/* From behind the first quote on. */
static int
jr_string(struct json_reader *r, const char **ret)
{
	buf_clear(&r->text);
	for (;;) {
		if (r->at == r->end || (unsigned char)*r->at < ' ')
			return jr_fail(r, "a string without an end");
		if (jr_char(r, '"'))
			break;
		if (jr_char(r, '\\')) {
			if (!jr_escape(r))
				return jr_fail(r, "a wrong escape");
			continue;
		}
		buf_add_char(&r->text, *r->at++);
	}
	*ret = arena_memdup0(&r->t->strings, buf_str(&r->text), r->text.len);
	return 0;
}

/* ---- values ---- */

static int
jr_number(struct json_reader *r, double *ret)
{
	char text[JSON_NUMBER_BYTES];
	size_t n = 0;
	char *end;

	while (n < sizeof text - 1 && r->at + n < r->end &&
	       memchr("+-.eE0123456789", r->at[n], 15) != NULL) {
		text[n] = r->at[n];
		n++;
	}
	text[n] = '\0';
	if (n == 0 || text[0] == '+' || text[0] == '.' || text[0] == 'e' ||
	    text[0] == 'E')
		return jr_fail(r, "want a value");
	*ret = strtod(text, &end);
	if (*end != '\0')
		return jr_fail(r, "a wrong number");
	r->at += n;
	return 0;
}

static bool
jr_word(struct json_reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static int jr_value(struct json_reader *r, uint32_t row, unsigned depth);

/* The children of an array or object whose opening sign has been read. */
static int
jr_children(struct json_reader *r, uint32_t row, bool object, unsigned depth)
{
	char close = object ? '}' : ']';
	uint32_t last = 0;
	int ret;

	jr_blanks(r);
	if (jr_char(r, close))
		return 0;
	for (;;) {
		uint32_t child = (uint32_t)r->t->values.len;
		const char *key = NULL;

		vec_push(&r->t->values, (struct json_value){0});
		jr_blanks(r);
		if (object) {
			if (!jr_char(r, '"'))
				return jr_fail(r, "want a name in quotes");
			ret = jr_string(r, &key);
			if (ret < 0)
				return ret;
			jr_blanks(r);
			if (!jr_char(r, ':'))
				return jr_fail(r, "want a colon");
		}
		ret = jr_value(r, child, depth + 1);
		if (ret < 0)
			return ret;
		r->t->values.data[child].key = key;
		*(last == 0 ? &r->t->values.data[row].first
			    : &r->t->values.data[last].next) = child;
		r->t->values.data[row].count++;
		last = child;
		jr_blanks(r);
		if (jr_char(r, close))
			return 0;
		if (!jr_char(r, ','))
			return jr_fail(r, object ? "want , or }" : "want , or ]");
	}
}

/* Fills in row `row`. */
static int
jr_value(struct json_reader *r, uint32_t row, unsigned depth)
{
	struct json_value v = {0};
	int ret = 0;

	if (depth > JSON_READ_DEPTH)
		return jr_fail(r, "nested too deep");
	jr_blanks(r);
	if (jr_char(r, '{') || jr_char(r, '[')) {
		bool object = r->at[-1] == '{';

		r->t->values.data[row].type = object ? JSON_OBJECT : JSON_ARRAY;
		return jr_children(r, row, object, depth);
	}
	if (jr_char(r, '"')) {
		v.type = JSON_STRING;
		ret = jr_string(r, &v.text);
	} else if (jr_word(r, "true")) {
		v.type = JSON_TRUE;
	} else if (jr_word(r, "false")) {
		v.type = JSON_FALSE;
	} else if (!jr_word(r, "null")) {
		v.type = JSON_NUMBER;
		ret = jr_number(r, &v.number);
	}
	if (ret == 0)
		r->t->values.data[row] = v;
	return ret;
}

int
json_read(struct json_tree *ret_tree, const void *data, size_t bytes, struct err *e)
{
	struct json_reader r = {.t = ret_tree,
				.start = data,
				.at = data,
				.end = (const char *)data + bytes,
				.e = e};
	int ret;

	*ret_tree = (struct json_tree){0};
	vec_push(&ret_tree->values, (struct json_value){0});
	ret = jr_value(&r, 0, 0);
	jr_blanks(&r);
	if (ret == 0 && r.at < r.end)
		ret = jr_fail(&r, "more behind the end");
	buf_done(&r.text);
	return ret;
}

void
json_tree_done(struct json_tree *t)
{
	vec_done(&t->values);
	arena_done(&t->strings);
}

const struct json_value *
json_first(const struct json_tree *t, const struct json_value *v)
{
	return v != NULL && v->first != 0 ? &t->values.data[v->first] : NULL;
}

const struct json_value *
json_next(const struct json_tree *t, const struct json_value *v)
{
	return v->next != 0 ? &t->values.data[v->next] : NULL;
}

const struct json_value *
json_get(const struct json_tree *t, const struct json_value *v, const char *key)
{
	const struct json_value *at;

	if (v == NULL || v->type != JSON_OBJECT)
		return NULL;
	for (at = json_first(t, v); at != NULL; at = json_next(t, at)) {
		if (at->key != NULL && strcmp(at->key, key) == 0)
			return at;
	}
	return NULL;
}

uint64_t
json_u64_of(const struct json_value *v)
{
	if (v == NULL || v->type != JSON_NUMBER || !(v->number > 0) || v->number > 9.2e18)
		return 0;
	return (uint64_t)v->number;
}

const char *
json_text_of(const struct json_value *v)
{
	return v != NULL && v->type == JSON_STRING ? v->text : NULL;
}
