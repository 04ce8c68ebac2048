/* SPDX-License-Identifier: MIT */
/* sym_index.c -- see sym_index.h. */
#include "tool/sym/sym_index.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

static uint32_t
sym_index_crc(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

/* The next `n` items of `size` bytes, or NULL when they do not fit. */
static const void *
sym_index_take(const struct sym_index *x, size_t *off, size_t n, size_t size)
{
	const void *at = x->bytes + *off;

	if (n > (x->nbytes - *off) / size)
		return NULL;
	*off += n * size;
	return at;
}

/* Checksum of head and tables, which end at `end`. */
static uint32_t
sym_index_head_crc(const unsigned char *bytes, size_t end)
{
	struct sym_index_head head;
	uint32_t crc;

	memcpy(&head, bytes, sizeof head);
	head.crc = 0;
	crc = sym_index_crc(0, &head, sizeof head);
	return sym_index_crc(crc, bytes + sizeof head, end - sizeof head);
}

int
sym_index_open(const void *bytes, size_t n, const unsigned char *id, size_t id_len,
	       struct sym_index *ret)
{
	struct sym_index x = {.bytes = bytes, .nbytes = n, .head = bytes};
	const struct sym_index_head *h = bytes;
	size_t off = sizeof *h;

	if (n < sizeof *h || memcmp(h->magic, SYM_INDEX_MAGIC, sizeof h->magic) != 0 ||
	    h->version != SYM_INDEX_VERSION || h->bytes != n ||
	    h->build_id_bytes != id_len || id_len > SYM_BUILD_ID_MAX || id_len == 0 ||
	    memcmp(h->build_id, id, id_len) != 0 || h->nunits == UINT32_MAX)
		return -EINVAL;
	x.code = sym_index_take(&x, &off, h->ncode, sizeof *x.code);
	if (x.code != NULL)
		x.entries = sym_index_take(&x, &off, (size_t)h->nunits + 1,
					   sizeof *x.entries);
	if (x.entries != NULL)
		x.spans = sym_index_take(&x, &off, h->nspans, sizeof *x.spans);
	if (x.spans != NULL)
		x.blind = sym_index_take(&x, &off, h->nblind, sizeof *x.blind);
	if (x.blind == NULL || sym_index_head_crc(bytes, off) != h->crc)
		return -EINVAL;
	*ret = x;
	return 0;
}

bool
sym_index_part(const struct sym_index *x, uint32_t entry, struct sym_part *ret)
{
	const struct sym_index_entry *e = &x->entries[entry];
	const struct sym_index_part *h;
	struct sym_index in;
	struct sym_part p = {0};
	size_t off = sizeof *h;

	if (entry > x->head->nunits || e->bytes < sizeof *h || e->off % 4 != 0 ||
	    e->off > x->nbytes || e->bytes > x->nbytes - e->off)
		return false;
	in = (struct sym_index){.bytes = x->bytes + e->off, .nbytes = e->bytes};
	h = (const struct sym_index_part *)in.bytes;
	p.rows = sym_index_take(&in, &off, h->nrows, sizeof *p.rows);
	if (p.rows != NULL)
		p.spans = sym_index_take(&in, &off, h->nspans, sizeof *p.spans);
	if (p.spans != NULL)
		p.nodes = sym_index_take(&in, &off, h->nnodes, sizeof *p.nodes);
	if (p.nodes != NULL)
		p.symbols = sym_index_take(&in, &off, h->nsymbols, sizeof *p.symbols);
	if (p.symbols != NULL)
		p.text = sym_index_take(&in, &off, h->text_bytes, 1);
	if (p.text == NULL || off != e->bytes || h->text_bytes == 0 ||
	    p.text[h->text_bytes - 1] != '\0' ||
	    sym_index_crc(0, in.bytes, in.nbytes) != e->crc)
		return false;
	p.nrows = h->nrows;
	p.nspans = h->nspans;
	p.nnodes = h->nnodes;
	p.nsymbols = h->nsymbols;
	p.text_bytes = h->text_bytes;
	*ret = p;
	return true;
}

/* ---- writing ---- */

/* Text of one part: ids of sym.strings to places in it. */
struct sym_index_text {
	const struct sym *sym;
	struct map places; /* id -> offset + 1 */
	struct buf text;
};

static uint32_t
sym_index_text(struct sym_index_text *t, uint32_t id)
{
	uint64_t *place;
	size_t at;

	if (id == 0 || id == SYM_NONE)
		return 0;
	place = map_add(&t->places, id);
	if (*place == 0) {
		at = t->text.len;
		buf_add(&t->text, strtab_str(&t->sym->strings, id),
			strtab_len(&t->sym->strings, id) + 1);
		*place = (uint64_t)at + 1;
	}
	return *place - 1 < UINT32_MAX ? (uint32_t)(*place - 1) : 0;
}

/* Appends the text and says how long it is; parts are whole words. */
static void
sym_index_text_end(struct sym_index_text *t, struct buf *out, size_t head_at,
		   struct sym_index_part *head)
{
	while (t->text.len % 4 != 0)
		buf_add_char(&t->text, '\0');
	buf_add(out, t->text.data, t->text.len);
	head->text_bytes = (uint32_t)t->text.len;
	memcpy(out->data + head_at, head, sizeof *head);
	map_done(&t->places);
	buf_done(&t->text);
}

/* Which nodes an address can lead to, numbered anew; the others were thrown away by the
 * linker or have no code. To be freed by the caller. */
static uint32_t *
sym_index_renumber(const struct sym_part *p, uint32_t *ret_kept)
{
	uint32_t *number = xcalloc(p->nnodes, sizeof *number);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->nspans; i++)
		if (p->spans[i].id < p->nnodes)
			number[p->spans[i].id] = 1;
	/* parents come before their children */
	for (uint32_t i = p->nnodes; i-- > 0;)
		if (number[i] != 0 && p->nodes[i].parent < i)
			number[p->nodes[i].parent] = 1;
	for (uint32_t i = 0; i < p->nnodes; i++)
		number[i] = number[i] != 0 ? kept++ : SYM_NONE;
	*ret_kept = kept;
	return number;
}

