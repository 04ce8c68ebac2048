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
	uint32_t version;
	unsigned types; /* one more than the last type that a file of its version has */
	enum unpack_state state[PACK_TYPES];
	uint32_t *strings; /* id in the file -> id in the profile */
	uint32_t nstrings;
	uint64_t bad_refs, bad_values, unknown;
	bool cut; /* no sound index: most likely it ends too soon */
};

/* ---- columns ---- */

static void
unpack_store(unsigned char *at, const struct pack_col *c, uint64_t v)
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

/* Whether a value fits its field; `v` of PACK_INT is sign-extended. */
static bool
unpack_fits(const struct pack_col *c, uint64_t v)
{
	unsigned bits = 8u * c->bytes;

	if (bits == 64)
		return v <= c->max || c->kind == PACK_INT;
	if (c->kind == PACK_INT)
		return (int64_t)v >> (bits - 1) == 0 || (int64_t)v >> (bits - 1) == -1;
	return v >> bits == 0 && v <= c->max;
}

static void
unpack_column(struct unpack *u, const struct pack_table *t, const struct pack_col *c,
	      struct cur *in, unsigned char *at, uint64_t rows)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < rows && cur_ok(in); i++, at += t->row_bytes) {
		uint64_t v;

		if (c->kind == PACK_REAL) {
			mem_put_u64(at, cur_u64(in));
			continue;
		}
		v = cur_varint(in);
		if (c->delta)
			v = before += (uint64_t)varint_unfold(v);
		else if (c->kind == PACK_INT)
			v = (uint64_t)varint_unfold(v);
		else if (c->kind == PACK_BACK && v - 1 < t->first + i)
			v = t->first + i - v;
		else if (c->kind == PACK_BACK)
			v = UINT64_MAX; /* not before this row */
		if (!unpack_fits(c, v)) {
			u->bad_values++;
			v = 0;
		}
		unpack_store(at, c, v);
	}
}

/* Values of a column in a file of this version. */
static unsigned
unpack_values(const struct unpack *u, const struct pack_col *c)
{
	if (u->version < c->since)
		return 0;
	return u->version < PACK_VERSION_LIFE && c->before_life > 0 ? c->before_life
								    : c->count;
}

/* Fewest bytes that a row can take. */
static uint64_t
unpack_row_min(const struct unpack *u, const struct pack_table *t)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < t->ncols; i++)
		n += unpack_values(u, &t->cols[i]) *
		     (t->cols[i].kind == PACK_REAL ? 8u : 1u);
	return n;
}

/* Fills a table from its section; false when the bytes do not make one. */
static bool
unpack_table(struct unpack *u, const struct pack_table *t, struct cur *in, uint64_t rows)
{
	unsigned char *prof = (unsigned char *)u->p;
	unsigned char *at = prof;
	uint32_t n;

	if (rows > cur_left(in) / unpack_row_min(u, t) || rows > UINT32_MAX / 2)
		return false;
	if (t->row_bytes == 0) {
		if (rows != 1)
			return false;
	} else {
		void *old;

		n = (uint32_t)rows + t->first;
		memcpy(&old, prof + t->rows_off, sizeof old);
		free(old);
		at = xcalloc(n, t->row_bytes);
		memcpy(prof + t->rows_off, &at, sizeof at);
		memcpy(prof + t->n_off, &n, sizeof n);
		if (n == 0)
			n = 1; /* what xcalloc gave us */
		memcpy(prof + t->cap_off, &n, sizeof n);
		at += (size_t)t->first * t->row_bytes;
	}
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct pack_col *c = &t->cols[i];

		for (unsigned k = 0; k < unpack_values(u, c); k++)
			unpack_column(u, t, c, in, at + c->off + (size_t)k * c->bytes,
				      rows);
	}
	return cur_ok(in) && cur_left(in) == 0;
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
unpack_forget(struct unpack *u, const struct pack_table *t)
{
	unsigned char *prof = (unsigned char *)u->p;
	unsigned char *rows;
	uint32_t n = t->first;

	if (t->row_bytes == 0)
		return;
	memcpy(&rows, prof + t->rows_off, sizeof rows);
	memcpy(prof + t->n_off, &n, sizeof n);
	if (n != 0)
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
	if (s.type == 0 || s.type >= u->types || u->state[s.type] != UNPACK_MISSING) {
		u->unknown++;
		return c.off;
	}
	ok = unpack_bytes(&s, at, &raw);
	in = cur_init(buf_str(&raw), raw.len);
	if (ok && s.type == PACK_STRINGS)
		ok = unpack_strings(u, &in, s.rows);
	else if (ok)
		ok = unpack_table(u, &pack_tables[s.type], &in, s.rows);
	if (!ok)
		unpack_forget(u, &pack_tables[s.type]);
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
		if (unpack_section(u, off) == 0 && i + 1 < PACK_TYPES)
			u->state[i + 1] =
				UNPACK_DAMAGED; /* they are written in this order */
	}
}

/* ---- what the numbers mean ---- */

static uint32_t
unpack_count(const struct unpack *u, unsigned type)
{
	uint32_t n;

	memcpy(&n, (const unsigned char *)u->p + pack_tables[type].n_off, sizeof n);
	return n;
}

