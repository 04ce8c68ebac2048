/* SPDX-License-Identifier: MIT */
/* maps.c -- the memory map of a heap profile.
 *
 * The build-id of a file found under its path is not taken over, since nothing says that
 * it is the file of back then; a path that ends in " (deleted)" is kept so, because the
 * file now under that name is another one. */
#include "maps.h"

#include <stdlib.h>
#include <string.h>

#include "elfload.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"

enum {
	PATH_MOST = 65536,
	MAPS_TAIL_BYTES = 16 << 20, /* more is no map: a process has 65,530 mappings */
	MAPS_ATTRS_MAX = 16,
	MAPS_EXE_START = 0x400000,
};

struct maps_attr {
	struct line name, value;
};

struct maps_parse {
	struct maps *m;
	struct maps_attr attrs[MAPS_ATTRS_MAX];
	unsigned nattrs;
};

/* ---- where it is ---- */

bool
maps_begins(const struct line *l)
{
	struct line at = *l;

	scan_blanks(&at);
	return scan_text(&at, "MAPPED_LIBRARIES:") || scan_text(&at, "--- Memory map:");
}

size_t
maps_where(const void *data, size_t bytes, size_t *ret_body)
{
	const char *begin = data, *end = begin + bytes, *at = end;
	const char *stop = bytes > MAPS_TAIL_BYTES ? end - MAPS_TAIL_BYTES : begin;

	while (at > stop) {
		const char *nl = memrchr(stop, '\n', (size_t)(at - stop));
		struct line l = {nl != NULL ? nl + 1 : stop, at};

		if (maps_begins(&l) && (nl != NULL || stop == begin)) {
			const char *body = memchr(l.at, '\n', (size_t)(end - l.at));

			*ret_body = body != NULL ? (size_t)(body + 1 - begin) : bytes;
			return (size_t)(l.at - begin);
		}
		at = nl != NULL ? nl : stop;
	}
	*ret_body = bytes;
	return bytes;
}

/* ---- one line ---- */

/* `… file.cc:12] ` of a log that the map was printed into. */
static void
maps_skip_log(struct line *l)
{
	const char *at = l->at;

	while (at < l->end && *at != '[' && *at != ']')
		at++;
	if (at + 1 >= l->end || *at != ']' || !scan_is_blank(at[1]) || at == l->at ||
	    at[-1] < '0' || at[-1] > '9')
		return;
	for (const char *digit = at - 1; digit > l->at; digit--) {
		if (*digit == ':') {
			l->at = at + 2;
			return;
		}
		if (*digit < '0' || *digit > '9')
			return;
	}
}

static bool
maps_is_perms(const struct line *w)
{
	for (const char *c = w->at; c < w->end; c++) {
		if (strchr("-rwxsp", *c) == NULL || *c == '\0')
			return false;
	}
	return w->end > w->at;
}

/* ` offset maj:min inode`, behind which the path is all that is left. */
static bool
maps_scan_place(struct line *l, uint64_t *ret_off)
{
	struct line at = *l, device;
	uint64_t off, inode;

	scan_blanks(&at);
	if (!scan_hex(&at, &off))
		return false;
	scan_blanks(&at);
	if (!scan_word(&at, &device) || memchr(device.at, ':', line_len(&device)) == NULL)
		return false;
	scan_blanks(&at);
	if (!scan_u64(&at, &inode))
		return false;
	scan_trim(&at);
	*l = at;
	*ret_off = off;
	return true;
}

static void
maps_scan_build_id(struct line w, struct maps_range *r)
{
	unsigned n = 0;

	for (; w.end - w.at >= 2 && n < PROF_BUILD_ID_MAX; w.at += 2) {
		int high = scan_hex_digit(w.at[0]), low = scan_hex_digit(w.at[1]);

		if (high < 0 || low < 0)
			return;
		r->build_id[n++] = (uint8_t)(high << 4 | low);
	}
	if (w.at == w.end && n >= 4)
		r->build_id_bytes = (uint8_t)n;
}