static void
sym_index_nodes(struct sym *s, struct sym_unit *u, const uint32_t *number,
		struct sym_index_text *t, struct buf *out)
{
	for (uint32_t i = 0; i < u->part.nnodes; i++) {
		struct sym_node n;

		if (number[i] == SYM_NONE)
			continue;
		sym_node_name(s, u, i);
		n = u->part.nodes[i];
		n.parent = n.parent < i ? number[n.parent] : SYM_NONE;
		n.name = sym_index_text(t, n.name);
		n.file = sym_index_text(t, n.file);
		buf_add(out, &n, sizeof n);
	}
}

/* Appends the part of a unit that was read from debug information. */
static void
sym_index_unit(struct sym *s, struct sym_unit *u, struct buf *out)
{
	const struct sym_part *p = &u->part;
	struct sym_index_text t = {.sym = s};
	struct sym_index_part head = {.nrows = p->nrows, .nspans = p->nspans};
	uint32_t *number = sym_index_renumber(p, &head.nnodes);
	size_t at = out->len;

	buf_add_char(&t.text, '\0'); /* nothing is at 0 */
	buf_add(out, &head, sizeof head);
	for (uint32_t i = 0; i < p->nrows; i++) {
		struct sym_row row = p->rows[i];

		row.file = sym_index_text(&t, row.file);
		buf_add(out, &row, sizeof row);
	}
	for (uint32_t i = 0; i < p->nspans; i++) {
		struct sym_span span = p->spans[i];

		span.id = span.id < p->nnodes ? number[span.id] : SYM_NONE;
		buf_add(out, &span, sizeof span);
	}
	sym_index_nodes(s, u, number, &t, out);
	sym_index_text_end(&t, out, at, &head);
	free(number);
}