/* Names of strings and rows in one column: those that do not exist become none. */
static void
unpack_link_column(struct unpack *u, const struct pack_table *t, const struct pack_col *c)
{
	unsigned char *at;
	uint32_t rows, limit = u->nstrings;
	bool quiet = false;

	if (c->kind == PACK_ROW) {
		limit = unpack_count(u, c->table);
		quiet = u->state[c->table] != UNPACK_READ; /* counted as a section */
	}
	memcpy(&at, (unsigned char *)u->p + t->rows_off, sizeof at);
	memcpy(&rows, (unsigned char *)u->p + t->n_off, sizeof rows);
	for (uint32_t i = 0; i < rows; i++) {
		unsigned char *field = at + (size_t)i * t->row_bytes + c->off;
		uint32_t v = mem_get_u32(field);

		if (v >= limit) {
			u->bad_refs += !quiet;
			v = 0;
		}
		mem_put_u32(field, c->kind == PACK_STR ? u->strings[v] : v);
	}
}

static void
unpack_link(struct unpack *u)
{
	struct prof *p = u->p;
	uint64_t taken = 0; /* rows belong to one only: who owns them may be counted on */

	for (unsigned type = PACK_PROCESSES; type < PACK_TYPES; type++) {
		const struct pack_table *t = &pack_tables[type];

		for (unsigned i = 0; i < t->ncols; i++) {
			if (t->cols[i].kind == PACK_STR || t->cols[i].kind == PACK_ROW)
				unpack_link_column(u, t, &t->cols[i]);
		}
	}
	for (uint32_t i = 0; i < p->nlocs; i++) {
		struct prof_loc *l = &p->locs[i];

		if (l->frames > p->nframes || l->nframes > p->nframes - l->frames ||
		    taken + l->nframes > p->nframes) {
			u->bad_refs += u->state[PACK_FRAMES] == UNPACK_READ;
			l->frames = l->nframes = 0;
		}
		taken += l->nframes;
	}
	taken = 0;
	for (uint32_t i = 0; i < p->nmarks; i++) {
		struct prof_mark *m = &p->marks[i];

		if (m->rows > p->nmark_rows || m->nrows > p->nmark_rows - m->rows ||
		    taken + m->nrows > p->nmark_rows) {
			u->bad_refs++;
			m->rows = m->nrows = 0;
		}
		taken += m->nrows;
	}
	taken = 0;
	for (uint32_t i = 0; i < p->nlooks; i++) {
		struct prof_look *x = &p->looks[i];

		if (x->rows > p->nlook_rows || x->nrows > p->nlook_rows - x->rows ||
		    taken + x->nrows > p->nlook_rows) {
			u->bad_refs++;
			x->rows = x->nrows = 0;
		}
		taken += x->nrows;
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
	for (unsigned i = 1; i < u->types; i++) {
		const struct pack_table *t = &pack_tables[i];
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

/* Lifetimes of an older file, in steps of 4: each bucket is moved to the one with the same upper
 * limit. The last has none but the duration of the process. */
static void
unpack_old_lifetimes(struct prof *p)
{
	enum { LAST = PACK_OLD_LIFE_BUCKETS - 1 };

	for (uint32_t i = 1; i < p->nsites; i++) {
		uint64_t *to = p->sites[i].lifetimes, from[PACK_OLD_LIFE_BUCKETS];
		uint64_t ms = p->processes[p->sites[i].process].duration_ms;
		unsigned last = 2 * LAST - 1;

		while (last + 1 < PROF_LIFE_BUCKETS && ms >> last != 0)
			last++;
		memcpy(from, to, sizeof from);
		memset(to, 0, sizeof from);
		for (unsigned k = 0; k < LAST; k++)
			to[2 * k] = from[k];
		to[last] = from[LAST];
	}
}

static int
unpack_head(const void *data, size_t bytes, struct unpack *u, struct err *e)
{
	struct pack_head h;

	if (!pack_detect(data, bytes))
		return err_set(e, -EINVAL, "not a seep recording");
	if (bytes < sizeof h)
		return err_set(e, -EBADMSG, "cut off after %zu bytes, within its head",
			       bytes);
	memcpy(&h, data, sizeof h);
	if (h.version < PACK_VERSION_OLDEST || h.version > PACK_VERSION)
		return err_set(
			e, -EINVAL,
			"recording of version %u, this seep reads %d to %d: use %s seep",
			h.version, PACK_VERSION_OLDEST, PACK_VERSION,
			h.version > PACK_VERSION ? "a newer" : "an older");
	if ((uint32_t)crc32_z(0, data, pack_crc_bytes(sizeof h)) != h.crc)
		return err_set(e, -EBADMSG, "its head is damaged (wrong checksum)");
	u->version = h.version;
	u->types = h.version < 3   ? PACK_LOOKS
		   : h.version < 4 ? PACK_CHECKS
		   : h.version < 8 ? PACK_HOLDERS
				   : PACK_TYPES;
	return 0;
}

int
pack_load(const void *data, size_t bytes, struct prof *p, struct err *e)
{
	struct unpack u = {.data = data, .bytes = bytes, .p = p};
	int r = unpack_head(data, bytes, &u, e);

	if (r < 0)
		return r;
	unpack_sections(&u);
	if (u.strings != NULL)
		unpack_link(&u);
	if (u.version < PACK_VERSION_LIFE)
		unpack_old_lifetimes(p);
	/* A mark without its rows would show everything as grown since. */
	if (u.state[PACK_MARK_ROWS] != UNPACK_READ)
		p->nmarks = 0;
	/* And looks without theirs that nothing ever grew. */
	if (u.state[PACK_LOOK_ROWS] != UNPACK_READ)
		p->nlooks = 0;
	/* A check without what it found would say that nothing is lost. */
	if (u.state[PACK_LOSSES] != UNPACK_READ)
		p->nchecks = 0;
	if (u.state[PACK_FRAMES] != UNPACK_READ)
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
