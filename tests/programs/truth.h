/* SPDX-License-Identifier: MIT */
/* truth.h -- how a test program says what it did, for lib_truth.sh to compare.
 *
 *	static struct tally made = { .name = "make_block" };
 *	tally_alloc(&made, 23);
 *	truth_tell(&made);   prints: expect in=make_block allocs=1 frees=0 allocated_bytes=23 …
 *
 * `in` is a function that every counted allocation has on its stack. Nothing in here
 * allocates, and counting is safe from threads and signal handlers. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define TRUTH_NOINLINE __attribute__((__noinline__, __noclone__))

struct tally {
	const char *name;
	unsigned long allocs, frees, alloc_bytes, free_bytes;
};

static inline void
tally_alloc(struct tally *t, size_t bytes)
{
	__atomic_fetch_add(&t->allocs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->alloc_bytes, bytes, __ATOMIC_RELAXED);
}

static inline void
tally_free(struct tally *t, size_t bytes)
{
	__atomic_fetch_add(&t->frees, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->free_bytes, bytes, __ATOMIC_RELAXED);
}

/* printf to stdout without its buffer. */
__attribute__((__format__(__printf__, 1, 2))) static inline void
truth_say(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (n > 0 && write(1, line, (size_t)n) != n)
		_exit(99);
}

static inline void
truth_tell(const struct tally *t)
{
	truth_say(
		"expect in=%s allocs=%lu frees=%lu allocated_bytes=%lu freed_bytes=%lu\n",
		t->name, t->allocs, t->frees, t->alloc_bytes, t->free_bytes);
}

#endif
