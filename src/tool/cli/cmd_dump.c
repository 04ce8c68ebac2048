/* SPDX-License-Identifier: MIT */
/* cmd_dump.c -- `seep dump`: what is in a region of a running process, or in a file that
 * was dumped before.
 *
 * The recipe of gdb, strings and hexdump as one command, without stopping the process.
 * Pages that are not resident are left alone: reading them would make them so. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/analyze/process/content.h"
#include "tool/cli/commands.h"
#include "tool/render/heap/dump.h"
#include "tool/render/report/report.h"
#include "tool/session/out_file.h"
#include "tool/session/watch/watcher.h"
#include "tool/sym/demangle.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/heap/rtti.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct dump_args {
	const char *output;
	bool strings, hex, show, json;
	uint64_t least, rows;
};

#define AT(member) .at = offsetof(struct dump_args, member)

static const struct opt dump_table[] = {
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Write the raw bytes to FILE."},
	{"strings", 0, OPT_NONE, AT(strings),
	 .help = "Print strings with their addresses, as strings -t x does."},
	{"hex", 0, OPT_NONE, AT(hex), .help = "Print all bytes, as hexdump -C does."},
	{"show-content", 0, OPT_NONE, AT(show), .help = "Do not mask the contents."},
	{"least", 0, OPT_U64, AT(least), .metavar = "N",
	 .help = "Skip strings shorter than N characters (4)."},
	{"rows", 'n', OPT_U64, AT(rows), .metavar = "N",
	 .help = "Print at most N rows of each table."},
	{"json", 0, OPT_NONE, AT(json), .help = "Print the summary as JSON."},
	{0},
};

enum { PIECE_BYTES = 64 << 20, OUT_FLUSH_BYTES = 1 << 16 };

struct dump_cmd {
	const struct dump_args *o;
	struct watcher *w; /* NULL for a file */
	struct content content;
	struct dump_strings strings;
	struct dump_hex hex;
	struct file_out out;
	struct buf text;
	uint64_t absent_bytes, start, end;
	bool blocks; /* malloc's, which are looked for */
	char class_name[1024];
};

/* ---- bytes ---- */

/* A sink for heapwalk_blocks. */
struct block_ctx {
	struct content *c;
	const unsigned char *data;
};

static void
dump_block(void *ctx, size_t off, size_t size, bool used)
{
	struct block_ctx *b = ctx;

	content_add_block(b->c, b->data + off, size, used);
}

/* Blocks go over pages that are not resident, so they are looked for in all of the
 * range. */
static void
dump_blocks(struct dump_cmd *c, uint64_t start, uint64_t end)
{
	unsigned char *data = xmalloc(PIECE_BYTES);

	for (uint64_t at = start; at < end; at += PIECE_BYTES) {
		size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
		struct block_ctx blocks = {.c = &c->content, .data = data};

		procmem_copy(&c->w->mem, at, data, n);
		heapwalk_blocks(data, n, at, dump_block, &blocks);
	}
	free(data);
}

static void
dump_flush(struct dump_cmd *c, size_t most)
{
	if (c->text.len <= most)
		return;
	fwrite(c->text.data, 1, c->text.len, stdout);
	buf_clear(&c->text);
}

static void
dump_bytes(struct dump_cmd *c, uint64_t addr, const unsigned char *data, size_t bytes)
{
	if (!c->o->strings && !c->o->hex)
		content_add(&c->content, addr, data, bytes);
	for (size_t at = 0; at < bytes && (c->o->strings || c->o->hex);) {
		size_t n = bytes - at < OUT_FLUSH_BYTES ? bytes - at : OUT_FLUSH_BYTES;

		if (c->o->strings)
			dump_strings_add(&c->text, &c->strings, addr + at, data + at, n);
		else
			dump_hex_add(&c->text, &c->hex, addr + at, data + at, n);
		dump_flush(c, OUT_FLUSH_BYTES);
		at += n;
	}
}

/* Bytes of the range that are resident, run by run; the file gets zeroes for the rest. */
static int
dump_range(struct dump_cmd *c, uint64_t start, uint64_t end, struct err *e)
{
	const struct procmem *m = &c->w->mem;
	uint64_t page = m->page_bytes;
	unsigned char *data = xmalloc(PIECE_BYTES);
	uint8_t *here = xmalloc(PIECE_BYTES / page + 2);
	int r = 0;

	for (uint64_t at = start; r == 0 && at < end;) {
		uint64_t n = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
		uint64_t first = at & ~(page - 1);
		size_t pages = (size_t)((at + n - first + page - 1) / page), run = 0;
		bool there;

		procmem_present(m, first, pages, here);
		there = here[0] != 0;
		while (run < pages && (here[run] != 0) == there)
			run++;
		if (first + run * page < at + n)
			n = first + run * page - at;
		if (there && procmem_read(m, at, data, n) < 0)
			there = false;
		if (there)
			dump_bytes(c, at, data, n);
		else
			c->absent_bytes += n;
		if (!there)
			memset(data, 0, n);
		if (c->o->output != NULL)
			r = file_out_write(&c->out, data, n, e);
		at += n;
	}
	if (r == 0 && c->blocks && !c->o->strings && !c->o->hex)
		dump_blocks(c, start, end);
	free(data);
	free(here);
	return r;
}

