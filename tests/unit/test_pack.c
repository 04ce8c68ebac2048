/* SPDX-License-Identifier: MIT */
/* test_pack.c -- the packed recording: what goes in comes out, to the byte, and what
 * was damaged on the way is told or refused, with the exact words. */
#include "t.h"

#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "shared/cursor.h"
#include "tool/format/format.h"
#include "tool/format/pack/pack.h"
#include "tool/format/pack/pack_impl.h"
#include "tool/model/columns.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

/* A field of every kind set to something that would show if it got lost. */
static void
fill(struct prof *p, unsigned type, uint32_t row, uint64_t *random)
{
	const struct prof_tab *t = &prof_tabs[type];
	unsigned char *rows;

	memcpy(&rows, (unsigned char *)p + t->rows_off, sizeof rows);
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct prof_col *c = &t->cols[i];

		for (unsigned k = 0; k < c->count; k++) {
			unsigned char *at = rows + (size_t)row * t->row_bytes + c->off +
					    (size_t)k * c->bytes;
			double real = (double)(*random >> 40) / 7;
			uint64_t v;

			*random = *random * 6364136223846793005u + 1442695040888963407u;
			v = *random >> (*random >> 58); /* of any magnitude */
			if (c->kind == PROF_COL_UINT && c->max != UINT64_MAX)
				v %= c->max + 1;
			if (c->kind == PROF_COL_STR)
				v %= 4;
			if (c->kind == PROF_COL_ROW)
				v %= 3;
			if (c->kind == PROF_COL_BACK)
				v %= row;
			if (c->kind == PROF_COL_REAL)
				memcpy(&v, &real, sizeof v);
			memcpy(at, &v, c->bytes);
		}
	}
}

/* Two or more rows in every table, all fields set. */
static struct prof *
sample(void)
{
	struct prof *p = prof_new();
	uint64_t random = 4711;

	prof_str(p, "alpha");
	prof_str(p, "beta");
	prof_strn(p, "with\0nul", 8);
	for (uint32_t i = 1; i <= 3; i++) {
		fill(p, PROF_TAB_PROCESSES, prof_add_process(p), &random);
		fill(p, PROF_TAB_MODULES, prof_module(p, "m", (uint8_t[]){(uint8_t)i}, 1),
		     &random);
		fill(p, PROF_TAB_FRAMES, prof_add_frame(p), &random);
		prof_loc(p, 1, i * 1009, PROF_LOC_CODE, false);
	}
	fill(p, PROF_TAB_LOCS, 1, &random);
	fill(p, PROF_TAB_LOCS, 2, &random);
	p->locs[1].frames = p->locs[2].frames = 1;
	p->locs[1].nframes = 2;
	p->locs[2].nframes = 0;
	prof_node(p, 0, 1);
	prof_node(p, 1, 2);
	prof_node(p, 1, 3);
	prof_node(p, 3, 1);
	for (uint32_t i = 0; i < 5; i++) {
		struct prof_hist h = {.sizes = {[0] = i, [15] = UINT64_MAX},
				      .lifetimes = {[27] = 7}};

		h.lifetimes[i] = 1009 + i;
		fill(p, PROF_TAB_SITES, prof_add_site(p), &random);
		prof_set_hist(p, i + 1, &h);
		fill(p, PROF_TAB_THREADS, prof_add_thread(p), &random);
		fill(p, PROF_TAB_CELLS, prof_add_cell(p), &random);
		fill(p, PROF_TAB_MARKS, prof_add_mark(p), &random);
		fill(p, PROF_TAB_MARK_ROWS, prof_add_mark_row(p), &random);
		fill(p, PROF_TAB_POINTS, prof_add_point(p), &random);
		fill(p, PROF_TAB_RANGES, prof_add_range(p), &random);
		fill(p, PROF_TAB_BLOCKS, prof_add_block(p), &random);
		fill(p, PROF_TAB_TICKS, prof_add_tick(p), &random);
		fill(p, PROF_TAB_STEPS, prof_add_step(p), &random);
		fill(p, PROF_TAB_LOOKS, prof_add_look(p), &random);
		fill(p, PROF_TAB_LOOK_ROWS, prof_add_look_row(p), &random);
		fill(p, PROF_TAB_CHECKS, prof_add_check(p), &random);
		fill(p, PROF_TAB_LOSSES, prof_add_loss(p), &random);
		fill(p, PROF_TAB_OLDS, prof_add_old(p), &random);
		fill(p, PROF_TAB_ERRORS, prof_add_error(p), &random);
		fill(p, PROF_TAB_HOLDERS, prof_add_holder(p), &random);
		fill(p, PROF_TAB_MEMORIES, prof_add_memory(p), &random);
		fill(p, PROF_TAB_ROUNDS, prof_add_round(p), &random);
		fill(p, PROF_TAB_MOMENTS, prof_add_moment(p), &random);
		p->marks[i].rows = p->looks[i].rows = i;
		p->marks[i].nrows = p->looks[i].nrows = 1;
	}
	prof_add_damage(p, "alpha", 31);
	prof_add_damage(p, "beta", UINT64_MAX);
	p->blocks_dropped = 8009;
	p->has_names = true;
	return p;
}

