/* SPDX-License-Identifier: MIT */
/* pack.c -- a profile becomes a packed recording.
 *
 * Every table is written column by column as varints, so that alike things stand
 * together, and then compressed with zstd. The whole file is made in memory first,
 * which is small beside the profile itself, and put in place in one step. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "pack_impl.h"
#include "shared/compiler.h"
#include "shared/mem.h"
#include "shared/varint.h"
#include "tool/model/columns.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { PACK_LEVEL = 3 };

/* The rows of a section as the writer sees them. */
struct pack_rows {
	const unsigned char *at; /* the first to store */
	uint64_t n;
	uint32_t number; /* of the first, in its table */
};

static struct pack_rows
pack_rows(const struct prof *p, const struct prof_tab *t)
{
	const unsigned char *rows;
	uint32_t n;

	if (t->row_bytes == 0)
		return (struct pack_rows){(const unsigned char *)p, 1, 0};
	rows = prof_tab_rows(p, t, &n);
	if (n <= t->first)
		return (struct pack_rows){NULL, 0, t->first};
	return (struct pack_rows){rows + (size_t)t->first * t->row_bytes, n - t->first,
				  t->first};
}

static uint64_t
pack_value(const unsigned char *at, const struct prof_col *c)
{
	switch (c->bytes) {
	case 1:
		return *at;
	case 2:
		return mem_get_u16(at);
	case 4:
		return c->kind == PROF_COL_INT
			       ? (uint64_t)(int64_t)(int32_t)mem_get_u32(at)
			       : mem_get_u32(at);
	default:
		return mem_get_u64(at);
	}
}

static void
pack_column(const struct prof_tab *t, const struct prof_col *c, const struct pack_rows *r,
	    const unsigned char *at, struct buf *raw)
{
	unsigned char *to = (unsigned char *)buf_room(raw, r->n * VARINT_MAX_BYTES);
	unsigned char *start = to;
	uint64_t before = 0;

	for (uint64_t i = 0; i < r->n; i++, at += t->row_bytes) {
		uint64_t v = pack_value(at, c);

		if (c->kind == PROF_COL_REAL) {
			mem_put_u64(to, v);
			to += sizeof v;
			continue;
		}
		if (c->kind == PROF_COL_INT)
			v = varint_fold((int64_t)v);
		if (c->kind == PROF_COL_BACK)
			v = r->number + i - v;
		if (c->delta) {
			uint64_t delta = v - before;

			before = v;
			v = varint_fold((int64_t)delta);
		}
		to += varint_put(to, v);
	}
	raw->len += (size_t)(to - start);
	raw->data[raw->len] = '\0';
}

static void
pack_varint(struct buf *to, uint64_t v)
{
	to->len += varint_put((unsigned char *)buf_room(to, VARINT_MAX_BYTES), v);
}

/* The directory, then the columns. `scratch` is for the latter until all are made. */
static void
pack_columns(const struct prof_tab *t, const struct pack_rows *r, struct buf *raw,
	     struct buf *scratch)
{
	if (r->n == 0)
		return;
	buf_clear(scratch);
	pack_varint(raw, t->ncols);
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct prof_col *c = &t->cols[i];

		pack_varint(raw, i + 1);
		pack_varint(raw, c->kind == PROF_COL_REAL ? sizeof(double)
							  : PACK_WIDTH_VARINT);
		pack_varint(raw, c->count);
		pack_varint(raw, scratch->len);
		for (unsigned k = 0; k < c->count; k++)
			pack_column(t, c, r, r->at + c->off + (size_t)k * c->bytes,
				    scratch);
	}
	buf_add(raw, scratch->data, scratch->len);
}

/* All lengths, then all texts. */
static uint64_t
pack_strings(const struct prof *p, struct buf *raw)
{
	uint32_t n = (uint32_t)strtab_count(p->strings);

	for (uint32_t i = 1; i < n; i++)
		pack_varint(raw, strtab_len(p->strings, i));
	for (uint32_t i = 1; i < n; i++)
		buf_add(raw, strtab_str(p->strings, i), strtab_len(p->strings, i));
	return n - 1;
}

