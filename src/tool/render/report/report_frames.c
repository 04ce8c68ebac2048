/* SPDX-License-Identifier: MIT */
/* report_frames.c -- the stack under a place: which frames, and each as a line.
 *
 * Columns are as wide as the widest entry listed, up to a limit: one very long C++ name
 * moves its own line only. On a terminal names are shortened so that some of the source
 * line is always there; in a file or pipe only arguments of templates are. */
#include "tool/render/report/report_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"

enum {
	REPORT_FUNCTION_MAX = 48, /* columns */
	REPORT_WHERE_MAX = 40,
	REPORT_SOURCE_MIN = 20, /* columns that are left to the source line */
	REPORT_GAP = 3,		/* between columns */
	REPORT_RUN_MIN = 3,	/* frames that share a line */
};

/* Columns of the terminal, 0 = no limit. */
static size_t
report_columns(const struct report *r)
{
	unsigned n = r->o->term != NULL ? r->o->term->columns : 0;

	return n < 20 ? 0 : n;
}

/* At most this many columns are for file and line, and for the function. */
static size_t
report_where_max(const struct report *r)
{
	size_t n = report_columns(r) / 4;

	if (n == 0 || n > REPORT_WHERE_MAX)
		return REPORT_WHERE_MAX;
	return n < REPORT_SOURCE_MIN ? REPORT_SOURCE_MIN : n;
}

static size_t
report_function_max(const struct report *r)
{
	size_t n = report_columns(r), other = REPORT_INDENT + 2 * REPORT_GAP +
					      report_where_max(r) + REPORT_SOURCE_MIN;

	if (n == 0 || n > other + REPORT_FUNCTION_MAX)
		return REPORT_FUNCTION_MAX;
	return n > other + REPORT_SOURCE_MIN ? n - other : REPORT_SOURCE_MIN;
}

/* One frame, as three pieces of text. */
struct report_line {
	struct buf function, where, rest;
	bool aligned; /* false: the function's text is all there is */
};

static void
report_line_done(struct report_line *l)
{
	buf_done(&l->function);
	buf_done(&l->where);
	buf_done(&l->rest);
}

static bool
report_is_named(const struct prof *p, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos);

	return f != NULL && (f->function != 0 || f->line != 0);
}

/* Why the module has no names or lines. A terminal is too narrow for what can be done
 * about it. */
static void
report_why(struct buf *out, const struct report *r, const struct prof_module *m)
{
	char *why = clean_copy(prof_text(r->p, m->why_no_names));

	if (report_columns(r) > 0)
		why[strcspn(why, ";")] = '\0';
	buf_add_str(out, why);
	free(why);
}

/* A location without a name, and as many callers without one. */
static void
report_unnamed(struct report_line *l, const struct report *r, const struct prof_loc *loc,
	       size_t callers, bool why)
{
	const struct prof *p = r->p;
	const struct prof_module *m = &p->modules[loc->module];

	switch (loc->kind) {
	case PROF_LOC_TRUNCATED:
		buf_add_str(&l->function, REPORT_MORE " (could not be followed further)");
		return;
	case PROF_LOC_ELIDED:
		buf_printf(&l->function, REPORT_MORE " (about %s frames left out)",
			   fmt_count(loc->offset).s);
		return;
	case PROF_LOC_CLASS:
		buf_add_str(&l->function, prof_class_name(loc->offset));
		return;
	}
	buf_printf(&l->function, "0x%" PRIx64, loc->offset);
	if (loc->module == 0) {
		buf_add_str(&l->function, " (in no module)");
		return;
	}
	if (callers > 0)
		buf_printf(&l->function, " and %zu callers", callers);
	buf_add_str(&l->function, " in ");
	clean_text(&l->function, file_base(prof_text(p, m->path)));
	if (why && m->why_no_names != 0) {
		buf_add_str(&l->function, " (");
		report_why(&l->function, r, m);
		buf_add_char(&l->function, ')');
	}
}

/* The frame at `pos` with `callers` that share its line; `why` asks for the reason why
 * there is no line. */