static struct buf
packed(const struct prof *p)
{
	struct buf out = {0};

	pack_write(p, &out);
	return out;
}

static uint64_t
damage(const struct prof *p, const char *words)
{
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (strcmp(prof_text(p, p->damages[i].what), words) == 0)
			return p->damages[i].count;
	}
	return 0;
}

static void
same_tables_from(const struct prof *a, const struct prof *b, unsigned without)
{
	for (unsigned type = PROF_TAB_PROCESSES; type < PROF_TABS_STORED; type++) {
		const struct prof_tab *t = &prof_tabs[type];
		const unsigned char *x, *y;
		uint32_t n, m;

		if (type == without)
			continue;
		memcpy(&x, (const unsigned char *)a + t->rows_off, sizeof x);
		memcpy(&y, (const unsigned char *)b + t->rows_off, sizeof y);
		memcpy(&n, (const unsigned char *)a + t->n_off, sizeof n);
		memcpy(&m, (const unsigned char *)b + t->n_off, sizeof m);
		T_EQ(n, m);
		for (uint32_t i = 0; i < n && n == m; i++) {
			for (unsigned k = 0; k < t->ncols; k++) {
				size_t at = (size_t)i * t->row_bytes + t->cols[k].off;
				size_t bytes =
					(size_t)t->cols[k].bytes * t->cols[k].count;

				if (memcmp(x + at, y + at, bytes) != 0)
					T_FAIL("%s: row %u, column %u", t->name, i, k);
			}
		}
	}
}

static void
same_tables(const struct prof *a, const struct prof *b)
{
	same_tables_from(a, b, 0);
}

static void
same_tables_but_damages(const struct prof *a, const struct prof *b)
{
	same_tables_from(a, b, PROF_TAB_DAMAGES);
}

T_TEST(round_trip)
{
	struct prof *p = sample(), *q = prof_new();
	struct buf a = packed(p), b;
	struct err e = {0};

	T_EQ(pack_load(a.data, a.len, q, &e), 0);
	T_STR(e.msg, "");
	same_tables(p, q);
	T_EQ(q->blocks_dropped, 8009);
	T_EQ(q->has_names, true);
	T_MEM(prof_text(q, 3), "with\0nul", 8);
	T_EQ(q->ndamages, 2);
	b = packed(q);
	T_EQ(a.len, b.len);
	if (a.len == b.len)
		T_MEM(a.data, b.data, a.len);
	/* and it can be added to */
	T_EQ(prof_node(q, 3, 1), 4);
	T_EQ(prof_node(q, 4, 1), 5);
	T_EQ(prof_add_cell(q), 5);
	buf_done(&a);
	buf_done(&b);
	prof_free(p);
	prof_free(q);
}

/* Every field of every row is in some column: no byte of a struct but padding is left
 * out. */
