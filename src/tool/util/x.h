/* SPDX-License-Identifier: MIT */
/* x.h -- memory for the tool: these never return NULL.
 *
 * Out of memory ends the tool with one line on stderr and abort(), as there is nothing
 * sensible a profiler's reader could still do. A size that came from a file must be
 * checked against the bytes left before it gets here.
 *
 * All are static inline: libiberty, which we link for its demangler, has external
 * functions of the same names. For the same reason this header and libiberty's cannot be
 * included in one file. */
#ifndef SEEP_UTIL_X_H
#define SEEP_UTIL_X_H

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Hands a pointer over: yields its value and leaves NULL behind, so that the cleanup on
 * the one way out does nothing for it. */
#define TAKE(p)                                                                          \
	({                                                                               \
		__typeof__(p) *x_take_at_ = &(p);                                        \
		__typeof__(p) x_take_ = *x_take_at_;                                     \
		*x_take_at_ = NULL;                                                      \
		x_take_;                                                                 \
	})

/* Says "out of memory (N bytes wanted)" and ends the tool with status 3. */
void x_oom(size_t bytes) __attribute__((noreturn, cold));

/* From now on x_oom calls this before all else; NULL: nothing. It must not allocate. */
void x_oom_first(void (*first)(void));

/* Memory in which much will be looked up at random: in large pages, where the system has
 * some. Made before it is filled; does nothing to a few megabytes. Not for what is gone
 * through in order: where a virtual machine gives free memory back, large pages are the
 * ones that have to be fetched anew, and cost more than they save. */
void x_large_pages(void *p, size_t bytes);

/* vasprintf that cannot fail: a formatting error other than lack of memory gives "". */
char *x_vasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Uninitialised memory of `bytes` (0 is legal and gives a pointer that can be freed). */
static inline void *
xmalloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (p == NULL)
		x_oom(bytes);
	return p;
}

/* Zeroed memory for `n` items of `bytes`; an overflowing product counts as out of
 * memory. */
static inline void *
xcalloc(size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes ? bytes : 1);

	if (p == NULL)
		x_oom(bytes && n > SIZE_MAX / bytes ? SIZE_MAX : n * bytes);
	return p;
}

/* Resizes; NULL for `old` allocates. `bytes` of 0 keeps a freeable pointer. */
static inline void *
xrealloc(void *old, size_t bytes)
{
	void *p = realloc(old, bytes ? bytes : 1);

	if (p == NULL)
		x_oom(bytes);
	return p;
}

/* As xrealloc for an array of `n` items of `bytes`, with the product checked. */
static inline void *
xreallocarray(void *old, size_t n, size_t bytes)
{
	if (bytes != 0 && n > SIZE_MAX / bytes)
		x_oom(SIZE_MAX);
	return xrealloc(old, n * bytes);
}

/* Copy of `n` bytes, with a NUL behind them that is not counted. */
static inline char *
xmemdup0(const void *p, size_t n)
{
	char *copy;

	if (n == SIZE_MAX)
		x_oom(n);
	copy = xmalloc(n + 1);
	if (n != 0)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

/* Copy of a string; NULL gives NULL. */
static inline char *
xstrdup(const char *s)
{
	return s == NULL ? NULL : xmemdup0(s, strlen(s));
}

/* Formatted string of its own; the caller frees it. */
static inline char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = x_vasprintf(fmt, ap);
	va_end(ap);
	return s;
}

#endif