static void
report_line_make(struct report_line *l, const struct report *r, struct skip_pos pos,
		 size_t callers, bool why)
{
	const struct prof *p = r->p;
	const struct prof_loc *loc = skip_loc(p, pos);
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_module *m = &p->modules[loc->module];

	buf_clear(&l->function);
	buf_clear(&l->where);
	buf_clear(&l->rest);
	l->aligned = report_is_named(p, pos);
	if (!l->aligned) {
		report_unnamed(l, r, loc, callers, why);
		return;
	}
	if (f->function == 0)
		buf_add_char(&l->function, '?');
	else if (r->o->all)
		clean_text(&l->function, prof_text(p, f->function));
	else
		figure_function(&l->function, prof_text(p, f->function),
				report_function_max(r));
	if (report_columns(r) > 0 && !r->o->all)
		figure_cut_middle(&l->function, 0, report_function_max(r));
	if (f->line != 0) {
		clean_text(&l->where, file_base(prof_text(p, f->file)));
		buf_printf(&l->where, ":%u", f->line);
		if (report_columns(r) > 0 && !r->o->all)
			figure_cut_middle(&l->where, 0, report_where_max(r));
	} else {
		/* names that came with the file have no offset, and some no module */
		if (f->symbol_off != 0)
			buf_printf(&l->where, "+0x%x ", f->symbol_off);
		if (loc->module != 0) {
			buf_add_str(&l->where, "in ");
			clean_text(&l->where, file_base(prof_text(p, m->path)));
		} else if (f->lang != PROF_NATIVE && f->file != 0) {
			clean_text(&l->where, file_base(prof_text(p, f->file)));
		}
		if (why && m->why_no_names != 0) {
			buf_add_str(&l->rest, "(no lines: ");
			report_why(&l->rest, r, m);
			buf_add_char(&l->rest, ')');
		}
	}
	if (callers > 0)
		buf_printf(&l->rest, "(%zu times)", callers + 1);
	else if (f->inlined)
		buf_printf(&l->rest, "%s(inlined)", l->rest.len > 0 ? " " : "");
}

size_t
report_max(size_t a, size_t b, size_t limit)
{
	return b > a && b <= limit ? b : a;
}

/* The frames of a stack that are printed. */
struct report_frames {
	struct skip_stack st;
	size_t quoted; /* whose source is printed: the first of the program's own */
	size_t first;  /* frames printed from the innermost on; then the quoted one */
};

static void
report_frames_done(struct report_frames *f)
{
	vec_done(&f->st);
}

/* Do two frames that follow each other share a line? Addresses in one module say nothing
 * each; a line that calls itself is enough once. */
static bool
report_is_same(const struct prof *p, struct skip_pos a, struct skip_pos b)
{
	const struct prof_frame *fa = skip_frame(p, a), *fb = skip_frame(p, b);

	if (report_is_named(p, a) != report_is_named(p, b))
		return false;
	if (!report_is_named(p, a))
		return skip_loc(p, a)->module != 0 &&
		       skip_loc(p, a)->module == skip_loc(p, b)->module;
	return fa->line != 0 && fa->line == fb->line && fa->file == fb->file;
}

/* How many frames from `k` on share a line. */
static size_t
report_run(const struct report *r, const struct skip_stack *st, size_t k)
{
	size_t n = 1;

	while (!r->o->all && k + n < st->len &&
	       report_is_same(r->p, st->data[k + n - 1], st->data[k + n]))
		n++;
	return n < REPORT_RUN_MIN ? 1 : n;
}

/* Is the frame in a program, and not in one of its libraries? What an interpreter runs
 * is. */
static bool
report_in_program(const struct prof *p, struct skip_pos pos)
{
	uint32_t path = p->modules[skip_loc(p, pos)->module].path;
	const struct prof_frame *f = skip_frame(p, pos);

	if (path == 0 && f != NULL && f->lang != PROF_NATIVE)
		return true; /* an interpreter runs it */
	for (uint32_t i = 1; i < p->nprocesses && path != 0; i++) {
		if (p->processes[i].exe == path)
			return true;
	}
	return false;
}

/* The first frame that has a source line to quote, else the first in the program itself,
 * else the innermost. */
static size_t
report_quoted(const struct report *r, const struct skip_stack *st)
{
	size_t program = 0;

	for (size_t k = 0; k < st->len; k++) {
		const struct prof_frame *f = skip_frame(r->p, st->data[k]);

		if (!skip_is_own(r->skip, st->data[k]))
			continue;
		if (f != NULL && f->source != 0)
			return k;
		if (program == 0 && report_in_program(r->p, st->data[k]))
			program = k;
	}
	return program;
}

/* How many frames are on the first `lines` lines, at most all. */
static size_t
report_on_lines(const struct report *r, const struct skip_stack *st, size_t lines)
{
	size_t k = 0;

	for (; lines > 0 && k < st->len; lines--)
		k += report_run(r, st, k);
	return k;
}

static void
report_frames_make(struct report_frames *f, const struct report *r, uint32_t node)
{
	size_t max = r->o->all		  ? SIZE_MAX
		     : r->most_frames > 0 ? r->most_frames
					  : REPORT_FRAMES;

	skip_stack(r->skip, node, &f->st);
	f->quoted = report_quoted(r, &f->st);
	f->first = report_on_lines(r, &f->st, max);
	if (r->most_frames == 0 && f->st.len - f->first == 1)
		f->first = f->st.len; /* the line that says so may as well be the frame */
	if (f->quoted >= f->first)
		/* room for it */
		f->first = report_on_lines(r, &f->st, max > 1 ? max - 1 : 1);
	if (f->quoted == f->first + 1)
		f->first = f->quoted + 1; /* as above */
}