/* `file (@offset) build-id`, each of which may be missing; leaves `l` at the file. */
static void
maps_scan_short(struct line *l, struct maps_range *r)
{
	struct line file = {0}, word;

	scan_trim(l);
	scan_word(l, &file);
	scan_blanks(l);
	while (scan_word(l, &word)) {
		if (scan_text(&word, "(@"))
			scan_hex(&word, &r->off);
		else
			maps_scan_build_id(word, r);
		scan_blanks(l);
	}
	*l = file;
}

/* The path with every $name replaced. */
static uint32_t
maps_path(const struct maps_parse *parse, struct line l)
{
	struct buf text = {0};
	uint32_t id;

	while (l.at < l.end &&
	       text.len <= PATH_MOST) { /* a value may be long, and named often */
		unsigned i = 0;

		for (; *l.at == '$' && i < parse->nattrs; i++) {
			const struct maps_attr *a = &parse->attrs[i];
			struct line rest = {l.at + 1, l.end};

			if (line_len(&rest) < line_len(&a->name) ||
			    memcmp(rest.at, a->name.at, line_len(&a->name)) != 0)
				continue;
			buf_add(&text, a->value.at, line_len(&a->value));
			l.at = rest.at + line_len(&a->name);
			break;
		}
		if (l.at < l.end && (i == parse->nattrs || *l.at != '$'))
			buf_add_char(&text, *l.at++);
	}
	id = prof_strn(parse->m->p, text.data, text.len);
	buf_done(&text);
	return id;
}

static void
maps_add_attr(struct maps_parse *parse, const struct line *l)
{
	const char *equals = memchr(l->at, '=', line_len(l));
	struct maps_attr *a;

	if (equals == NULL || equals == l->at || parse->nattrs == MAPS_ATTRS_MAX)
		return;
	a = &parse->attrs[parse->nattrs++];
	a->name = (struct line){l->at, equals};
	a->value = (struct line){equals + 1, l->end};
	scan_trim(&a->name);
	scan_trim(&a->value);
}

static void
maps_line(struct maps_parse *parse, struct line l)
{
	struct maps_range r = {0};
	struct line at, perms;

	maps_skip_log(&l);
	scan_trim(&l);
	at = l;
	if (!scan_hex(&at, &r.start)) {
		maps_add_attr(parse, &l);
		return;
	}
	if (!scan_char(&at, '-'))
		scan_blanks(&at);
	scan_blanks(&at);
	if (!scan_hex(&at, &r.end) || r.end <= r.start) {
		maps_add_attr(parse, &l);
		return;
	}
	scan_char(&at, ':');
	l = at;
	scan_blanks(&at);
	if (scan_word(&at, &perms) && maps_is_perms(&perms)) {
		if (memchr(perms.at, 'x', line_len(&perms)) == NULL)
			return;
		l = at;
	}
	if (!maps_scan_place(&l, &r.off))
		maps_scan_short(&l, &r);
	r.path = maps_path(parse, l);
	vec_push(&parse->m->ranges, r);
}

/* ---- all of them ---- */

/* Code that was moved onto huge pages has lost its file: it is that of the range behind
 * it. */
static void
maps_join_huge(struct maps *m)
{
	for (size_t i = m->ranges.len; i-- > 1;) {
		struct maps_range *r = &m->ranges.data[i - 1], *next = r + 1;
		const char *path = prof_text(m->p, r->path);

		if (strncmp(path, "/anon_hugepage", 14) != 0 || r->end != next->start ||
		    next->off < r->end - r->start)
			continue;
		r->path = next->path;
		r->off = next->off - (r->end - r->start);
	}
}

/* Whether a path is that of a library: `.so` at its end or before a version. */
static bool
maps_is_library(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, ".so")) != NULL) {
		at += 3;
		if (*at == '\0' || *at == '.' || *at == ' ')
			return true;
	}
	return false;
}

