/* SPDX-License-Identifier: MIT */
/* pprof_wire.h -- protobuf's wire format, as much of it as profile.proto needs.
 *
 * A message is a run of fields: a number, a kind, and a varint, eight bytes, four bytes
 * or a counted run of bytes, which may be a message again. Reading goes through the
 * cursor, so nothing leaves the bytes; writing appends to a buf. */
#ifndef SEEP_FORMAT_PPROF_WIRE_H
#define SEEP_FORMAT_PPROF_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/cursor.h"
#include "tool/util/buf.h"

enum pb_kind { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint64_t number;
	unsigned kind;		   /* enum pb_kind */
	uint64_t value;		   /* of the numbers */
	const unsigned char *data; /* of PB_BYTES, borrowed */
	size_t bytes;
};

/* cur_varint for a loop over millions. */
static inline uint64_t
pb_varint(struct cur *c)
{
	if (c->off < c->bytes && cur_ok(c) && c->data[c->off] < 0x80)
		return c->data[c->off++];
	return cur_varint(c);
}

/* The next field; false at the end, or when the cursor has failed. */
static inline bool
pb_next(struct cur *c, struct pb_field *ret)
{
	uint64_t tag;

	if (cur_left(c) == 0)
		return false;
	tag = pb_varint(c);
	ret->number = tag >> 3;
	ret->kind = (unsigned)(tag & 7);
	ret->value = 0;
	ret->data = NULL;
	ret->bytes = 0;
	switch (ret->kind) {
	case PB_VARINT:
		ret->value = pb_varint(c);
		break;
	case PB_FIXED64:
		ret->value = cur_u64(c);
		break;
	case PB_FIXED32:
		ret->value = cur_u32(c);
		break;
	case PB_BYTES: {
		uint64_t n = pb_varint(c);

		if (n > cur_left(c)) {
			cur_fail(c, "ends too soon");
			break;
		}
		ret->bytes = (size_t)n;
		ret->data = cur_take(c, ret->bytes);
		break;
	}
	default:
		cur_fail(c, "field of no known kind");
	}
	if (cur_ok(c) && ret->number == 0)
		cur_fail(c, "field with the number 0");
	return cur_ok(c);
}

static inline struct cur
pb_message(const struct pb_field *f)
{
	return cur_init(f->data, f->bytes);
}

/* ---- writing ---- */

static inline void
pb_put_varint(struct buf *b, uint64_t v)
{
	unsigned char *at = (unsigned char *)buf_room(b, VARINT_MAX_BYTES);

	b->len += varint_put(at, v);
	b->data[b->len] = '\0';
}

/* A number; 0 is what is not there. */
static inline void
pb_put(struct buf *b, unsigned number, uint64_t v)
{
	if (v == 0)
		return;
	pb_put_varint(b, number << 3 | PB_VARINT);
	pb_put_varint(b, v);
}

/* A run of bytes, or a message that was written to a buf of its own. */
static inline void
pb_put_bytes(struct buf *b, unsigned number, const void *p, size_t bytes)
{
	pb_put_varint(b, number << 3 | PB_BYTES);
	pb_put_varint(b, bytes);
	if (bytes > 0)
		buf_add(b, p, bytes);
}

static inline void
pb_put_message(struct buf *b, unsigned number, const struct buf *message)
{
	pb_put_bytes(b, number, message->data, message->len);
}

#endif
