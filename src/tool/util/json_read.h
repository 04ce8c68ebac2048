/* SPDX-License-Identifier: MIT */
/* json_read.h -- reads JSON into a tree, for the few places that take in what seep has
 * written itself.
 *
 * Strict as RFC 8259 but for one thing: text that is not UTF-8 is taken as it is. A tree
 * is an array of values; children of one follow one another by `next`. Nesting up to 64
 * deep. */
#ifndef SEEP_UTIL_JSON_READ_H
#define SEEP_UTIL_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/arena.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

enum json_type {
	JSON_NULL = 0,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_type type;
	const char *key;  /* in an object; else NULL */
	const char *text; /* of a string, ended by a NUL; it may have others */
	double number;
	uint32_t first, next; /* child, sibling: index in json_tree.values; 0 = none */
	uint32_t count;	      /* children */
};

struct json_tree {
	VEC(struct json_value) values; /* [0] is the whole */
	struct arena strings;
};

/* Reads all of the text. A message says where it is wrong. Free with json_tree_done, also
 * after a failure. */
int json_read(struct json_tree *ret_tree, const void *data, size_t bytes, struct err *e);
void json_tree_done(struct json_tree *t); /* legal on a zeroed one */

/* The member of an object, or NULL; `v` may be NULL or anything. */
const struct json_value *json_get(const struct json_tree *t, const struct json_value *v,
				  const char *key);

/* A child's sibling or first child, or NULL. */
const struct json_value *json_first(const struct json_tree *t,
				    const struct json_value *v);
const struct json_value *json_next(const struct json_tree *t, const struct json_value *v);

/* A number that is one, not below 0 and not above 2^63; else 0. NULL is legal. */
uint64_t json_u64_of(const struct json_value *v);

/* A string's text; NULL for everything else. */
const char *json_text_of(const struct json_value *v);

#endif
