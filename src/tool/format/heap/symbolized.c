/* SPDX-License-Identifier: MIT */
/* symbolized.c -- heap profiles that bring their names, as `jeprof --raw` writes them.
 *
 * 	--- symbol
 * 	binary=/usr/bin/demo
 * 	0x000055d8b9a9c19a main
 * 	0x000055d8b9a9c133 do_something--inlined
 * 	---
 * 	--- heap
 * 	heap_v2/524288 …                                 either kind of heap profile
 *
 * The addresses of names lie in the call, one before the return address in the stacks;
 * google-pprof writes the stacks that way too. So a name is looked for under the address
 * before, then under the address itself. Of names joined by `--` the first is the
 * function, the others were inlined, each into the one before. */
#include <errno.h>
#include <stdlib.h>

#include "heap_in.h"
#include "tool/util/err.h"
#include "tool/util/map.h"

struct symbolized {
	struct map names; /* address -> offset of its names in the input */
	const char *data;
	struct line binary;
};

static bool
symbolized_header(struct line l)
{
	if (!scan_text(&l, "---"))
		return false;
	scan_blanks(&l);
	return scan_text(&l, "symbol");
}

/* Reads the list up to its `---`. */
static void
symbolized_names(struct symbolized *s, struct lines *in)
{
	struct line l;
	uint64_t addr;

	while (lines_next(in, &l) && !scan_text(&l, "---")) {
		if (scan_text(&l, "binary=")) {
			scan_trim(&l);
			s->binary = l;
		} else if (l.at < l.end && *l.at == '0' && scan_hex(&l, &addr)) {
			scan_blanks(&l);
			*map_add(&s->names, addr) = (uint64_t)(l.at - s->data);
		}
	}
}

/* The names at `off` as frames of `loc`. */
static void
symbolized_frames(struct symbolized *s, struct heap_in *h, uint32_t loc, uint64_t off)
{
	struct prof *p = h->p;
	const char *end = (const char *)h->in->data + h->in->bytes;
	struct lines in = lines_init(s->data + off, (size_t)(end - (s->data + off)));
	struct line l;
	uint32_t first = p->nframes;

	if (!lines_next(&in, &l))
		return;
	scan_trim(&l);
	while (l.at < l.end) {
		const char *dashes = memmem(l.at, line_len(&l), "--", 2);
		const char *stop = dashes != NULL ? dashes : l.end;
		uint32_t name = prof_strn(p, l.at, (size_t)(stop - l.at));
		uint32_t row;

		l.at = dashes != NULL ? dashes + 2 : l.end;
		if (name == 0)
			continue;
		row = prof_add_frame(p);
		p->frames[row].function = name;
		p->frames[row].inlined = 1;
	}
	if (p->nframes == first)
		return;
	p->frames[first].inlined = 0;
	for (uint32_t a = first, b = p->nframes - 1; a < b; a++, b--) {
		struct prof_frame f = p->frames[a];

		p->frames[a] = p->frames[b];
		p->frames[b] = f;
	}
	p->locs[loc].frames = first;
	p->locs[loc].nframes = p->nframes - first;
}

static void
symbolized_name_all(struct heap_in *h, void *ctx)
{
	struct symbolized *s = ctx;

	for (size_t i = 0; i < h->stacks.cap; i++) {
		const struct stack_text_addr *a = &h->stacks.addrs[i];
		uint64_t *off;

		if (a->loc == 0 || h->p->locs[a->loc].nframes != 0)
			continue;
		off = map_find(&s->names, a->addr - 1);
		if (off == NULL)
			off = map_find(&s->names, a->addr);
		if (off != NULL)
			symbolized_frames(s, h, a->loc, *off);
	}
}

static bool
symbolized_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	struct line l;

	return heap_in_header(&in, &l) && symbolized_header(l);
}

static int
symbolized_parse(struct input *in, const struct format_opts *o, struct prof *p,
		 struct err *e)
{
	struct lines lines = lines_init(in->data, in->bytes);
	struct symbolized s = {.data = (const char *)in->data};
	const char *body;
	char *binary = NULL;
	struct line l;
	int r;

	heap_in_header(&lines, &l);
	symbolized_names(&s, &lines);
	body = lines.at;
	/* `--- heap` or `--- growth`, unless the profile begins at once. */
	while (lines_next(&lines, &l) && scan_text(&l, "---"))
		body = lines.at;
	if (s.binary.at != s.binary.end)
		binary = xmemdup0(s.binary.at, line_len(&s.binary));
	r = heap_in_read(in, (size_t)(body - s.data), o, binary, p, symbolized_name_all,
			 &s, e);
	free(binary);
	map_done(&s.names);
	return r;
}

const struct format format_symbolized = {
	.name = "symbolized",
	.what = "heap profile with names (jeprof --raw)",
	.detect = symbolized_detect,
	.parse = symbolized_parse,
};
