/* SPDX-License-Identifier: MIT */
/* peer_jeprof_list.c -- --list of the jeprof personality: figures beside lines of source.
 *
 * A line's figures are those of the calls on it, also of what was inlined there. Where a
 * function begins is the line of its first instruction, which is looked up for the
 * occasion. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/compat/jeprof/peer_jeprof.h"
#include "tool/session/names/source.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

struct jeprof_function {
	uint32_t loc;	/* one of its locations */
	uint32_t begin; /* location of its first instruction */
	VEC(struct peer_line) lines;
};

struct jeprof_functions {
	struct jeprof_report *r;
	struct jeprof_frames frames;
	uint32_t *of; /* for every location: its function + 1, 0 = not asked for */
	VEC(struct jeprof_function) all;
};

/* Which locations are of functions that match. */
static void
jeprof_list_find(struct jeprof_functions *f, const struct re *re)
{
	const struct prof *p = f->r->p;
	struct map known = {0};

	f->of = xcalloc(p->nlocs, sizeof *f->of);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct jeprof_sym *y = jeprof_function(&f->frames, i);
		uint64_t *at;

		if (y->func == 0 || y->file == 0 ||
		    (!re_matches(re, strtab_str(&f->frames.text, y->func)) &&
		     !re_matches(re, strtab_str(&f->frames.text, y->full))))
			continue;
		at = map_add(&known, hash_pair(p->locs[i].module, y->start + y->func));
		if (*at == 0) {
			vec_push(&f->all, (struct jeprof_function){.loc = i});
			*at = f->all.len;
		}
		f->of[i] = (uint32_t)*at;
	}
	map_done(&known);
}

/* A frame is a line of one of these functions, or of no interest. */
static void
jeprof_list_name(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out)
{
	const struct jeprof_functions *f = ctx;

	(void)inl, (void)leaf;
	if (f->of[loc] != 0)
		buf_printf(out, "%x %x", f->of[loc],
			   jeprof_function(&f->frames, loc)->line);
}

static void
jeprof_list_count(struct jeprof_functions *f)
{
	struct jeprof_naming how = {
		.name = jeprof_list_name, .ctx = f, .no_inlines = true, .table = true};
	struct jeprof_stacks s;
	unsigned of, line;

	jeprof_stacks_init(&s, &f->frames, f->r->figures, &how);
	for (uint32_t i = 1; i < s.g.nentries; i++) {
		if (sscanf(jeprof_text(&s, i), "%x %x", &of, &line) == 2)
			vec_push(&f->all.data[of - 1].lines,
				 (struct peer_line){.line = line,
						    .flat = s.g.entries[i].flat,
						    .cum = s.g.entries[i].cum});
	}
	jeprof_stacks_done(&s);
}

/* Looks up where the functions begin. */
static void
jeprof_list_begins(struct jeprof_functions *f)
{
	struct prof *p = f->r->p;

	for (size_t i = 0; i < f->all.len; i++) {
		struct jeprof_function *x = &f->all.data[i];
		uint64_t start = jeprof_function(&f->frames, x->loc)->start;

		if (start != 0)
			x->begin = prof_loc(p, p->locs[x->loc].module, start,
					    PROF_LOC_CODE, true);
	}
	p->has_names = false;
	names_resolve(p, f->r->names);
}

static int
jeprof_line_order(const void *a, const void *b)
{
	const struct peer_line *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

/* True when something was shown: a function without figures is not. */
static bool
jeprof_list_print(struct jeprof_functions *f, struct jeprof_function *x, struct buf *out,
		  struct source *source)
{
	const struct prof *p = f->r->p;
	const struct jeprof_sym *y = jeprof_function(&f->frames, x->loc);
	const struct prof_loc *begin = &p->locs[x->begin];
	struct peer_listing l = {.function = strtab_str(&f->frames.text, y->func),
				 .file = strtab_str(&f->frames.text, y->file)};

	if (x->lines.len == 0)
		return false;
	vec_sort(&x->lines, jeprof_line_order);
	for (size_t i = 0; i < x->lines.len; i++) {
		l.flat += x->lines.data[i].flat;
		l.cum += x->lines.data[i].cum;
	}
	l.first = x->lines.data[0].line;
	l.last = vec_last(&x->lines)->line;
	if (x->begin != 0 && begin->nframes > 0) {
		const struct prof_frame *fr =
			&p->frames[begin->frames + begin->nframes - 1];

		if (fr->line != 0 && fr->line < l.first &&
		    strcmp(prof_text(p, fr->file), l.file) == 0)
			l.first = fr->line;
	}
	peer_list(out, &l, x->lines.data, x->lines.len, &f->r->unit, source_line, source);
	return true;
}

int
jeprof_list(struct jeprof_report *r, const char *pattern, struct err *e)
{
	struct jeprof_functions f = {.r = r};
	struct source *source;
	struct buf out = {0};
	struct re *re = NULL;
	bool met = false;

	if (re_new(pattern, &re, e) < 0)
		return err_wrap(e, -EINVAL, "--list");
	jeprof_frames(r, JEPROF_FUNCTIONS, &f.frames);
	jeprof_list_find(&f, re);
	jeprof_list_count(&f);
	jeprof_list_begins(&f);
	source = source_new(r->p);
	for (size_t i = 0; i < f.all.len; i++)
		met = jeprof_list_print(&f, &f.all.data[i], &out, source) || met;
	fwrite(buf_str(&out), 1, out.len, stdout);
	for (size_t i = 0; i < f.all.len; i++)
		vec_done(&f.all.data[i].lines);
	source_free(source);
	buf_done(&out);
	vec_done(&f.all);
	free(f.of);
	jeprof_frames_done(&f.frames);
	re_free(re);
	if (!met)
		return err_set(
			e, -ENOENT,
			"--list %s: no function like that with a source line in the "
			"profile",
			pattern);
	return 0;
}
