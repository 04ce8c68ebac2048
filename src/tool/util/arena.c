/* SPDX-License-Identifier: MIT */
/* arena.c -- a chain of chunks with a bump pointer in the newest.
 *
 * Chunks double from 4 KiB to 1 MiB, so a small user costs little and a large one few
 * calls. A piece too large for that gets a chunk of its own behind the newest, which
 * stays open. */
#include "tool/util/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "tool/util/x.h"

#define ARENA_FIRST_BYTES ((size_t)4096)
#define ARENA_LARGEST_BYTES ((size_t)1 << 20)
#define ARENA_ALIGN ((size_t)16)

struct arena_chunk {
	struct arena_chunk *next;
	size_t bytes;
	_Alignas(16) char data[];
};

static struct arena_chunk *
arena_chunk_new(struct arena *a, size_t bytes)
{
	struct arena_chunk *c;

	if (bytes > SIZE_MAX / 2)
		x_oom(bytes);
	c = xcalloc(1, sizeof *c + bytes);
	c->bytes = bytes;
	a->total_bytes += sizeof *c + bytes;
	return c;
}

static void *
arena_take(struct arena *a, size_t bytes, size_t align)
{
	size_t pad = a->at != NULL ? (size_t)(-(uintptr_t)a->at) & (align - 1) : 0;
	struct arena_chunk *c;
	size_t next;
	char *p;

	if (a->at != NULL && bytes <= (size_t)(a->end - a->at) &&
	    pad <= (size_t)(a->end - a->at) - bytes) {
		p = a->at + pad;
		a->at = p + bytes;
		return p;
	}
	next = a->chunks != NULL ? a->chunks->bytes * 2 : ARENA_FIRST_BYTES;
	if (next > ARENA_LARGEST_BYTES)
		next = ARENA_LARGEST_BYTES;
	if (bytes > next / 4 && a->chunks != NULL) {
		c = arena_chunk_new(a, bytes);
		c->next = a->chunks->next;
		a->chunks->next = c;
		return c->data;
	}
	while (next < bytes)
		next *= 2;
	c = arena_chunk_new(a, next);
	c->next = a->chunks;
	a->chunks = c;
	a->at = c->data + bytes;
	a->end = c->data + next;
	return c->data;
}

void *
arena_alloc(struct arena *a, size_t bytes)
{
	if (bytes > SIZE_MAX / 4)
		x_oom(bytes);
	return arena_take(a, bytes, ARENA_ALIGN);
}

char *
arena_memdup0(struct arena *a, const void *p, size_t n)
{
	char *copy;

	if (n > SIZE_MAX / 4)
		x_oom(n);
	copy = arena_take(a, n + 1, 1);
	if (n != 0)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return s == NULL ? NULL : arena_memdup0(a, s, strlen(s));
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s, *copy;

	va_start(ap, fmt);
	s = x_vasprintf(fmt, ap);
	va_end(ap);
	copy = arena_strdup(a, s);
	free(s);
	return copy;
}

void
arena_done(struct arena *a)
{
	struct arena_chunk *c, *next;

	for (c = a->chunks; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct arena){0};
}