T_TEST(no_field_forgotten)
{
	static const struct {
		unsigned type;
		size_t padding;
	} known[] = {
		{PROF_TAB_PROCESSES, 7}, {PROF_TAB_MODULES, 3}, {PROF_TAB_LOCS, 2},
		{PROF_TAB_NODES, 0},	 {PROF_TAB_SITES, 4},	{PROF_TAB_FRAMES, 2},
		{PROF_TAB_THREADS, 3},	 {PROF_TAB_CELLS, 0},	{PROF_TAB_MARKS, 4},
		{PROF_TAB_MARK_ROWS, 4}, {PROF_TAB_POINTS, 0},	{PROF_TAB_RANGES, 0},
		{PROF_TAB_DAMAGES, 4},	 {PROF_TAB_BLOCKS, 1},	{PROF_TAB_LOOKS, 4},
		{PROF_TAB_LOOK_ROWS, 4}, {PROF_TAB_OLDS, 0},
	}; /* of a site: `origin`, which means nothing in a file */

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const struct prof_tab *t = &prof_tabs[known[i].type];
		size_t covered = 0;

		for (unsigned k = 0; k < t->ncols; k++)
			covered += (size_t)t->cols[k].bytes * t->cols[k].count;
		if (covered + known[i].padding != t->row_bytes)
			T_FAIL("%s: %zu of %u bytes are in columns, %zu are padding",
			       t->name, covered, t->row_bytes, known[i].padding);
	}
}

T_TEST(empty_profile)
{
	struct prof *p = prof_new(), *q = prof_new();
	struct buf a = packed(p);

	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	same_tables(p, q);
	T_EQ(q->ndamages, 0);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

/* ---- refusals ---- */

static void
refused(const void *data, size_t bytes, const char *message)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_CHECK(pack_load(data, bytes, p, &e) < 0);
	T_STR(e.msg, message);
	prof_free(p);
}

T_TEST(refusals)
{
	struct prof *p = sample();
	struct buf a = packed(p);

	refused("", 0, "not a seep recording");
	refused("SEEPREC", 7, "not a seep recording");
	refused("\177ELF, of course, and more", 24, "not a seep recording");
	refused(a.data, 8, "cut off after 8 bytes, within its head");
	refused(a.data, 15, "cut off after 15 bytes, within its head");
	refused(a.data, 16,
		"cut off after 16 bytes, before the end of section \"strings\"");
	a.data[8] = 14;
	refused(a.data, a.len,
		"recording of version 14, this seep reads 13: use a newer seep");
	a.data[8] = 0;
	refused(a.data, a.len,
		"recording of version 0, this seep reads 13: use an older seep");
	a.data[8] = 12; /* the last one without moments */
	refused(a.data, a.len,
		"recording of version 12, this seep reads 13: use an older seep");
	a.data[8] = PACK_VERSION;
	a.data[13] ^= 4;
	refused(a.data, a.len, "its head is damaged (wrong checksum)");
	buf_done(&a);
	prof_free(p);
}

/* Where section `type` begins, from the file's own index. */
static size_t
section_off(const struct buf *b, unsigned type)
{
	struct pack_tail t;
	uint64_t off;

	memcpy(&t, b->data + b->len - sizeof t, sizeof t);
	memcpy(&off, b->data + t.index_off + 8 * (type - 1), 8);
	return off;
}

/* A flipped bit in the contents, and in the head, of each section in turn. */
T_TEST(damaged_sections)
{
	struct prof *p = sample();
	struct buf a = packed(p);

	for (unsigned type = 1; type < PROF_TABS_STORED; type++) {
		for (unsigned in_head = 0; in_head < 2; in_head++) {
			size_t at = section_off(&a, type) + (in_head ? 9 : 40);
			struct prof *q = prof_new();
			struct err e = {0};
			char want[80];
			int r;

			a.data[at] ^= 8;
			r = pack_load(a.data, a.len, q, &e);
			a.data[at] ^= 8;
			if (prof_tabs[type].needed) {
				snprintf(want, sizeof want,
					 "section \"%s\" is damaged (wrong checksum)",
					 prof_tabs[type].name);
				T_CHECK(r < 0);
				T_STR(e.msg, want);
			} else {
				snprintf(want, sizeof want, "section \"%s\" is damaged",
					 prof_tabs[type].name);
				T_EQ(r, 0);
				T_EQ(damage(q, want), 1);
				T_EQ(q->nsites, 6);
			}
			if (type == PROF_TAB_MARK_ROWS)
				T_EQ(q->nmarks, 0);
			if (type == PROF_TAB_LOOK_ROWS)
				T_EQ(q->nlooks, 0);
			if (type == PROF_TAB_STEPS)
				T_EQ(q->nticks, 0);
			if (type == PROF_TAB_LOSSES)
				T_EQ(q->nchecks, 0);
			if (type == PROF_TAB_FRAMES) {
				T_EQ(q->has_names, false);
				T_EQ(q->locs[1].nframes, 0);
			}
			prof_free(q);
		}
	}
	buf_done(&a);
	prof_free(p);
}

