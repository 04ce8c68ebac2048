/* SPDX-License-Identifier: MIT */
/* scan_file.c -- see scan_file.h. */
#include "tool/format/text/scan_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

static const char magic[] = "seep-heap\t1\n";

enum { FILE_BYTES_MAX = 256 << 20, FIELDS_MAX = 16 };

bool
scan_file_detect(const void *head, size_t bytes)
{
	return bytes >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0;
}

bool
scan_file_is_one(const char *path)
{
	char head[sizeof magic - 1];

	return file_head(path, head, sizeof head) && scan_file_detect(head, sizeof head);
}

/* ---- writing ---- */

static void
put_text(struct buf *out, const struct heapscan *s, uint32_t id)
{
	buf_add_char(out, '\t');
	for (const char *c = heapscan_text(s, id); *c != '\0'; c++) {
		if (*c == '\t')
			buf_add_str(out, "\\t");
		else if (*c == '\n')
			buf_add_str(out, "\\n");
		else if (*c == '\\')
			buf_add_str(out, "\\\\");
		else
			buf_add_char(out, *c);
	}
}

static void
put(struct buf *out, uint64_t n)
{
	buf_printf(out, "\t%" PRIu64, n);
}

void
scan_file_write(struct buf *out, const struct heapscan *s)
{
	buf_add_str(out, magic);
	buf_add_str(out, "what");
	put_text(out, s, s->what);
	put_text(out, s, s->program);
	put(out, (uint64_t)s->pid);
	put(out, s->time_ns);
	put(out, s->anon_bytes);
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++)
		buf_printf(out, "\nsum\t%u\t%" PRIu64 "\t%" PRIu64, i, s->sums[i].blocks,
			   s->sums[i].bytes);
	for (size_t i = 0; i < s->arenas.len; i++) {
		const struct heapscan_arena *a = &s->arenas.data[i];
		const uint64_t all[] = {a->system_bytes, a->used_bytes,	  a->used_blocks,
					a->free_bytes,	 a->free_blocks,  a->largest_free,
					a->top_bytes,	 a->cached_bytes, a->gap_bytes,
					a->heaps};

		buf_add_str(out, "\narena");
		for (size_t k = 0; k < ARRAY_LEN(all); k++)
			put(out, all[k]);
	}
	for (size_t i = 0; i < s->groups.len; i++) {
		const struct heapscan_group *g = &s->groups.data[i];

		buf_add_str(out, "\ngroup");
		put(out, g->size);
		put_text(out, s, g->type);
		put_text(out, s, g->pattern);
		put_text(out, s, g->holder);
		for (unsigned k = 0; k < HEAPSCAN_KINDS; k++) {
			put(out, g->sums[k].blocks);
			put(out, g->sums[k].bytes);
		}
		put(out, g->least);
	}
	for (size_t i = 0; i < s->holders.len; i++) {
		const struct heapscan_holder *h = &s->holders.data[i];

		buf_add_str(out, "\nholder");
		put_text(out, s, h->name);
		put(out, h->address);
		put(out, h->retained.blocks);
		put(out, h->retained.bytes);
	}
	buf_printf(out, "\nmapped\t%" PRIu64 "\t%" PRIu64 "\n", s->mapped.blocks,
		   s->mapped.bytes);
}

/* ---- reading ---- */

/* One line, taken apart. */
struct fields {
	char *f[FIELDS_MAX];
	unsigned n;
	bool bad; /* something that should be a number is none, or is missing */
};

static void
split(char *line, struct fields *ret)
{
	*ret = (struct fields){0};
	while (ret->n < FIELDS_MAX) {
		char *tab = strchr(line, '\t');

		ret->f[ret->n++] = line;
		if (tab == NULL)
			return;
		*tab = '\0';
		line = tab + 1;
	}
}

static uint64_t
number(struct fields *f, unsigned i)
{
	char *end = NULL;
	uint64_t n = 0;

	errno = 0;
	if (i < f->n && f->f[i][0] >= '0' && f->f[i][0] <= '9')
		n = strtoull(f->f[i], &end, 10);
	if (end == NULL || *end != '\0' || errno != 0)
		f->bad = true;
	return f->bad ? 0 : n;
}