static int
dump_file(struct dump_cmd *c, const char *path, struct err *e)
{
	unsigned char *data = xmalloc(PIECE_BYTES);
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	uint64_t at = 0;

	if (fd < 0)
		r = err_sys(e, -errno, "%s", path);
	while (r == 0) {
		size_t n = 0;
		ssize_t got = 1;

		/* A pipe gives less than asked for. */
		while (n < PIECE_BYTES && (got = read(fd, data + n, PIECE_BYTES - n)) > 0)
			n += (size_t)got;
		if (got < 0)
			r = err_sys(e, -errno, "%s", path);
		if (n == 0)
			break;
		dump_bytes(c, at, data, n);
		at += n;
	}
	if (fd >= 0)
		close(fd);
	free(data);
	return r;
}

/* ---- names ---- */

/* The class whose objects begin with the word, or NULL. */
static const char *
dump_class(void *ctx, uint64_t word)
{
	struct dump_cmd *c = ctx;
	static const char before[] = "typeinfo name for ";
	char name[512], mangled[528], *full;

	if (c->w == NULL || !rtti_class(&c->w->mem, &c->w->map, word, name, sizeof name))
		return NULL;
	snprintf(mangled, sizeof mangled, "_ZTS%s", name);
	full = demangle_full(mangled);
	snprintf(c->class_name, sizeof c->class_name, "class %s",
		 full == NULL				      ? name
		 : strncmp(full, before, strlen(before)) == 0 ? full + strlen(before)
							      : full);
	free(full);
	return c->class_name;
}

/* ---- which memory ---- */

/* "START-END", hexadecimal with or without 0x. */
static bool
dump_scan_range(const char *word, uint64_t *ret_start, uint64_t *ret_end)
{
	char *at;
	uint64_t start, end;

	errno = 0;
	start = strtoull(word, &at, 16);
	if (at == word || *at != '-' || at[1] == '\0' || at[1] == '-')
		return false;
	word = at + 1;
	end = strtoull(word, &at, 16);
	if (*at != '\0' || errno != 0 || end <= start)
		return false;
	*ret_start = start;
	*ret_end = end;
	return true;
}

/* The region that a word means: its name, or an address in it, also one behind @. */
static const struct region *
dump_find_region(const struct watcher *w, const char *word)
{
	const struct region *r = regions_named(&w->regions, word);
	const char *number = strrchr(word, '@');
	uint64_t addr;
	char *end;

	if (r != NULL)
		return r;
	number = number != NULL ? number + 1 : word;
	errno = 0;
	addr = strtoull(number, &end, 16);
	if (end == number || *end != '\0' || errno != 0)
		return NULL;
	return regions_find(&w->regions, &w->map, addr);
}

static int
dump_no_region(const struct watcher *w, const char *word, struct err *e)
{
	struct buf b = {0};
	unsigned n = 0;
	int r;

	for (size_t i = 0; i < w->regions.list.len; i++) {
		const struct region *g = &w->regions.list.data[i];

		if (strcmp(region_kind_name(g->kind), word) != 0)
			continue;
		if (n++ < 8)
			buf_printf(&b, "%s%s", n > 1 ? ", " : "", g->name);
	}
	if (n > 0)
		r = err_set(e, -EINVAL, "%d has %u regions \"%s\": %s%s", w->mem.pid, n,
			    word, buf_str(&b), n > 8 ? " \xe2\x80\xa6" : "");
	else
		r = err_set(e, -ENOENT,
			    "%d has no region \"%s\"; their names are in: seep watch %d "
			    "--count 1 --all",
			    w->mem.pid, word, w->mem.pid);
	buf_done(&b);
	return r;
}

static int
dump_region(struct dump_cmd *c, const struct region *g, struct err *e)
{
	const struct watcher *w = c->w;
	size_t want = (size_t)(g - w->regions.list.data);
	int r = 0;

	c->start = g->start;
	c->end = g->end;
	c->blocks = w->heap.known && (g->kind == REGION_HEAP || g->kind == REGION_ARENA);
	for (size_t i = 0; r == 0 && i < w->map.areas.len; i++) {
		const struct memmap_area *a = &w->map.areas.data[i];

		if (w->regions.of_area[i] == want && a->perms[0] == 'r')
			r = dump_range(c, a->start, a->end, e);
	}
	return r;
}