/* ---- columns that are not ours, and ours that are not there ---- */

/* What the directory of a section's columns has, and where the columns begin. */
struct directory {
	struct pack_column cols[PACK_COLUMNS_MAX];
	uint64_t n;
	size_t bytes;
};

static struct directory
directory_of(const struct buf *raw)
{
	struct directory d = {0};
	struct cur c = cur_init(raw->data, raw->len);

	d.n = cur_varint(&c);
	for (uint64_t i = 0; i < d.n; i++) {
		d.cols[i].id = cur_varint(&c);
		d.cols[i].width = cur_varint(&c);
		d.cols[i].values = cur_varint(&c);
		d.cols[i].offset = cur_varint(&c);
	}
	d.bytes = c.off;
	return d;
}

static void
add_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_add_char(b, (char)(v | 0x80));
	buf_add_char(b, (char)v);
}

/* The bytes of a section as they were before compression. */
static struct buf
section_raw(const struct buf *file, unsigned type, struct pack_section *ret)
{
	const char *at = file->data + section_off(file, type);
	struct buf raw = {0};

	memcpy(ret, at, sizeof *ret);
	at += sizeof *ret;
	if (ret->flags == PACK_ZSTD)
		raw.len = ZSTD_decompress(buf_room(&raw, ret->raw_bytes), ret->raw_bytes,
					  at, ret->stored_bytes);
	else
		buf_add(&raw, at, ret->stored_bytes);
	T_EQ(raw.len, ret->raw_bytes);
	return raw;
}

/* The file with other bytes in one section, and without its index. */
static struct buf
with_section(const struct buf *file, unsigned type, struct pack_section s,
	     const struct buf *raw)
{
	struct buf out = {0};
	size_t from = section_off(file, type);
	size_t behind = from + sizeof s + s.stored_bytes;

	s.flags = 0;
	s.raw_bytes = s.stored_bytes = raw->len;
	s.stored_crc = (uint32_t)crc32_z(0, (unsigned char *)raw->data, raw->len);
	s.crc = (uint32_t)crc32_z(0, (unsigned char *)&s, sizeof s - sizeof s.crc);
	buf_add(&out, file->data, from);
	buf_add(&out, &s, sizeof s);
	buf_add(&out, raw->data, raw->len);
	buf_add(&out, file->data + behind, file->len - behind);
	return out;
}

/* Writes a directory, and of the columns' bytes those that it names. */
static struct buf
lay_out(const struct buf *raw, const struct directory *was, const struct directory *d)
{
	struct buf out = {0}, cols = {0};

	add_varint(&out, d->n);
	for (uint64_t i = 0; i < d->n; i++) {
		const struct pack_column *c = &d->cols[i];
		uint64_t from = 0, end = raw->len - was->bytes;

		for (uint64_t k = 0; k < was->n; k++) {
			if (was->cols[k].offset == c->offset) {
				from = was->cols[k].offset;
				if (k + 1 < was->n)
					end = was->cols[k + 1].offset;
			}
		}
		add_varint(&out, c->id);
		add_varint(&out, c->width);
		add_varint(&out, c->values);
		add_varint(&out, cols.len);
		buf_add(&cols, raw->data + was->bytes + from, end - from);
	}
	buf_add(&out, cols.data, cols.len);
	buf_done(&cols);
	return out;
}

enum { CELL_FREES = 3 }; /* its number, from 0 */