static uint32_t
text(struct heapscan *s, struct fields *f, unsigned i)
{
	char *to, *from;

	if (i >= f->n) {
		f->bad = true;
		return 0;
	}
	for (to = from = f->f[i]; *from != '\0'; from++) {
		if (*from == '\\' && from[1] != '\0') {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return strtab_add(&s->strings, f->f[i]);
}

static void
take_what(struct heapscan *s, struct fields *f)
{
	uint64_t pid;

	s->what = text(s, f, 1);
	s->program = text(s, f, 2);
	pid = number(f, 3);
	s->pid = pid <= INT32_MAX ? (int)pid : 0;
	s->time_ns = number(f, 4);
	s->anon_bytes = number(f, 5);
}

static void
take_sum(struct heapscan *s, struct fields *f)
{
	uint64_t kind = number(f, 1);
	struct heapscan_sum sum = {.blocks = number(f, 2), .bytes = number(f, 3)};

	if (kind < HEAPSCAN_KINDS)
		s->sums[kind] = sum;
}

static void
take_arena(struct heapscan *s, struct fields *f)
{
	struct heapscan_arena *a = vec_add(&s->arenas);
	uint64_t *const to[] = {&a->system_bytes, &a->used_bytes,   &a->used_blocks,
				&a->free_bytes,	  &a->free_blocks,  &a->largest_free,
				&a->top_bytes,	  &a->cached_bytes, &a->gap_bytes};

	for (unsigned i = 0; i < ARRAY_LEN(to); i++)
		*to[i] = number(f, i + 1);
	a->heaps = (uint32_t)number(f, 10);
}

static void
take_group(struct heapscan *s, struct fields *f)
{
	struct heapscan_group g = {.size = number(f, 1)};

	g.type = text(s, f, 2);
	g.pattern = text(s, f, 3);
	g.holder = text(s, f, 4);
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		g.sums[i].blocks = number(f, 5 + 2 * i);
		g.sums[i].bytes = number(f, 6 + 2 * i);
	}
	g.least = number(f, 13);
	vec_push(&s->groups, g);
}

static void
take_holder(struct heapscan *s, struct fields *f)
{
	struct heapscan_holder h = {.name = text(s, f, 1)};

	h.address = number(f, 2);
	h.retained.blocks = number(f, 3);
	h.retained.bytes = number(f, 4);
	vec_push(&s->holders, h);
}

static void
take_mapped(struct heapscan *s, struct fields *f)
{
	s->mapped.blocks = number(f, 1);
	s->mapped.bytes = number(f, 2);
}

static const struct {
	const char *name;
	void (*take)(struct heapscan *s, struct fields *f);
} lines[] = {
	{"what", take_what},   {"sum", take_sum},	{"arena", take_arena},
	{"group", take_group}, {"holder", take_holder}, {"mapped", take_mapped},
};

int
scan_file_parse(const char *data, size_t bytes, struct heapscan *ret, struct err *e)
{
	const char *at = data, *end = data + bytes;
	unsigned n = 0;

	if (!scan_file_detect(data, bytes))
		return err_set(e, -EINVAL, "not a file that seep scan --save wrote");
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		char *line = xmemdup0(at, (size_t)((stop != NULL ? stop : end) - at));
		struct fields f;

		split(line, &f);
		for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
			if (strcmp(f.f[0], lines[i].name) == 0)
				lines[i].take(ret, &f);
		}
		n++;
		free(line);
		if (f.bad || stop == NULL)
			return err_set(e, -EINVAL, "line %u %s", n,
				       f.bad ? "makes no sense" : "is cut off");
		at = stop + 1;
	}
	return 0;
}

int
scan_file_load(const char *path, struct heapscan *ret, struct err *e)
{
	struct buf b = {0};
	int r = file_read(path, FILE_BYTES_MAX, &b, e);

	if (r == 0) {
		r = scan_file_parse(buf_str(&b), b.len, ret, e);
		if (r < 0)
			r = err_wrap(e, r, "%s", path);
	}
	buf_done(&b);
	return r;
}
