/* SPDX-License-Identifier: MIT */
/* unpack.c -- a packed recording becomes a profile.
 *
 * The index at the end says where the sections are; without a sound one (the file was
 * cut off) they are walked from the beginning. A section is believed when its
 * checksums are right, and even then every number is checked: rows and strings that do
 * not exist become "none", and are counted. A section that is damaged or missing is
 * counted too; if reports need it, the file is refused. */
#include "pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "pack_impl.h"
#include "shared/cursor.h"
#include "tool/model/columns.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum unpack_state { UNPACK_MISSING, UNPACK_DAMAGED, UNPACK_READ };

struct unpack {
	const unsigned char *data;
	size_t bytes;
	struct prof *p;
	enum unpack_state state[PROF_TABS_STORED];
	uint32_t *strings; /* id in the file -> id in the profile */
	uint32_t nstrings;
	uint64_t bad_refs, bad_values, unknown;
	bool cut; /* no sound index: most likely it ends too soon */
};

/* ---- columns ---- */

static void
unpack_store(unsigned char *at, const struct prof_col *c, uint64_t v)
{
	switch (c->bytes) {
	case 1:
		*at = (unsigned char)v;
		break;
	case 2:
		mem_put_u16(at, (uint16_t)v);
		break;
	case 4:
		mem_put_u32(at, (uint32_t)v);
		break;
	default:
		mem_put_u64(at, v);
		break;
	}
}

/* Whether a value fits its field; `v` of PROF_COL_INT is sign-extended. */
static bool
unpack_fits(const struct prof_col *c, uint64_t v)
{
	unsigned bits = 8u * c->bytes;

	if (bits == 64)
		return v <= c->max || c->kind == PROF_COL_INT;
	if (c->kind == PROF_COL_INT)
		return (int64_t)v >> (bits - 1) == 0 || (int64_t)v >> (bits - 1) == -1;
	return v >> bits == 0 && v <= c->max;
}

static void
unpack_column(struct unpack *u, const struct prof_tab *t, const struct prof_col *c,
	      struct cur *in, unsigned char *at, uint64_t rows)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < rows && cur_ok(in); i++, at += t->row_bytes) {
		uint64_t v;

		if (c->kind == PROF_COL_REAL) {
			mem_put_u64(at, cur_u64(in));
			continue;
		}
		v = cur_varint(in);
		if (c->delta)
			v = before += (uint64_t)varint_unfold(v);
		else if (c->kind == PROF_COL_INT)
			v = (uint64_t)varint_unfold(v);
		else if (c->kind == PROF_COL_BACK && v - 1 < t->first + i)
			v = t->first + i - v;
		else if (c->kind == PROF_COL_BACK)
			v = UINT64_MAX; /* not before this row */
		if (!unpack_fits(c, v)) {
			u->bad_values++;
			v = 0;
		}
		unpack_store(at, c, v);
	}
}

/* The directory in front of a section's columns. False when it is none, or says that a
 * column lies outside of the section or has fewer bytes than values. */
static bool
unpack_directory(struct cur *in, uint64_t rows, struct pack_column *ret, uint64_t *ret_n)
{
	uint64_t n = cur_varint(in), end;

	if (!cur_ok(in) || n == 0 || n > PACK_COLUMNS_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		ret[i].id = cur_varint(in);
		ret[i].width = cur_varint(in);
		ret[i].values = cur_varint(in);
		ret[i].offset = cur_varint(in);
	}
	if (!cur_ok(in))
		return false;
	end = cur_left(in);
	for (uint64_t i = n; i-- > 0; end = ret[i].offset) {
		const struct pack_column *c = &ret[i];
		uint64_t least = c->width == PACK_WIDTH_VARINT ? 1 : c->width;

		if (c->offset > end || c->values == 0 || least > sizeof(uint64_t) ||
		    c->values > (end - c->offset) / least / rows)
			return false;
	}
	*ret_n = n;
	return end == 0;
}