/* Written by a later seep: cells have a column that we do not know, between ours. */
T_TEST(unknown_columns_are_skipped)
{
	struct prof *p = sample(), *q = prof_new();
	struct buf a = packed(p), raw, more, b;
	struct pack_section s;
	struct directory was, d;
	struct err e = {0};

	raw = section_raw(&a, PROF_TAB_CELLS, &s);
	was = d = directory_of(&raw);
	T_EQ(d.n, prof_tabs[PROF_TAB_CELLS].ncols);
	memmove(&d.cols[3], &d.cols[2], (d.n - 2) * sizeof *d.cols);
	d.n++;
	d.cols[2] =
		d.cols[CELL_FREES + 1]; /* the bytes of one of ours, under another id */
	d.cols[2].id = 211;
	more = lay_out(&raw, &was, &d);
	b = with_section(&a, PROF_TAB_CELLS, s, &more);
	T_EQ(pack_load(b.data, b.len, q, &e), 0);
	T_STR(e.msg, "");
	same_tables_but_damages(p, q);
	T_EQ(q->ndamages, 3); /* its own, and the index that is void now */
	buf_done(&a);
	buf_done(&b);
	buf_done(&raw);
	buf_done(&more);
	prof_free(p);
	prof_free(q);
}

/* Written by an earlier one, before there was the column `frees`; and with a width that
 * it cannot have. */
T_TEST(absent_columns_are_zero)
{
	for (unsigned round = 0; round < 2; round++) {
		struct prof *p = sample(), *q = prof_new();
		struct buf a = packed(p), raw, less, b;
		struct pack_section s;
		struct directory was, d;

		raw = section_raw(&a, PROF_TAB_CELLS, &s);
		was = d = directory_of(&raw);
		if (round == 0) {
			memmove(&d.cols[CELL_FREES], &d.cols[CELL_FREES + 1],
				(d.n - CELL_FREES - 1) * sizeof *d.cols);
			d.n--;
		} else {
			d.cols[CELL_FREES].width = 1;
		}
		less = lay_out(&raw, &was, &d);
		b = with_section(&a, PROF_TAB_CELLS, s, &less);
		T_EQ(pack_load(b.data, b.len, q, NULL), 0);
		T_EQ(q->ncells, 5);
		for (uint32_t i = 0; i < 5; i++) {
			T_EQ(q->cells[i].frees, 0);
			p->cells[i].frees = 0;
		}
		same_tables_but_damages(p, q);
		/* its own; and of a file that became shorter the index is void now */
		T_EQ(q->ndamages, round == 0 ? 3 : 2);
		buf_done(&a);
		buf_done(&b);
		buf_done(&raw);
		buf_done(&less);
		prof_free(p);
		prof_free(q);
	}
}

/* A directory that lies about where its columns are makes the section a damaged one. */
T_TEST(directories_are_checked)
{
	static const struct {
		unsigned field;
		uint64_t value;
	} lies[] = {{2, 0}, {2, 99}, {3, 1}, {3, UINT64_MAX}, {1, 9}};

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		struct prof *p = sample(), *q = prof_new();
		struct buf a = packed(p), raw, bad = {0}, b;
		struct pack_section s;
		struct directory d;

		raw = section_raw(&a, PROF_TAB_CELLS, &s);
		d = directory_of(&raw);
		(&d.cols[0].id)[lies[i].field] = lies[i].value;
		add_varint(&bad, d.n);
		for (uint64_t k = 0; k < 4 * d.n; k++)
			add_varint(&bad, (&d.cols[0].id)[k]);
		buf_add(&bad, raw.data + d.bytes, raw.len - d.bytes);
		b = with_section(&a, PROF_TAB_CELLS, s, &bad);
		T_EQ(pack_load(b.data, b.len, q, NULL), 0);
		T_EQ(damage(q, "section \"cells\" is damaged"), 1);
		T_EQ(q->ncells, 0);
		buf_done(&a);
		buf_done(&b);
		buf_done(&raw);
		buf_done(&bad);
		prof_free(p);
		prof_free(q);
	}
}