static void
sym_index_symbols(struct sym *s, struct buf *out)
{
	struct sym_index_text t = {.sym = s};
	struct sym_index_part head = {.nsymbols = s->symbols.nsymbols};
	size_t at = out->len;

	buf_add_char(&t.text, '\0');
	buf_add(out, &head, sizeof head);
	for (uint32_t i = 0; i < head.nsymbols; i++) {
		struct sym_symbol x = s->symbols.symbols[i];

		x.name = sym_index_text(&t, x.name);
		buf_add(out, &x, sizeof x);
	}
	sym_index_text_end(&t, out, at, &head);
}

/* Everything before the parts, with empty entries. */
static void
sym_index_tables(const struct sym *s, struct buf *out)
{
	struct sym_index_head head = {
		.magic = {0},
		.version = SYM_INDEX_VERSION,
		.build_id_bytes = (uint32_t)s->build_id_len,
		.ncode = (uint32_t)s->code.len,
		.nspans = (uint32_t)s->units.spans.len,
		.nblind = (uint32_t)s->units.blind.len,
		.nunits = (uint32_t)s->units.all.len,
		.base = s->base,
		.built_s = s->file.mtime.tv_sec,
		.built_ns = (uint32_t)s->file.mtime.tv_nsec,
	};
	struct sym_index_entry none = {0};

	memcpy(head.magic, SYM_INDEX_MAGIC, sizeof head.magic);
	memcpy(head.build_id, s->build_id, s->build_id_len);
	buf_add(out, &head, sizeof head);
	for (size_t i = 0; i < s->code.len; i++) {
		struct sym_index_code c = {s->code.data[i].lo, s->code.data[i].hi};

		buf_add(out, &c, sizeof c);
	}
	for (size_t i = 0; i <= s->units.all.len; i++)
		buf_add(out, &none, sizeof none);
	buf_add(out, s->units.spans.data,
		s->units.spans.len * sizeof *s->units.spans.data);
	buf_add(out, s->units.blind.data,
		s->units.blind.len * sizeof *s->units.blind.data);
}

/* Appends one part: of what was read, or as it is in `old`. */
static void
sym_index_add(struct sym *s, const struct sym_index *old, uint32_t entry, struct buf *out)
{
	struct sym_unit *u = entry < s->units.all.len ? &s->units.all.data[entry] : NULL;
	struct sym_part p;

	if (u != NULL && u->loaded && u->part.text == NULL)
		sym_index_unit(s, u, out);
	else if (u == NULL && s->symbols_loaded && s->symbols.text == NULL)
		sym_index_symbols(s, out);
	else if (old != NULL && sym_index_part(old, entry, &p))
		buf_add(out, old->bytes + old->entries[entry].off,
			old->entries[entry].bytes);
}

int
sym_index_write(struct sym *s, const struct sym_index *old, size_t most, struct buf *out)
{
	uint32_t nunits = (uint32_t)s->units.all.len;
	size_t entries = sizeof(struct sym_index_head) +
			 s->code.len * sizeof(struct sym_index_code);
	struct sym_index_entry e;
	struct sym_index_head *head;
	size_t tables, at;

	sym_index_tables(s, out);
	tables = out->len;
	for (uint32_t i = 0; i <= nunits; i++) {
		at = out->len;
		sym_index_add(s, old, i, out);
		if (out->len > most || out->len - at > UINT32_MAX)
			return -EFBIG;
		e = (struct sym_index_entry){.off = at,
					     .bytes = (uint32_t)(out->len - at)};
		e.crc = sym_index_crc(0, out->data + at, e.bytes);
		memcpy(out->data + entries + i * sizeof e, &e, sizeof e);
	}
	head = (struct sym_index_head *)out->data;
	head->bytes = out->len;
	head->crc = sym_index_head_crc((unsigned char *)out->data, tables);
	return 0;
}
