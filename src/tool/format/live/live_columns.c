/* SPDX-License-Identifier: MIT */
/* live_columns.c -- objects whose columns are not where this seep lays them out.
 *
 * The directory of a recording (shared/recording_columns.h) says where its columns are.
 * If it is ours to the byte, objects are used as they lie in the copy. Else those of a
 * size that does not vary are copied once more, column by column, into rows of the
 * structs that we know: what we do not know is left behind, what the recording lacks is
 * 0. A directory that makes no sense is damage, and the objects are then taken to be laid
 * out as ours. */
#include <string.h>

#include "live_impl.h"
#include "shared/compiler.h"
#include "shared/recording_columns.h"
#include "tool/util/x.h"

enum {
	LIVE_GROWTH_MAX = 4
}; /* our objects are at most so much larger than a recording's */

/* Bytes of an object as we lay it out; 0: they vary. */
static uint32_t
live_own_bytes(enum rec_chunk_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(rec_columns); i++) {
		if (rec_columns[i].kind == kind && rec_columns[i].id == 0)
			return rec_columns[i].width;
	}
	return 0;
}

static const struct rec_column *
live_own_column(const struct rec_column *c)
{
	for (size_t i = 0; i < ARRAY_LEN(rec_columns); i++) {
		if (rec_columns[i].kind == c->kind && rec_columns[i].id == c->id)
			return &rec_columns[i];
	}
	return NULL;
}

/* Takes the objects' sizes from a directory; false when one of them cannot be. */
static bool
live_take_objects(struct live *l, const struct rec_column *dir, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_column *c = &dir[i];

		if (c->id != 0 || c->kind > REC_CHUNK_LAST)
			continue;
		if (c->offset < sizeof(struct rec_chunk) || c->offset % 8 != 0 ||
		    c->width % 8 != 0 || c->offset + c->width > REC_CHUNK_BYTES ||
		    (c->width == 0) != (live_own_bytes(c->kind) == 0) ||
		    c->width < live_own_bytes(c->kind) / LIVE_GROWTH_MAX)
			return false;
		l->kinds[c->kind] = (struct live_kind){c->offset, c->width};
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_column *c = &dir[i];

		if (c->id != 0 && c->kind <= REC_CHUNK_LAST &&
		    c->offset + c->width > l->kinds[c->kind].bytes)
			return false;
	}
	return true;
}

void
live_lay_out(struct live *l)
{
	const struct rec_head *h = l->head;
	const struct rec_column *dir =
		(const void *)(l->data + (h->columns_off & ~UINT32_C(7)));

	live_take_objects(l, rec_columns, ARRAY_LEN(rec_columns));
	if (h->columns == ARRAY_LEN(rec_columns) && h->columns_off == REC_COLUMNS_OFF &&
	    memcmp(dir, rec_columns, sizeof rec_columns) == 0)
		return;
	if (h->columns_off % 8 != 0 || h->columns_off > REC_CHUNKS_OFF ||
	    h->columns > (REC_CHUNKS_OFF - h->columns_off) / sizeof *dir ||
	    h->columns == 0 || !live_take_objects(l, dir, h->columns)) {
		live_take_objects(l, rec_columns, ARRAY_LEN(rec_columns));
		l->bad[LIVE_BAD_HEAD]++;
		return;
	}
	l->dir = dir;
}

/* One object, as it lies there, into one of ours. */
static void
live_convert_one(const struct live *l, enum rec_chunk_kind kind, unsigned char *to,
		 const unsigned char *from)
{
	for (uint32_t i = 0; i < l->head->columns; i++) {
		const struct rec_column *c = &l->dir[i];
		const struct rec_column *own =
			c->kind == kind && c->id != 0 ? live_own_column(c) : NULL;

		if (own != NULL)
			memcpy(to + own->offset, from + c->offset,
			       c->width < own->width ? c->width : own->width);
	}
}

void
live_convert(struct live *l, enum rec_chunk_kind kind)
{
	uint32_t bytes = live_own_bytes(kind);
	unsigned char *rows;

	if (l->dir == NULL || bytes == 0)
		return;
	rows = xcalloc(l->room[kind], bytes);
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const unsigned char *from;

		if (l->chunks[i].kind != kind)
			continue;
		for (uint32_t slot = 0; (from = live_slot(l, i, slot)) != NULL; slot++)
			live_convert_one(
				l, kind,
				rows + (size_t)(l->chunks[i].first + slot) * bytes, from);
	}
	l->rows[kind] = rows; /* live_at gives these from now on */
	l->row_bytes[kind] = bytes;
}
