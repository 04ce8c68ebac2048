/* SPDX-License-Identifier: MIT */
/* cursor.h -- bounded reading of foreign bytes.
 *
 * A cursor walks over bytes that someone else wrote and never leaves them. A read that
 * does not fit gives 0, and the cursor is failed from then on: it stays where it was,
 * every further read gives 0, and the first reason and its offset are kept. So a
 * parser may read a whole record and ask cur_ok once. Counts still have to be compared
 * with cur_left before they are believed. Little-endian unless the name says `be`.
 * Pure, allocates nothing, does not own the bytes. */
#ifndef SEEP_SHARED_CURSOR_H
#define SEEP_SHARED_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mem.h"
#include "varint.h"

struct cur {
	const unsigned char *data;
	size_t bytes;
	size_t off;	 /* the next byte to read, <= bytes */
	const char *why; /* NULL = fine; else what failed first, a string constant */
	size_t fail_off; /* and where */
};

/* A cursor at the beginning of `bytes` bytes at `data`, which must outlive it. */
static inline struct cur
cur_init(const void *data, size_t bytes)
{
	return (struct cur){.data = data, .bytes = bytes};
}

static inline bool
cur_ok(const struct cur *c)
{
	return c->why == NULL;
}

/* Bytes not read yet; 0 once failed, so that loops over what is left end. */
static inline size_t
cur_left(const struct cur *c)
{
	return cur_ok(c) ? c->bytes - c->off : 0;
}

/* Fails the cursor, unless it has failed already; `why` must be a string constant.
 * Returns false, so that `return cur_fail(c, "…")` reads well. */
static inline bool
cur_fail(struct cur *c, const char *why)
{
	if (cur_ok(c)) {
		c->why = why;
		c->fail_off = c->off;
	}
	return false;
}

/* The next `n` bytes, borrowed, or NULL when there are fewer (the cursor has failed
 * then). */
static inline const unsigned char *
cur_take(struct cur *c, size_t n)
{
	const unsigned char *at;

	if (n > cur_left(c) || !cur_ok(c)) {
		cur_fail(c, "ends too soon");
		return NULL;
	}
	at = c->data + c->off;
	c->off += n;
	return at;
}

static inline void
cur_skip(struct cur *c, size_t n)
{
	cur_take(c, n);
}

/* Goes to an offset from the beginning; past the end fails. */
static inline void
cur_seek(struct cur *c, size_t off)
{
	if (off > c->bytes)
		cur_fail(c, "leads past the end");
	else if (cur_ok(c))
		c->off = off;
}

/* Steps to the next offset that is a multiple of `align`, a power of two. */
static inline void
cur_align(struct cur *c, size_t align)
{
	cur_skip(c, (align - (c->off & (align - 1))) & (align - 1));
}

/* A cursor over the next `n` bytes alone, which are stepped over here. Failed, and
 * empty, when there are fewer. Its offsets count from its own beginning. */
static inline struct cur
cur_sub(struct cur *c, size_t n)
{
	struct cur sub = {.data = cur_take(c, n), .bytes = n};

	if (sub.data == NULL)
		sub = (struct cur){.why = c->why, .fail_off = 0};
	return sub;
}

static inline uint8_t
cur_u8(struct cur *c)
{
	const unsigned char *at = cur_take(c, 1);

	return at != NULL ? *at : 0;
}

static inline uint16_t
cur_u16(struct cur *c)
{
	const unsigned char *at = cur_take(c, 2);

	return at != NULL ? mem_get_u16(at) : 0;
}

static inline uint32_t
cur_u32(struct cur *c)
{
	const unsigned char *at = cur_take(c, 4);

	return at != NULL ? mem_get_u32(at) : 0;
}

static inline uint64_t
cur_u64(struct cur *c)
{
	const unsigned char *at = cur_take(c, 8);

	return at != NULL ? mem_get_u64(at) : 0;
}

static inline uint32_t
cur_be32(struct cur *c)
{
	const unsigned char *at = cur_take(c, 4);

	return at != NULL ? mem_get_be32(at) : 0;
}

static inline uint64_t
cur_be64(struct cur *c)
{
	const unsigned char *at = cur_take(c, 8);

	return at != NULL ? mem_get_be64(at) : 0;
}

/* An unsigned varint (ULEB128) of at most 64 bits. */
static inline uint64_t
cur_varint(struct cur *c)
{
	uint64_t v = 0;
	size_t n;

	if (!cur_ok(c))
		return 0;
	n = varint_get(c->data + c->off, c->bytes - c->off, &v);
	if (n == 0)
		cur_fail(c, "number that does not end");
	c->off += n;
	return v;
}

/* A folded signed varint (see varint.h); not DWARF's SLEB128. */
static inline int64_t
cur_svarint(struct cur *c)
{
	return varint_unfold(cur_varint(c));
}

/* DWARF's signed LEB128, at most 64 bits. */
static inline int64_t
cur_sleb(struct cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cur_u8(c);
		if (shift >= 64) {
			cur_fail(c, "number that does not end");
			return 0;
		}
		v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0);
	if (shift < 64 && (byte & 0x40) != 0)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

/* A string with its NUL, borrowed; NULL when no NUL is left (the cursor has failed
 * then). */
static inline const char *
cur_cstr(struct cur *c)
{
	const unsigned char *at, *nul;

	if (!cur_ok(c))
		return NULL;
	at = c->data + c->off;
	nul = c->off < c->bytes ? memchr(at, '\0', c->bytes - c->off) : NULL;
	if (nul == NULL) {
		cur_fail(c, "string that does not end");
		return NULL;
	}
	c->off += (size_t)(nul - at) + 1;
	return (const char *)at;
}

#endif