/* The columns of a table that this file has and we know. What it lacks stays 0. */
static bool
unpack_columns(struct unpack *u, const struct prof_tab *t, struct cur *in,
	       unsigned char *at, uint64_t rows)
{
	struct pack_column dir[PACK_COLUMNS_MAX];
	uint64_t n = 0;

	if (!unpack_directory(in, rows, dir, &n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t end =
			i + 1 < n ? dir[i + 1].offset : dir[i].offset + cur_left(in);
		struct cur part = cur_sub(in, end - dir[i].offset);
		const struct prof_col *c;
		uint64_t k;

		if (dir[i].id - 1 >= t->ncols)
			continue;
		c = &t->cols[dir[i].id - 1];
		if ((dir[i].width != PACK_WIDTH_VARINT) != (c->kind == PROF_COL_REAL))
			continue;
		for (k = 0; k < dir[i].values && k < c->count; k++)
			unpack_column(u, t, c, &part, at + c->off + k * c->bytes, rows);
		if (!cur_ok(&part) || (k == dir[i].values && cur_left(&part) != 0))
			return false;
	}
	return true;
}

/* Fills a table from its section; false when the bytes do not make one. */
static bool
unpack_table(struct unpack *u, const struct prof_tab *t, struct cur *in, uint64_t rows)
{
	unsigned char *prof = (unsigned char *)u->p;
	unsigned char *at = prof;
	uint32_t n;

	if (rows > UINT32_MAX / 2 ||
	    rows * t->row_bytes > (uint64_t)cur_left(in) * PACK_GROWTH_MAX)
		return false;
	if (t->row_bytes == 0) {
		if (rows != 1)
			return false;
	} else {
		n = (uint32_t)rows + t->first;
		free(prof_tab_rows(u->p, t, &(uint32_t){0}));
		at = xcalloc(n, t->row_bytes);
		memcpy(prof + t->rows_off, &at, sizeof at);
		memcpy(prof + t->n_off, &n, sizeof n);
		if (n == 0)
			n = 1; /* what xcalloc gave us */
		memcpy(prof + t->cap_off, &n, sizeof n);
		at += (size_t)t->first * t->row_bytes;
	}
	if (rows == 0)
		return cur_left(in) == 0;
	return unpack_columns(u, t, in, at, rows);
}

static bool
unpack_strings(struct unpack *u, struct cur *in, uint64_t rows)
{
	struct cur lengths = *in;

	if (rows > cur_left(in) || rows >= UINT32_MAX)
		return false;
	u->strings = xcalloc(rows + 1, sizeof *u->strings);
	u->nstrings = (uint32_t)rows + 1;
	for (uint64_t i = 0; i < rows; i++)
		cur_varint(in);
	for (uint64_t i = 1; i <= rows; i++) {
		uint64_t n = cur_varint(&lengths);
		const unsigned char *text = cur_take(in, n);

		if (text == NULL)
			return false;
		u->strings[i] = prof_strn(u->p, (const char *)text, n);
	}
	return cur_left(in) == 0;
}

/* Leaves a table as it is in an empty profile. */
static void
unpack_forget(struct unpack *u, const struct prof_tab *t)
{
	unsigned char *rows;
	uint32_t n;

	if (t->row_bytes == 0)
		return;
	rows = prof_tab_rows(u->p, t, &n);
	mem_put_u32((unsigned char *)u->p + t->n_off, t->first);
	if (t->first != 0)
		memset(rows, 0, t->row_bytes);
}

/* ---- sections ---- */

/* The raw bytes of a section in `raw`; false when they are not what was written. */
static bool
unpack_bytes(const struct pack_section *s, const unsigned char *stored, struct buf *raw)
{
	size_t n;

	if ((uint32_t)crc32_z(0, stored, s->stored_bytes) != s->stored_crc)
		return false;
	if (s->flags == 0) {
		if (s->raw_bytes != s->stored_bytes)
			return false;
		buf_add(raw, stored, s->stored_bytes);
		return true;
	}
	if (s->flags != PACK_ZSTD ||
	    s->raw_bytes > PACK_SLACK_BYTES + s->stored_bytes * PACK_RATIO_MAX)
		return false;
	n = ZSTD_decompress(buf_room(raw, s->raw_bytes), s->raw_bytes, stored,
			    s->stored_bytes);
	if (ZSTD_isError(n) || n != s->raw_bytes)
		return false;
	raw->len = n;
	return true;
}

/* Reads the section at `off`. Its end, or 0 when there is no whole section with a
 * sound head. */
static uint64_t
unpack_section(struct unpack *u, uint64_t off)
{
	struct cur c = cur_init(u->data, u->bytes);
	struct pack_section s;
	const unsigned char *at;
	struct buf raw = {0};
	struct cur in;
	bool ok;

	cur_seek(&c, off);
	at = cur_take(&c, sizeof s);
	if (at == NULL)
		return 0;
	memcpy(&s, at, sizeof s);
	if ((uint32_t)crc32_z(0, at, pack_crc_bytes(sizeof s)) != s.crc)
		return 0;
	at = cur_take(&c, s.stored_bytes);
	if (at == NULL)
		return 0;
	if (s.type == 0 || s.type >= PROF_TABS_STORED ||
	    u->state[s.type] != UNPACK_MISSING) {
		u->unknown++;
		return c.off;
	}
	ok = unpack_bytes(&s, at, &raw);
	in = cur_init(buf_str(&raw), raw.len);
	if (ok && s.type == PROF_TAB_STRINGS)
		ok = unpack_strings(u, &in, s.rows);
	else if (ok)
		ok = unpack_table(u, &prof_tabs[s.type], &in, s.rows);
	if (!ok)
		unpack_forget(u, &prof_tabs[s.type]);
	u->state[s.type] = ok ? UNPACK_READ : UNPACK_DAMAGED;
	buf_done(&raw);
	return c.off;
}

/* Offsets of all sections from the index; NULL when there is no sound one. */
static const unsigned char *
unpack_index(const struct unpack *u, uint32_t *ret_n)
{
	struct pack_tail t;
	struct cur c = cur_init(u->data, u->bytes);
	const unsigned char *index;
	size_t bytes;
	uLong crc;

	if (u->bytes < sizeof(struct pack_head) + sizeof t)
		return NULL;
	memcpy(&t, u->data + u->bytes - sizeof t, sizeof t);
	bytes = (size_t)t.sections * sizeof(uint64_t);
	cur_seek(&c, t.index_off);
	index = cur_take(&c, bytes);
	if (memcmp(t.magic, PACK_TAIL_MAGIC, sizeof t.magic) != 0 || index == NULL)
		return NULL;
	crc = crc32_z(0, index, bytes);
	crc = crc32_z(crc, (const unsigned char *)&t, pack_crc_bytes(sizeof t));
	if ((uint32_t)crc != t.crc)
		return NULL;
	*ret_n = t.sections;
	return index;
}

static void
unpack_sections(struct unpack *u)
{
	uint32_t n = 0;
	const unsigned char *index = unpack_index(u, &n);
	uint64_t off = sizeof(struct pack_head);

	if (index == NULL) {
		u->cut = true;
		while (off != 0)
			off = unpack_section(u, off);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		off = mem_get_u64(index + (size_t)i * sizeof off);
		if (unpack_section(u, off) == 0 && i + 1 < PROF_TABS_STORED)
			u->state[i + 1] =
				UNPACK_DAMAGED; /* they are written in this order */
	}
}

/* ---- what the numbers mean ---- */

static uint32_t
unpack_count(const struct unpack *u, unsigned type)
{
	return mem_get_u32((const unsigned char *)u->p + prof_tabs[type].n_off);
}

/* Names of strings and rows in one column: those that do not exist become none. */
static void
unpack_link_column(struct unpack *u, const struct prof_tab *t, const struct prof_col *c)
{
	uint32_t rows, limit = u->nstrings;
	unsigned char *at = prof_tab_rows(u->p, t, &rows) + c->off;
	bool quiet = false;
	uint64_t taken = 0; /* who owns rows may be counted on to be the only one */

	if (c->kind != PROF_COL_STR) {
		limit = unpack_count(u, c->table);
		quiet = u->state[c->table] != UNPACK_READ; /* counted as a section */
	}
	for (uint32_t i = 0; i < rows; i++, at += t->row_bytes) {
		uint32_t v = mem_get_u32(at);

		if (c->kind == PROF_COL_SPAN) {
			uint64_t n = mem_get_u32(at + sizeof v);

			if (v > limit || n > limit - v || taken + n > limit) {
				u->bad_refs += !quiet;
				mem_put_u64(at, n = 0);
			}
			taken += n;
			continue;
		}
		if (v >= limit) {
			u->bad_refs += !quiet;
			v = 0;
		}
		mem_put_u32(at, c->kind == PROF_COL_STR ? u->strings[v] : v);
	}
}

static void
unpack_link(struct unpack *u)
{
	struct prof *p = u->p;

	for (unsigned type = PROF_TAB_PROCESSES; type < PROF_TABS_STORED; type++) {
		const struct prof_tab *t = &prof_tabs[type];

		for (unsigned i = 0; i < t->ncols; i++) {
			if (t->cols[i].kind == PROF_COL_STR ||
			    t->cols[i].kind == PROF_COL_ROW ||
			    t->cols[i].kind == PROF_COL_SPAN)
				unpack_link_column(u, t, &t->cols[i]);
		}
	}
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (p->damages[i].what == 0)
			p->damages[i].what = prof_str(p, "damage without a name");
	}
}