/* The part of [start, end) that is mapped and readable, which must be some of it. */
static int
dump_addresses(struct dump_cmd *c, uint64_t start, uint64_t end, struct err *e)
{
	const struct watcher *w = c->w;
	bool some = false;
	int r = 0;

	c->start = start;
	c->end = end;
	for (size_t i = 0; r == 0 && i < w->map.areas.len; i++) {
		const struct memmap_area *a = &w->map.areas.data[i];
		const struct region *g = &w->regions.list.data[w->regions.of_area[i]];
		uint64_t from = a->start > start ? a->start : start;
		uint64_t to = a->end < end ? a->end : end;

		if (from >= to || a->perms[0] != 'r')
			continue;
		some = true;
		c->blocks = w->heap.known &&
			    (g->kind == REGION_HEAP || g->kind == REGION_ARENA);
		r = dump_range(c, from, to, e);
	}
	if (r == 0 && !some)
		r = err_set(e, -ENOENT, "%d: nothing is mapped at %" PRIx64 "-%" PRIx64,
			    w->mem.pid, start, end);
	return r;
}

static int
dump_process(struct dump_cmd *c, const char *word, struct err *e)
{
	const struct region *g;
	uint64_t start, end;
	int r = 0;

	c->content.map = c->hex.map = &c->w->map;
	c->content.regions = &c->w->regions;
	if (c->o->output != NULL)
		r = out_check(c->o->output, "a dump", e);
	if (r == 0 && c->o->output != NULL)
		r = file_out_open(&c->out, c->o->output, e);
	if (r < 0)
		return r;
	if (dump_scan_range(word, &start, &end)) {
		r = dump_addresses(c, start, end, e);
	} else {
		g = dump_find_region(c->w, word);
		r = g != NULL ? dump_region(c, g, e) : dump_no_region(c->w, word, e);
	}
	if (r == 0 && c->o->output != NULL)
		r = file_out_commit(&c->out, e);
	return r;
}

/* ---- all of it ---- */

static void
dump_print(struct dump_cmd *c, const char *word)
{
	struct dump_opts o = {.start = c->start,
			      .end = c->end,
			      .absent_bytes = c->absent_bytes,
			      .rows = c->o->rows > UINT32_MAX ? UINT32_MAX
							      : (uint32_t)c->o->rows,
			      .show_content = c->o->show,
			      .ascii = !report_locale_is_utf8(),
			      .saved = c->w != NULL ? c->o->output : NULL,
			      .namer = dump_class,
			      .namer_ctx = c};
	char *what = c->w != NULL ? xasprintf("%s of %d (%s)", word, c->w->mem.pid,
					      c->w->stat.comm)
				  : xstrdup(word);

	o.what = what;
	if (c->o->strings)
		dump_strings_end(&c->text, &c->strings);
	else if (c->o->hex)
		dump_hex_end(&c->text, &c->hex);
	else
		content_finish(&c->content);
	if (!c->o->strings && !c->o->hex && c->o->json)
		dump_json(&c->text, &c->content, &o);
	else if (!c->o->strings && !c->o->hex)
		dump_summary(&c->text, &c->content, &o);
	dump_flush(c, 0);
	free(what);
}

static int
dump_do(struct dump_cmd *c, int argc, char **argv, struct err *e)
{
	int pid, r;

	if (argc == 1)
		return dump_file(c, argv[0], e);
	r = procfs_find_one(argv[0], &pid, e);
	if (r == 0)
		r = watcher_once(pid, &c->w, e);
	return r < 0 ? r : dump_process(c, argv[1], e);
}

static int
dump_run(void *opts, int argc, char **argv)
{
	const struct dump_args *o = opts;
	struct dump_cmd c = {.o = o};
	struct err e = {0};
	struct stat st;
	int r;

	if (o->strings && o->hex)
		return cmd_usage(&cmd_dump, "--strings or --hex, not both");
	if (o->json && (o->strings || o->hex))
		return cmd_usage(&cmd_dump, "--json is for the summary");
	if (argc == 1 && stat(argv[0], &st) < 0)
		return cmd_usage(
			&cmd_dump,
			"%s is not a file; of a process, name a region, too: seep dump "
			"%s heap",
			argv[0], argv[0]);
	if (argc == 1 && o->output != NULL)
		return cmd_usage(&cmd_dump, "-o: %s is a file already", argv[0]);
	c.content.shapes = !o->show;
	c.strings.show_content = c.hex.show_content = o->show;
	c.strings.least = o->least < 1 ? 1 : (unsigned)o->least;
	r = dump_do(&c, argc, argv, &e);
	if (r == 0)
		dump_print(&c, argc > 1 ? argv[1] : argv[0]);
	buf_done(&c.strings.run);
	buf_done(&c.text);
	file_out_done(&c.out);
	content_done(&c.content);
	watcher_free(c.w);
	return r < 0 ? cmd_fail_output(&e) : CMD_OK;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "PID REGION|START-END",
	.help = "show the contents of a memory region or of a dumped FILE",
	.man = "seep-dump",
	.opts = dump_table,
	.opts_bytes = sizeof(struct dump_args),
	.defaults = &(const struct dump_args){.least = CONTENT_TEXT_LEAST},
	.min_args = 1,
	.max_args = 2,
	.run = dump_run,
};