static void
pack_section(enum prof_tab_id type, uint64_t rows, const struct buf *raw, struct buf *out)
{
	struct pack_section s = {.type = type, .rows = rows, .raw_bytes = raw->len};
	size_t head = out->len;
	size_t bound = ZSTD_compressBound(raw->len);
	size_t n;

	buf_add(out, &s, sizeof s);
	n = ZSTD_compress(buf_room(out, bound), bound, buf_str(raw), raw->len,
			  PACK_LEVEL);
	if (!ZSTD_isError(n) && n < raw->len &&
	    raw->len <= PACK_SLACK_BYTES + (uint64_t)n * PACK_RATIO_MAX) {
		s.flags = PACK_ZSTD;
		s.stored_bytes = n;
		out->len += n;
	} else {
		s.stored_bytes = raw->len;
		buf_add(out, buf_str(raw), raw->len);
	}
	s.stored_crc = (uint32_t)crc32_z(0, (unsigned char *)out->data + head + sizeof s,
					 s.stored_bytes);
	s.crc = (uint32_t)crc32_z(0, (unsigned char *)&s, pack_crc_bytes(sizeof s));
	memcpy(out->data + head, &s, sizeof s);
}

static void
pack_tail(const uint64_t *offs, uint32_t n, size_t start, struct buf *out)
{
	struct pack_tail t = {.magic = PACK_TAIL_MAGIC, .sections = n};
	uLong crc;

	t.index_off = out->len - start;
	buf_add(out, offs, n * sizeof *offs);
	crc = crc32_z(0, (const unsigned char *)offs, n * sizeof *offs);
	crc = crc32_z(crc, (const unsigned char *)&t, pack_crc_bytes(sizeof t));
	t.crc = (uint32_t)crc;
	buf_add(out, &t, sizeof t);
}

/* When there are more blocks than are stored: every so many, all over the address
 * space, so that each place keeps its share of examples. */
static void
pack_thin_blocks(struct prof *thin)
{
	uint64_t n = thin->nblocks;
	struct prof_block *kept = xcalloc(PACK_BLOCKS_MAX, sizeof *kept);

	for (uint64_t i = 0; i < PACK_BLOCKS_MAX; i++)
		kept[i] = thin->blocks[i * n / PACK_BLOCKS_MAX];
	thin->blocks = kept;
	thin->nblocks = PACK_BLOCKS_MAX;
	thin->blocks_dropped += n - PACK_BLOCKS_MAX;
}

void
pack_write(const struct prof *p, struct buf *out)
{
	struct pack_head head = {.magic = PACK_MAGIC, .version = PACK_VERSION};
	size_t start = out->len;
	uint64_t offs[PROF_TABS_STORED - 1];
	struct buf raw = {0}, scratch = {0};
	struct prof view = *p; /* the same tables, but perhaps fewer blocks */

	if (p->nblocks > PACK_BLOCKS_MAX)
		pack_thin_blocks(&view);
	head.crc =
		(uint32_t)crc32_z(0, (unsigned char *)&head, pack_crc_bytes(sizeof head));
	buf_add(out, &head, sizeof head);
	for (unsigned type = 1; type < PROF_TABS_STORED; type++) {
		const struct prof_tab *t = &prof_tabs[type];
		struct pack_rows rows = pack_rows(&view, t);

		buf_clear(&raw);
		if (type == PROF_TAB_STRINGS)
			rows.n = pack_strings(&view, &raw);
		else
			pack_columns(t, &rows, &raw, &scratch);
		offs[type - 1] = out->len - start;
		pack_section((enum prof_tab_id)type, rows.n, &raw, out);
	}
	pack_tail(offs, PROF_TABS_STORED - 1, start, out);
	if (view.blocks != p->blocks)
		free(view.blocks);
	buf_done(&raw);
	buf_done(&scratch);
}

int
pack_save(const struct prof *p, const char *path, struct err *e)
{
	struct buf out = {0};
	int r;

	pack_write(p, &out);
	r = file_write(path, out.data, out.len, e);
	buf_done(&out);
	return r;
}