/* What is lost: told in `p`, or refused when nothing is left to report. */
static int
unpack_account(struct unpack *u, struct err *e)
{
	for (unsigned i = 1; i < PROF_TABS_STORED; i++) {
		const struct prof_tab *t = &prof_tabs[i];
		char what[80];

		if (u->state[i] == UNPACK_READ)
			continue;
		if (t->needed && u->state[i] == UNPACK_DAMAGED)
			return err_set(e, -EBADMSG,
				       "section \"%s\" is damaged (wrong checksum)",
				       t->name);
		if (t->needed && u->cut)
			return err_set(
				e, -EBADMSG,
				"cut off after %zu bytes, before the end of section "
				"\"%s\"",
				u->bytes, t->name);
		if (t->needed)
			return err_set(e, -EBADMSG, "section \"%s\" is missing", t->name);
		snprintf(what, sizeof what, "section \"%s\" %s", t->name,
			 u->state[i] == UNPACK_DAMAGED ? "is damaged" : "is missing");
		prof_add_damage(u->p, what, 1);
	}
	return 0;
}

static int
unpack_head(const void *data, size_t bytes, struct err *e)
{
	struct pack_head h;

	if (!pack_detect(data, bytes))
		return err_set(e, -EINVAL, "not a seep recording");
	if (bytes < sizeof h)
		return err_set(e, -EBADMSG, "cut off after %zu bytes, within its head",
			       bytes);
	memcpy(&h, data, sizeof h);
	if (h.version != PACK_VERSION)
		return err_set(e, -EINVAL,
			       "recording of version %u, this seep reads %d: use %s seep",
			       h.version, PACK_VERSION,
			       h.version > PACK_VERSION ? "a newer" : "an older");
	if ((uint32_t)crc32_z(0, data, pack_crc_bytes(sizeof h)) != h.crc)
		return err_set(e, -EBADMSG, "its head is damaged (wrong checksum)");
	return 0;
}

