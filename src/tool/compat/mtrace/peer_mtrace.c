/* SPDX-License-Identifier: MIT */
/* peer_mtrace.c -- `seep mtrace [PROGRAM] LOG`: what glibc's mtrace script prints about a
 * log.
 *
 * The log is replayed: what is allocated twice or freed without having been allocated is
 * told as it comes, with the number of its line; what is left at the end is listed by
 * address. Places are resolved only if a program is named, as the script does it, and for
 * a return address give the line that it returns to. Each binary is opened once, where
 * the script starts a process for every place, and places of different binaries are never
 * mixed up. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/format/elfload.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/sym/sym.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { FRAMES_MAX = 64 };

struct mt_block {
	uint64_t addr;
	uint64_t bytes;
	uint32_t where; /* string, 0 = none */
	bool live;
};

struct mt_module {
	struct sym *sym; /* NULL = cannot be opened */
	uint64_t base;	 /* virtual address of its beginning */
	char *path;
};

struct mt_replay {
	const char *program; /* NULL: places stay addresses */
	struct strtab places;
	struct map place_names; /* string of places -> its name's string there */
	struct map blocks;	/* address -> index + 1 */
	struct map modules;	/* string of places (the path) -> index + 1 */
	VEC(struct mt_block) all;
	VEC(struct mt_module) mods;
	struct buf out;
};

/* ---- places ---- */

static void
module_open(struct mt_replay *r, const char *path, struct mt_module *m)
{
	struct elfload *loads = NULL;
	uint32_t n = 0;

	m->path = xstrdup(path);
	m->sym = sym_open(path, NULL, 0, NULL, NULL);
	/* The program is named in the log as it was called, which may have been from
	 * elsewhere. */
	if (m->sym == NULL && strcmp(file_base(path), file_base(r->program)) == 0) {
		path = r->program;
		m->sym = sym_open(path, NULL, 0, NULL, NULL);
	}
	if (m->sym == NULL || !elfload_read(path, &loads, &n))
		return;
	m->base = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		if (loads[i].vaddr < m->base)
			m->base = loads[i].vaddr & ~(uint64_t)4095;
	}
	free(loads);
}

static struct mt_module *
module_get(struct mt_replay *r, const char *path)
{
	uint64_t *at = map_add(&r->modules, strtab_add(&r->places, path));

	if (*at == 0) {
		struct mt_module *m = vec_add(&r->mods);

		*at = r->mods.len;
		module_open(r, path, m);
	}
	return &r->mods.data[*at - 1];
}

/* "file:line" of an offset in a module; without a line what else is known; false:
 * nothing. */
static bool
find_line(struct mt_module *m, uint64_t off, struct buf *ret)
{
	struct sym_frame f[FRAMES_MAX];

	if (m->sym == NULL || sym_find(m->sym, m->base + off, f, FRAMES_MAX) == 0)
		return false;
	if (f[0].line != 0)
		buf_printf(ret, "%s:%" PRIu32, f[0].file, f[0].line);
	else if (*f[0].short_name != '\0')
		buf_printf(ret, "%s+%#" PRIx64 " in %s", f[0].short_name, f[0].offset,
			   m->path);
	return ret->len > 0;
}

/* A place as the log has it: [path:][(function+offset)][0xaddress]. */
struct mt_place {
	char *path; /* NULL = the program; to be freed */
	uint64_t off;
	const char *hex;
	int hex_len;
};

static bool
place_parse(const char *text, struct mt_place *ret)
{
	size_t n = strlen(text);
	const char *open = strrchr(text, '[');
	const char *colon = NULL;
	struct line l;

	if (open == NULL || n < 4 || text[n - 1] != ']' || open[1] != '0' ||
	    open[2] != 'x')
		return false;
	l = (struct line){open + 1, text + n - 1};
	ret->hex = l.at;
	ret->hex_len = (int)line_len(&l);
	if (!scan_hex(&l, &ret->off) || l.at != l.end)
		return false;
	for (const char *s = text; s < open; s++) {
		if (*s == ':')
			colon = s;
	}
	ret->path = colon != NULL ? xmemdup0(text, (size_t)(colon - text)) : NULL;
	return true;
}

static const char *
place_name(struct mt_replay *r, uint32_t where)
{
	const char *text = strtab_str(&r->places, where);
	uint64_t *known = map_find(&r->place_names, where);
	struct mt_place place;
	struct buf b = {0};
	uint32_t id;

	if (known != NULL)
		return strtab_str(&r->places, (uint32_t)*known);
	if (where == 0 || !place_parse(text, &place))
		return text;
	if (r->program == NULL ||
	    !find_line(module_get(r, place.path != NULL ? place.path : r->program),
		       place.off, &b))
		buf_printf(&b, "%.*s", place.hex_len, place.hex);
	id = strtab_add(&r->places, buf_str(&b));
	*map_add(&r->place_names, where) = id;
	buf_done(&b);
	free(place.path);
	return strtab_str(&r->places, id);
}

/* ---- events ---- */

static struct mt_block *
block_find(struct mt_replay *r, uint64_t addr)
{
	uint64_t *at = map_find(&r->blocks, addr);

	return at != NULL && r->all.data[*at - 1].live ? &r->all.data[*at - 1] : NULL;
}

static void
block_add(struct mt_replay *r, uint64_t addr, uint64_t bytes, uint32_t where)
{
	uint64_t *at = map_add(&r->blocks, addr);

	if (*at == 0) {
		vec_add(&r->all);
		*at = r->all.len;
	}
	r->all.data[*at - 1] = (struct mt_block){addr, bytes, where, true};
}