T_TEST(damaged_index)
{
	struct prof *p = sample(), *q = prof_new();
	struct buf a = packed(p);

	a.data[a.len - 40] ^= 1;
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	T_EQ(damage(q, "index at the end is missing or damaged"), 1);
	T_EQ(q->ndamages, 3);
	T_EQ(q->nblocks, 5);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

/* Cut at every length: refused up to the end of the totals, then read with what is
 * missing. */
T_TEST(cut_at_every_length)
{
	struct prof *p = sample();
	struct buf a = packed(p);
	size_t totals_end = section_off(&a, PROF_TAB_FRAMES);

	for (size_t n = 0; n < a.len; n++) {
		char *copy = malloc(n ? n : 1);
		struct prof *q = prof_new();
		struct err e = {0};
		int r;

		memcpy(copy, a.data, n);
		r = pack_load(copy, n, q, &e);
		T_EQ(r < 0, n < totals_end);
		T_EQ(e.msg[0] != '\0', n < totals_end);
		if (r == 0) {
			T_EQ(damage(q, "index at the end is missing or damaged"), 1);
			T_EQ(q->nsites, 6);
			T_EQ(damage(q, "section \"blocks\" is missing"), q->nblocks == 0);
			T_EQ(damage(q, "section \"frames\" is missing"), q->nframes == 0);
		}
		prof_free(q);
		free(copy);
	}
	buf_done(&a);
	prof_free(p);
}

/* Damages beside the two that are part of the profile. */
static unsigned
told(const struct prof *p)
{
	return p->ndamages - (damage(p, "alpha") != 0) - (damage(p, "beta") != 0);
}

T_TEST(flipped_bits_never_pass_unseen)
{
	struct prof *p = sample();
	struct buf a = packed(p);
	uint64_t random = 8087;

	for (unsigned i = 0; i < 5000; i++) {
		struct prof *q = prof_new();
		size_t at;

		random = random * 6364136223846793005u + 1442695040888963407u;
		at = (size_t)(random >> 33) % a.len;
		a.data[at] = (char)(a.data[at] ^ (1 << (random >> 30 & 7)));
		if (pack_load(a.data, a.len, q, NULL) == 0 && told(q) == 0)
			T_FAIL("bit %u of byte %zu", (unsigned)(random >> 30 & 7), at);
		a.data[at] = (char)(a.data[at] ^ (1 << (random >> 30 & 7)));
		prof_free(q);
	}
	buf_done(&a);
	prof_free(p);
}

/* ---- hostile contents under right checksums ---- */

/* Puts another head before the section of cells, with its checksums right: what is
 * told of it. */
static struct prof *
load_with(struct buf *b, struct pack_section s)
{
	size_t off = section_off(b, PROF_TAB_CELLS);
	struct prof *p = prof_new();
	struct pack_section was;

	memcpy(&was, b->data + off, sizeof was);
	s.stored_crc = was.stored_crc;
	s.crc = (uint32_t)crc32_z(0, (unsigned char *)&s, sizeof s - 4);
	memcpy(b->data + off, &s, sizeof s);
	T_EQ(pack_load(b->data, b->len, p, NULL), 0);
	T_EQ(p->nsites, 6);
	T_EQ(p->ncells, 0);
	memcpy(b->data + off, &was, sizeof was);
	return p;
}

T_TEST(claims_are_checked)
{
	struct prof *p = sample(), *q;
	struct buf a = packed(p);
	struct pack_section s, bad;

	memcpy(&s, a.data + section_off(&a, PROF_TAB_CELLS), sizeof s);
	bad = s;
	bad.rows = 1u << 30; /* would be 40 GB */
	q = load_with(&a, bad);
	T_EQ(damage(q, "section \"cells\" is damaged"), 1);
	prof_free(q);

	bad = s;
	bad.raw_bytes = UINT64_MAX;
	q = load_with(&a, bad);
	T_EQ(damage(q, "section \"cells\" is damaged"), 1);
	prof_free(q);

	bad.flags = PACK_ZSTD;
	q = load_with(&a, bad);
	T_EQ(damage(q, "section \"cells\" is damaged"), 1);
	prof_free(q);

	bad = s;
	bad.type = 99;
	q = load_with(&a, bad);
	T_EQ(damage(q, "sections of an unknown kind"), 1);
	T_EQ(damage(q, "section \"cells\" is missing"), 1);
	prof_free(q);

	bad.type = PROF_TAB_SITES; /* a second one */
	q = load_with(&a, bad);
	T_EQ(damage(q, "sections of an unknown kind"), 1);
	prof_free(q);
	buf_done(&a);
	prof_free(p);
}

T_TEST(refs_are_checked)
{
	struct prof *p = sample(), *q = prof_new();
	struct buf a;

	p->sites[1].node = 4001;
	p->sites[2].process = p->nprocesses; /* one too far */
	p->cells[1].thread = 99;
	p->blocks[3].site = UINT32_MAX;
	p->nodes[2].parent = 2; /* itself */
	p->nodes[3].parent = 4; /* its child */
	p->locs[1].frames = UINT32_MAX;
	p->marks[0].nrows = 7;
	p->processes[1].exe = 1234567;
	p->processes[2].mode = 9;
	p->blocks[0].kind = 8;
	a = packed(p);
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	T_EQ(damage(q, "references that lead nowhere"), 7);
	T_EQ(damage(q, "values out of range"), 4);
	T_EQ(q->sites[1].node, 0);
	T_EQ(q->sites[2].process, 0);
	T_EQ(q->nodes[2].parent, 0);
	T_EQ(q->nodes[3].parent, 0);
	T_EQ(q->locs[1].nframes, 0);
	T_EQ(q->marks[0].nrows, 0);
	T_STR(prof_text(q, q->processes[1].exe), "");
	T_EQ(q->processes[2].mode, 0);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

/* Rows belong to one owner: what adds them up over all owners has room for as many as
 * there are. */
T_TEST(rows_are_not_shared)
{
	struct prof *p = sample(), *q = prof_new();
	struct buf a;

	p->locs[2].nframes = 3; /* with the two of the first more than there are */
	for (uint32_t i = 0; i < 5; i++) {
		p->marks[i].rows = p->looks[i].rows = 0;
		p->marks[i].nrows = p->looks[i].nrows = 3;
	}
	a = packed(p);
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	T_EQ(damage(q, "references that lead nowhere"), 1 + 4 + 4);
	T_EQ(q->locs[1].nframes, 2);
	T_EQ(q->locs[2].nframes, 0);
	T_EQ(q->marks[0].nrows, 3);
	T_EQ(q->marks[4].nrows, 0);
	T_EQ(q->looks[1].nrows, 0);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

/* ---- files ---- */

T_TEST(saved_file)
{
	char dir[] = "/tmp/seep-test-pack-XXXXXX";
	char path[64], want[160];
	struct prof *p = sample(), *q = NULL;
	struct err e = {0};
	struct stat st;

	T_CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/a.rec", dir);
	T_EQ(pack_save(p, path, &e), 0);
	T_EQ(stat(path, &st), 0);
	T_EQ(st.st_mode & 0777, 0600);
	T_EQ(format_load(path, &q, &e), 0);
	same_tables(p, q);
	prof_free(q);
	q = NULL;
	T_EQ(truncate(path, 100), 0);
	T_CHECK(format_load(path, &q, &e) < 0);
	snprintf(want, sizeof want,
		 "%s: cut off after 100 bytes, before the end of section \"strings\"",
		 path);
	T_STR(e.msg, want);
	T_CHECK(q == NULL);
	T_EQ(truncate(path, 5), 0);
	T_CHECK(format_load(path, &q, &e) < 0);
	snprintf(want, sizeof want,
		 "%s: unknown file format (begins with 53 45 45 50 52); man seep-report "
		 "lists the known ones",
		 path);
	T_STR(e.msg, want);
	unlink(path);
	T_CHECK(format_load(path, &q, &e) < 0);
	snprintf(want, sizeof want, "%s: cannot open: No such file or directory", path);
	T_STR(e.msg, want);
	snprintf(path, sizeof path, "%s/no/such/a.rec", dir);
	T_CHECK(pack_save(p, path, &e) < 0);
	T_CHECK(strstr(e.msg, path) == e.msg);
	rmdir(dir);
	prof_free(p);
}

T_MAIN()