int
pack_load(const void *data, size_t bytes, struct prof *p, struct err *e)
{
	struct unpack u = {.data = data, .bytes = bytes, .p = p};
	int r = unpack_head(data, bytes, e);

	if (r < 0)
		return r;
	unpack_sections(&u);
	if (u.strings != NULL)
		unpack_link(&u);
	/* A mark without its rows would show everything as grown since. */
	if (u.state[PROF_TAB_MARK_ROWS] != UNPACK_READ)
		p->nmarks = 0;
	/* And looks without theirs that nothing ever grew. */
	if (u.state[PROF_TAB_LOOK_ROWS] != UNPACK_READ)
		p->nlooks = 0;
	/* Moments without steps that nothing was ever live. */
	if (u.state[PROF_TAB_STEPS] != UNPACK_READ)
		p->nticks = 0;
	/* A check without what it found would say that nothing is lost. */
	if (u.state[PROF_TAB_LOSSES] != UNPACK_READ)
		p->nchecks = 0;
	if (u.state[PROF_TAB_FRAMES] != UNPACK_READ)
		p->has_names = false;
	r = unpack_account(&u, e);
	prof_add_damage(p, "references that lead nowhere", u.bad_refs);
	prof_add_damage(p, "values out of range", u.bad_values);
	prof_add_damage(p, "sections of an unknown kind", u.unknown);
	if (u.cut && r == 0)
		prof_add_damage(p, "index at the end is missing or damaged", 1);
	free(u.strings);
	return r;
}

int
pack_load_fd(int fd, struct prof *p, struct err *e)
{
	struct buf file = {0};
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, -errno, "cannot read");
	r = buf_read_fd(&file, fd, SIZE_MAX, "recording", e);
	if (r == 0)
		r = pack_load(file.data, file.len, p, e);
	buf_done(&file);
	return r;
}

bool
pack_detect(const void *head, size_t bytes)
{
	return bytes >= 8 && memcmp(head, PACK_MAGIC, 8) == 0;
}