struct mt_event {
	char op;
	uint64_t addr;
	bool has_addr;
	uint64_t bytes;
	uint32_t where;
};

static void
event(struct mt_replay *r, const struct mt_event *ev, uint64_t number)
{
	struct mt_block *b = block_find(r, ev->addr);
	struct buf *o = &r->out;

	switch (ev->op) {
	case '+':
		if (b != NULL)
			buf_printf(o,
				   "+ %#018" PRIx64 " Alloc %" PRIu64
				   " duplicate: %s %s\n",
				   ev->addr, number, place_name(r, b->where),
				   strtab_str(&r->places, ev->where));
		else if (ev->has_addr)
			block_add(r, ev->addr, ev->bytes, ev->where);
		break;
	case '>':
		if (b != NULL)
			buf_printf(o,
				   "+ %#018" PRIx64 " Realloc %" PRIu64
				   " duplicate: %#010" PRIx64 " %s %s\n",
				   ev->addr, number, b->bytes, place_name(r, b->where),
				   place_name(r, ev->where));
		else
			block_add(r, ev->addr, ev->bytes, ev->where);
		break;
	case '-':
	case '<':
		if (b != NULL)
			b->live = false;
		else
			buf_printf(o,
				   "- %#018" PRIx64 " %s %" PRIu64
				   " was never alloc'd %s\n",
				   ev->addr, ev->op == '-' ? "Free" : "Realloc", number,
				   place_name(r, ev->where));
		break;
	default: /* = and !, and whatever may come */
		break;
	}
}

static bool
next_word(struct line *l, struct line *ret)
{
	scan_blanks(l);
	return scan_word(l, ret);
}

static void
replay_line(struct mt_replay *r, struct line l, uint64_t number)
{
	struct mt_event ev = {0};
	struct line w;

	if (!next_word(&l, &w))
		return;
	if (line_len(&w) == 1 && *w.at == '@') {
		if (!next_word(&l, &w))
			return;
		ev.where = strtab_addn(&r->places, w.at, line_len(&w));
		if (!next_word(&l, &w))
			return;
	}
	if (line_len(&w) != 1)
		return;
	ev.op = *w.at;
	if (next_word(&l, &w))
		ev.has_addr = scan_hex(&w, &ev.addr);
	if (next_word(&l, &w))
		scan_hex(&w, &ev.bytes);
	event(r, &ev, number);
}

static void
flush(struct mt_replay *r)
{
	fwrite(buf_str(&r->out), 1, r->out.len, stdout);
	buf_clear(&r->out);
}

/* ---- what is left ---- */

static int
by_text(const void *a, const void *b)
{
	uint64_t x = ((const struct mt_block *)a)->addr;
	uint64_t y = ((const struct mt_block *)b)->addr;
	/* As strings: first digits first, the shorter before the longer. */
	unsigned nx = x == 0 ? 60 : (unsigned)__builtin_clzll(x) & ~3u;
	unsigned ny = y == 0 ? 60 : (unsigned)__builtin_clzll(y) & ~3u;

	if (x << nx != y << ny)
		return x << nx < y << ny ? -1 : 1;
	return (nx < ny) - (nx > ny);
}

static bool
list_left(struct mt_replay *r)
{
	bool any = false;

	vec_sort(&r->all, by_text);
	for (size_t i = 0; i < r->all.len; i++) {
		const struct mt_block *b = &r->all.data[i];

		if (!b->live)
			continue;
		if (!any)
			buf_printf(&r->out,
				   "\nMemory not freed:\n-----------------\n%11s%s\n", "",
				   "Address     Size     Caller");
		any = true;
		buf_printf(&r->out, "%#018" PRIx64 " %#8" PRIx64 "  at %s\n", b->addr,
			   b->bytes, place_name(r, b->where));
		if (r->out.len > 1 << 16)
			flush(r);
	}
	if (!any)
		buf_add_str(&r->out, "No memory leaks.\n");
	flush(r);
	return any;
}

static void
replay_done(struct mt_replay *r)
{
	for (size_t i = 0; i < r->mods.len; i++) {
		sym_close(r->mods.data[i].sym);
		free(r->mods.data[i].path);
	}
	strtab_done(&r->places);
	map_done(&r->place_names);
	map_done(&r->blocks);
	map_done(&r->modules);
	vec_done(&r->all);
	vec_done(&r->mods);
	buf_done(&r->out);
}

static int
open_log(const char *path, struct input *ret_in, struct err *e)
{
	int fd = strcmp(path, "-") == 0 ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	r = input_open_fd(ret_in, fd, path, NULL, e);
	if (fd > 0)
		close(fd);
	return r;
}

static int
mtrace_run(void *opts, int argc, char **argv)
{
	struct mt_replay r = {.program = argc == 2 ? argv[0] : NULL};
	struct input in = {0};
	struct err e = {0};
	struct lines lines;
	struct line l;
	bool left;

	(void)opts;
	if (open_log(argv[argc - 1], &in, &e) < 0)
		return cmd_fail(&e);
	lines = lines_init(in.data, in.bytes);
	while (lines_next(&lines, &l)) {
		replay_line(&r, l, lines.number);
		if (r.out.len > 1 << 16)
			flush(&r);
	}
	left = list_left(&r);
	replay_done(&r);
	input_close(&in);
	return left ? CMD_FOUND : CMD_OK;
}

const struct cmd cmd_mtrace = {
	.name = "mtrace",
	.args = "[PROGRAM] LOG",
	.help = "print a MALLOC_TRACE log as mtrace does",
	.man = "seep-mtrace",
	.min_args = 1,
	.max_args = 2,
	.run = mtrace_run,
};