/* Is frame `k` printed? Its line stands for so many frames. */
static bool
report_frame_shown(const struct report *r, const struct report_frames *f, size_t k,
		   size_t *ret_frames)
{
	*ret_frames = k < f->first ? report_run(r, &f->st, k) : 1;
	return k < f->first || k == f->quoted;
}

void
report_measure_stack(const struct report *r, uint32_t node, struct report_widths *w)
{
	struct report_frames f = {0};
	struct report_line l = {0};

	report_frames_make(&f, r, node);
	for (size_t k = 0, n = 1; k < f.st.len; k += n) {
		if (!report_frame_shown(r, &f, k, &n))
			continue;
		report_line_make(&l, r, f.st.data[k], n - 1, false);
		if (!l.aligned)
			continue;
		w->function = report_max(w->function, figure_width(buf_str(&l.function)),
					 report_function_max(r));
		w->where = report_max(w->where, figure_width(buf_str(&l.where)),
				      report_where_max(r));
	}
	report_line_done(&l);
	report_frames_done(&f);
}

void
report_cut(struct report *r, size_t from)
{
	size_t columns = report_columns(r), n = 0, at = 0;
	const char *s = buf_str(r->out) + from;

	if (columns == 0 || figure_width(s) <= columns)
		return;
	for (; s[at] != '\0'; at++) {
		n += ((unsigned char)s[at] & 0xc0) != 0x80;
		if (n == columns)
			break;
	}
	r->out->len = from + at;
	buf_add_str(r->out, REPORT_MORE);
}

static void
report_frame(struct report *r, const struct report_line *l, const struct report_widths *w,
	     const char *source)
{
	size_t start = r->out->len, from;

	buf_printf(r->out, "%*s", REPORT_INDENT, "");
	from = r->out->len;
	buf_add_str(r->out, buf_str(&l->function));
	if (l->where.len > 0) {
		figure_pad(r->out, from, w->function + REPORT_GAP, 2);
		from = r->out->len;
		buf_add_str(r->out, buf_str(&l->where));
	}
	if (l->where.len > 0 && (source[0] != '\0' || l->rest.len > 0))
		figure_pad(r->out, from, w->where + REPORT_GAP, 2);
	clean_text(r->out, source);
	if (l->rest.len > 0)
		buf_printf(r->out, "%s%s", source[0] != '\0' ? "  " : "",
			   buf_str(&l->rest));
	if (source[0] != '\0')
		report_cut(r, start); /* else wrap_text breaks it */
	buf_add_char(r->out, '\n');
}

static void
report_more_frames(struct report *r, size_t n)
{
	buf_printf(r->out, "%*s" REPORT_MORE " %zu more frame%s (--all)\n", REPORT_INDENT,
		   "", n, n == 1 ? "" : "s");
}

void
report_stack(struct report *r, uint32_t node, const struct report_widths *w)
{
	struct report_frames fs = {0};
	struct report_line l = {0};
	size_t printed = 0;

	if (r->told == NULL)
		r->told = xcalloc(r->p->nmodules, sizeof *r->told);
	report_frames_make(&fs, r, node);
	for (size_t k = 0, n = 1; k < fs.st.len; k += n) {
		const struct prof_frame *f = skip_frame(r->p, fs.st.data[k]);
		uint32_t module = skip_loc(r->p, fs.st.data[k])->module;

		if (!report_frame_shown(r, &fs, k, &n))
			continue;
		if (k > printed)
			report_more_frames(r, k - printed);
		printed = k + n;
		report_line_make(&l, r, fs.st.data[k], n - 1, !r->told[module]);
		if (f == NULL || f->line == 0)
			r->told[module] = true;
		/* The program's line that allocates is shown, its callers are only
		 * named. */
		report_frame(r, &l, w,
			     k == fs.quoted && f != NULL ? prof_text(r->p, f->source)
							 : "");
	}
	/* a short list says once, at its end, that there is more */
	if (r->most_frames > 0)
		r->callers_left += fs.st.len - printed;
	else if (printed < fs.st.len)
		report_more_frames(r, fs.st.len - printed);
	if (fs.st.len == 0)
		buf_printf(r->out, "%*s(no stack)\n", REPORT_INDENT, "");
	report_line_done(&l);
	report_frames_done(&fs);
}

void
report_stack_of(struct report *r, uint32_t node)
{
	struct report_widths w = {0};

	report_measure_stack(r, node, &w);
	report_stack(r, node, &w);
}

void
report_frame_short(struct report *r, struct skip_pos pos)
{
	struct report_line l = {0};

	report_line_make(&l, r, pos, 0, false);
	buf_add_str(r->out, buf_str(&l.function));
	if (l.where.len > 0)
		buf_printf(r->out, " %s", buf_str(&l.where));
	report_line_done(&l);
}
