/* SPDX-License-Identifier: MIT */
/* peer_jeprof_list.c -- --list of the jeprof personality: figures beside lines of source.
 *
 * A line's figures are those of the calls on it, also of what was inlined there. Where a function
 * begins is the line of its first instruction, which is looked up for the occasion. */
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
	struct peer_stacks s;
	uint32_t *of; /* for every location: its function + 1, 0 = not asked for */
	VEC(struct jeprof_function) all;
};

static const struct peer_sym *
jeprof_function_of(const struct peer_stacks *s, uint32_t loc)
{
	return &s->syms.data[s->locs[loc].syms + s->locs[loc].nsyms - 1];
}

/* Which locations are of functions that match. */
static void
jeprof_list_find(struct jeprof_functions *f, const struct re *re)
{
	struct prof *p = f->r->p;
	uint32_t n = p->nlocs;
	struct map known = {0};

	f->of = xcalloc(n, sizeof *f->of);
	for (uint32_t i = 1; i < n; i++) {
		const struct peer_sym *y = jeprof_function_of(&f->s, i);
		uint64_t *at;

		if (y->func == 0 || y->file == 0 ||
		    (!re_matches(re, strtab_str(&f->s.text, y->func)) &&
		     !re_matches(re, strtab_str(&f->s.text, y->full))))
			continue;
		at = map_add(&known, hash_pair(p->locs[i].module, y->start + y->func));
		if (*at == 0) {
			struct jeprof_function *x = vec_add(&f->all);

			*at = f->all.len;
			x->loc = i;
			if (y->start != 0)
				x->begin = prof_loc(p, p->locs[i].module, y->start,
						    PROF_LOC_CODE, true);
		}
		f->of[i] = (uint32_t)*at;
	}
	map_done(&known);
	p->has_names = false; /* the beginnings have none yet */
	names_resolve(p, f->r->names);
}

static struct peer_line *
jeprof_line(struct jeprof_function *x, uint32_t line)
{
	for (size_t i = 0; i < x->lines.len; i++) {
		if (x->lines.data[i].line == line)
			return &x->lines.data[i];
	}
	vec_push(&x->lines, (struct peer_line){.line = line});
	return vec_last(&x->lines);
}

/* Whether an inner frame of the stack is on the same line already. */
static bool
jeprof_counted(const struct jeprof_functions *f, const struct peer_stack *k,
	       uint32_t upto)
{
	uint32_t loc = f->s.frames.data[k->frames + upto];

	for (uint32_t i = 0; i < upto; i++) {
		uint32_t other = f->s.frames.data[k->frames + i];

		if (f->of[other] == f->of[loc] &&
		    jeprof_function_of(&f->s, other)->line ==
			    jeprof_function_of(&f->s, loc)->line)
			return true;
	}
	return false;
}

static void
jeprof_list_count(struct jeprof_functions *f)
{
	for (size_t i = 0; i < f->s.stacks.len; i++) {
		const struct peer_stack *k = &f->s.stacks.data[i];

		for (uint32_t j = 0; j < k->nframes; j++) {
			uint32_t loc = f->s.frames.data[k->frames + j];
			struct peer_line *l;

			if (f->of[loc] == 0 || jeprof_counted(f, k, j))
				continue;
			l = jeprof_line(&f->all.data[f->of[loc] - 1],
					jeprof_function_of(&f->s, loc)->line);
			l->cum += k->value;
			if (j == 0)
				l->flat += k->value;
		}
	}
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
	const struct peer_sym *y = jeprof_function_of(&f->s, x->loc);
	const struct prof_loc *begin = &p->locs[x->begin];
	struct peer_listing l = {.function = strtab_str(&f->s.text, y->func),
				 .file = strtab_str(&f->s.text, y->file)};

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
	jeprof_stacks(r, PEER_FUNCTIONS, &f.s);
	jeprof_list_find(&f, re);
	jeprof_list_count(&f);
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
	peer_stacks_done(&f.s);
	re_free(re);
	if (!met)
		return err_set(
			e, -ENOENT,
			"--list %s: no function like that with a source line in the "
			"profile",
			pattern);
	return 0;
}
