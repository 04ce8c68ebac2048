/* SPDX-License-Identifier: MIT */
/* vec.h -- growable arrays of any one type, as a few macros.
 *
 *	VEC(struct row) rows = {0};
 *	vec_push(&rows, (struct row){.bytes = 7});
 *	for (size_t i = 0; i < rows.len; i++) use(&rows.data[i]);
 *	vec_done(&rows);
 *
 * To pass one to a function, name it: `struct rows VEC_BODY(struct row);`. Growth
 * doubles, so a pointer into data is good only until the next push. Arguments `v` are
 * evaluated more than once. Out of memory aborts (x.h). */
#ifndef SEEP_UTIL_VEC_H
#define SEEP_UTIL_VEC_H

#include <stddef.h>

#include "tool/util/x.h"

#define VEC_BODY(type)                                                                   \
	{                                                                                \
		type *data;                                                              \
		size_t len, cap;                                                         \
	}
#define VEC(type) struct VEC_BODY(type)

/* Room for at least `n` items in all. */
#define vec_reserve(v, n)                                                                \
	((v)->data = vec_grow((v)->data, &(v)->cap, (n), sizeof *(v)->data))

/* Appends a copy of `item`. */
#define vec_push(v, ...)                                                                 \
	(vec_reserve((v), (v)->len + 1), (void)((v)->data[(v)->len++] = (__VA_ARGS__)))

/* Appends a zeroed item and yields its address. */
#define vec_add(v)                                                                       \
	(vec_reserve((v), (v)->len + 1),                                                 \
	 memset(&(v)->data[(v)->len], 0, sizeof *(v)->data), &(v)->data[(v)->len++])

/* Address of the last item; the vec must not be empty. */
#define vec_last(v) (&(v)->data[(v)->len - 1])

/* Sorts with a qsort comparison; an empty vec is legal. */
#define vec_sort(v, compare)                                                             \
	((v)->len > 1 ? qsort((v)->data, (v)->len, sizeof *(v)->data, (compare))         \
		      : (void)0)

/* The comparison, also for qsort and bsearch, of items of `type` in ascending order of
 * `member`, a uint64_t that they begin with; vec_compare_u64 itself is that of plain
 * words. */
#define vec_compare_by(type, member)                                                     \
	({                                                                               \
		_Static_assert(offsetof(type, member) == 0, "the first member");         \
		_Static_assert(__builtin_types_compatible_p(                             \
				       __typeof__(((type){0}).member), uint64_t),        \
			       "a uint64_t");                                            \
		vec_compare_u64;                                                         \
	})

/* Frees the items and empties the vec, which may be used again. */
#define vec_done(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0, (void)0)

static inline int
vec_compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline void *
vec_grow(void *data, size_t *cap, size_t want, size_t item_bytes)
{
	size_t n = *cap ? *cap : 8;

	if (want <= *cap)
		return data;
	while (n < want) {
		if (n > SIZE_MAX / 2)
			x_oom(SIZE_MAX);
		n *= 2;
	}
	data = xreallocarray(data, n, item_bytes);
	*cap = n;
	return data;
}

#endif
