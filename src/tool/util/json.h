/* SPDX-License-Identifier: MIT */
/* json.h -- writes JSON into a buf as it goes.
 *
 *	json_obj(&j); json_key(&j, "bytes"); json_u64(&j, n); json_obj_end(&j);
 *
 * Commas, quotes and escapes are its business; the caller may empty the buf at any time
 * to send what is there. Strings may hold any bytes: what is not UTF-8 becomes U+FFFD,
 * one for each maximal broken part, as browsers and Python do. Nesting up to 256 deep.
 * There is no reading. */
#ifndef SEEP_UTIL_JSON_H
#define SEEP_UTIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"

#define JSON_MAX_DEPTH 256

/* "seep_json" in everything that seep prints as JSON: raised by a change that breaks
 * readers (docs/json.md lists the versions). */
enum { JSON_SCHEMA = 3 };

struct json {
	struct buf *out; /* the caller's */
	bool html;	 /* escape < > & too, so that it may stand inside <script> */
	bool bad;	 /* calls did not make a JSON text: see json_ok */
	bool key;	 /* a key was written, its value is due */
	unsigned depth;
	bool some[JSON_MAX_DEPTH + 1];	 /* this level has an item already */
	bool is_obj[JSON_MAX_DEPTH + 1]; /* this level is an object */
};

/* Begins a text that is appended to `out`. */
void json_init(struct json *j, struct buf *out);

void json_obj(struct json *j);
void json_obj_end(struct json *j);
void json_arr(struct json *j);
void json_arr_end(struct json *j);

/* The next member's name, in an object only. */
void json_key(struct json *j, const char *name);

/* Values. A NULL string is null, and so is a double that is not finite. */
void json_str(struct json *j, const char *s);
void json_strn(struct json *j, const void *p, size_t n);
void json_u64(struct json *j, uint64_t n);
void json_i64(struct json *j, int64_t n);
void json_f64(struct json *j, double x);
void json_bool(struct json *j, bool x);
void json_null(struct json *j);

/* A member of an object: its name and its value. */
void json_member_str(struct json *j, const char *name, const char *s);
void json_member_u64(struct json *j, const char *name, uint64_t n);
void json_member_i64(struct json *j, const char *name, int64_t n);
/* null unless it is known. */
void json_member_u64_if(struct json *j, const char *name, bool known, uint64_t n);
void json_member_i64_if(struct json *j, const char *name, bool known, int64_t n);
void json_member_f64(struct json *j, const char *name, double x);
void json_member_bool(struct json *j, const char *name, bool x);
void json_member_obj(struct json *j, const char *name); /* opened */
void json_member_arr(struct json *j, const char *name); /* opened */

/* True when everything opened was closed and every value had its place. */
bool json_ok(const struct json *j);

/* Length of the valid UTF-8 character at s (n > 0 bytes left), or 0 with *ret_bad the
 * number of bytes one U+FFFD stands for. */
size_t json_utf8(const unsigned char *s, size_t n, size_t *ret_bad);

#endif