static void
maps_find_program(struct maps *m, const char *exe)
{
	uint32_t found = 0;

	for (size_t i = 0; i < m->ranges.len; i++) {
		const char *path = prof_text(m->p, m->ranges.data[i].path);

		if (exe != NULL && strcmp(path, exe) == 0) {
			m->program = m->ranges.data[i].path;
			return;
		}
		if (found == 0 && path[0] != '\0' && path[0] != '[' &&
		    strncmp(path, "/anon_hugepage", 14) != 0 && !maps_is_library(path))
			found = m->ranges.data[i].path;
	}
	m->program = found;
}

/* Virtual address at which a range begins, of a file whose headers may not be known. A
 * program that is not position independent is linked to MAPS_EXE_START: its addresses
 * stay as they are, so that the file can name them later. */
static uint64_t
maps_vaddr(const struct elfload *loads, uint32_t n, const struct maps_range *r,
	   bool program)
{
	uint64_t vaddr;

	if (elfload_vaddr(loads, n, r->off, &vaddr))
		return vaddr;
	return program && r->start - r->off == MAPS_EXE_START ? r->start : r->off;
}

/* Makes `off` of every range the virtual address where it begins, and adds the
 * modules. */
static void
maps_add_modules(struct maps *m, uint32_t process, const char *exe)
{
	struct map seen = {0}; /* path -> module */
	struct elfload *loads = NULL;
	uint32_t n = 0, of = 0; /* whose headers these are */

	for (size_t i = 0; i < m->ranges.len; i++) {
		struct maps_range *r = &m->ranges.data[i];
		const char *path = prof_text(m->p, r->path);
		uint64_t *module;
		uint32_t row;

		if (r->path == 0)
			continue; /* code that a program made itself */
		if (r->path == m->program && exe != NULL)
			path = exe;
		if (of != r->path) {
			free(loads);
			if (!elfload_read(path, &loads, &n)) {
				loads = NULL;
				n = 0;
			}
			of = r->path;
		}
		r->off = maps_vaddr(loads, n, r, r->path == m->program);
		module = map_add(&seen, r->path);
		if (*module == 0)
			*module = prof_module(m->p, path, r->build_id, r->build_id_bytes);
		r->module = (uint32_t)*module;
		row = prof_add_range(m->p);
		m->p->ranges[row].process = process;
		m->p->ranges[row].module = r->module;
		m->p->ranges[row].start = r->start;
		m->p->ranges[row].end = r->end;
		m->p->ranges[row].bias = r->start - r->off;
	}
	map_done(&seen);
	free(loads);
}

void
maps_read(struct maps *m, struct prof *p, uint32_t process, struct lines in,
	  const char *exe)
{
	struct maps_parse parse = {.m = m};
	char *real = exe != NULL ? realpath(exe, NULL) : NULL;
	struct line l;

	*m = (struct maps){.p = p};
	if (real != NULL)
		exe = real;
	while (lines_next(&in, &l)) {
		m->lines++;
		if (in.cut)
			prof_add_damage(p, "memory map that breaks off", 1);
		else
			maps_line(&parse, l);
	}
	vec_sort(&m->ranges, vec_compare_by(struct maps_range, start));
	maps_join_huge(m);
	maps_find_program(m, exe);
	maps_add_modules(m, process, exe);
	if (m->ranges.len == 0 && exe != NULL)
		m->orphans = prof_module(p, exe, NULL, 0);
	p->processes[process].exe = m->program;
	if (exe != NULL)
		p->processes[process].exe = prof_str(p, exe);
	free(real);
}

void
maps_done(struct maps *m)
{
	vec_done(&m->ranges);
	*m = (struct maps){0};
}

uint32_t
maps_find(const struct maps *m, uint64_t addr, uint64_t *ret_offset)
{
	size_t low = 0, high = m->ranges.len;
	const struct maps_range *r;

	*ret_offset = addr;
	/* A return address may be one past the end of the range that the call is in. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->ranges.data[mid].start < addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return m->orphans;
	r = &m->ranges.data[low - 1];
	if (addr - 1 >= r->end || r->module == 0)
		return m->orphans;
	*ret_offset = addr - r->start + r->off;
	return r->module;
}
