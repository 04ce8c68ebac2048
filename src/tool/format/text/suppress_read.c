/* SPDX-License-Identifier: MIT */
/* suppress_read.c -- see suppress_read.h.
 *
 * 	{                                   # valgrind: an entry in braces
 * 	   name
 * 	   Memcheck:Leak                    TOOL[,TOOL...]:KIND
 * 	   match-leak-kinds: definite       of Leak, optional
 * 	   fun:mallo?                       frames from the inside out: fun: obj: src: ...
 * 	}
 * 	leak:libcrypto                      # LeakSanitizer: a line
 *
 * Blanks at the ends of lines and lines that begin with # do not count. Entries of other
 * tools, and of errors that are not looked for, are read and kept without an effect.
 * Wrong lines are refused: a suppression that is silently not there costs more time than
 * a message. */
#include "tool/format/text/suppress_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/format/lines.h"
#include "tool/model/loss_kinds.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

struct suppress_reader {
	struct suppress_set *s;
	const char *name;
	struct lines lines;
	uint32_t file;
	struct err *e;
};

/* Kinds of Memcheck's errors, and what they are here. */
static const struct {
	const char *name;
	enum suppress_about about;
} suppress_kinds[] = {
	{"Leak", SUPPRESS_LEAK},	{"Free", SUPPRESS_FREE},
	{"Overlap", SUPPRESS_OVERLAP},	{"Addr1", SUPPRESS_ADDRESS},
	{"Addr2", SUPPRESS_ADDRESS},	{"Addr4", SUPPRESS_ADDRESS},
	{"Addr8", SUPPRESS_ADDRESS},	{"Addr16", SUPPRESS_ADDRESS},
	{"Addr32", SUPPRESS_ADDRESS},	{"Param", SUPPRESS_OTHER},
	{"User", SUPPRESS_OTHER},	{"CoreMem", SUPPRESS_OTHER},
	{"Value0", SUPPRESS_OTHER},	{"Cond", SUPPRESS_OTHER},
	{"Value1", SUPPRESS_OTHER},	{"Value2", SUPPRESS_OTHER},
	{"Value4", SUPPRESS_OTHER},	{"Value8", SUPPRESS_OTHER},
	{"Value16", SUPPRESS_OTHER},	{"Value32", SUPPRESS_OTHER},
	{"Jump", SUPPRESS_OTHER},	{"Mempool", SUPPRESS_OTHER},
	{"FishyValue", SUPPRESS_OTHER},
};

__attribute__((format(printf, 2, 3))) static int
suppress_fail(struct suppress_reader *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(r->e, -EINVAL, "%s:%" PRIu64 ": %s", r->name, r->lines.number,
		       text);
}

/* The next line that says something; false at the end. */
static bool
suppress_line(struct suppress_reader *r, struct line *ret)
{
	while (lines_next(&r->lines, ret)) {
		scan_trim(ret);
		if (ret->at < ret->end && *ret->at != '#')
			return true;
	}
	return false;
}

static bool
suppress_is(const struct line *l, const char *text)
{
	return line_len(l) == strlen(text) && memcmp(l->at, text, line_len(l)) == 0;
}

/* For messages: what was found, cut. */
static int
suppress_cut(const struct line *l)
{
	return line_len(l) < 60 ? (int)line_len(l) : 60;
}

static bool
suppress_has_memcheck(struct line tools)
{
	while (tools.at < tools.end) {
		const char *comma = memchr(tools.at, ',', line_len(&tools));
		struct line one = {tools.at, comma != NULL ? comma : tools.end};

		if (suppress_is(&one, "Memcheck"))
			return true;
		tools.at = one.end + (comma != NULL);
	}
	return false;
}

/* "Memcheck:Leak". */
static int
suppress_read_about(struct suppress_reader *r, struct suppress *x, struct line l,
		    bool *ret_foreign)
{
	const char *colon = memchr(l.at, ':', line_len(&l));
	struct line tools, kind;

	if (colon == NULL || colon == l.at || colon + 1 == l.end)
		return suppress_fail(r,
				     "\"%.*s\": want the tool and kind of error, as "
				     "Memcheck:Leak",
				     suppress_cut(&l), l.at);
	tools = (struct line){l.at, colon};
	kind = (struct line){colon + 1, l.end};
	*ret_foreign = !suppress_has_memcheck(tools);
	if (*ret_foreign)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(suppress_kinds); i++) {
		if (suppress_is(&kind, suppress_kinds[i].name)) {
			x->about = suppress_kinds[i].about;
			return 0;
		}
	}
	return suppress_fail(r, "\"%.*s\": not a kind of Memcheck's errors",
			     suppress_cut(&kind), kind.at);
}

static int
suppress_read_frame(struct suppress_reader *r, struct suppress *x, struct line l)
{
	enum suppress_part part = SUPPRESS_FRAMES;
	struct suppress_frame *f;
	struct line rest = l;

	if (x->frames.len >= SUPPRESS_FRAMES_MAX)
		return suppress_fail(r, "more than %d frames", SUPPRESS_FRAMES_MAX);
	if (scan_text(&rest, "fun:"))
		part = SUPPRESS_FUNCTION;
	else if (scan_text(&rest, "obj:"))
		part = SUPPRESS_OBJECT;
	else if (scan_text(&rest, "src:"))
		part = SUPPRESS_SOURCE;
	else if (!suppress_is(&l, "..."))
		return suppress_fail(r, "\"%.*s\": want fun:, obj:, src:, ... or }",
				     suppress_cut(&l), l.at);
	if (part != SUPPRESS_FRAMES && rest.at == rest.end)
		return suppress_fail(r, "nothing behind \"%.*s\"", suppress_cut(&l),
				     l.at);
	f = vec_add(&x->frames);
	f->part = part;
	f->pattern = part == SUPPRESS_FRAMES ? NULL : xmemdup0(rest.at, line_len(&rest));
	return 0;
}

/* Everything between the name and the closing brace. */
static int
suppress_read_body(struct suppress_reader *r, struct suppress *x)
{
	struct line l, rest;
	bool foreign = false, some = false;
	int ret;

	if (!suppress_line(r, &l))
		return suppress_fail(r, "the file ends inside of a suppression");
	ret = suppress_read_about(r, x, l, &foreign);
	if (ret < 0)
		return ret;
	x->kinds = LOSS_KINDS_ALL;
	while (suppress_line(r, &l)) {
		rest = l;
		if (suppress_is(&l, "}")) {
			if (foreign || some)
				return 0;
			return suppress_fail(
				r, x->frames.len > 0 ? "only \"...\" in it: at least one "
						       "frame must be named"
						     : "no frames in it");
		}
		/* What others write in theirs is theirs; a line more is the system call
		 * of Param. */
		if (foreign || (x->about == SUPPRESS_OTHER && x->frames.len == 0 &&
				memchr(l.at, ':', line_len(&l)) == NULL))
			continue;
		if (x->about == SUPPRESS_LEAK && x->frames.len == 0 &&
		    scan_text(&rest, "match-leak-kinds:")) {
			if (loss_kinds_read(rest.at, line_len(&rest), &x->kinds) < 0)
				return suppress_fail(
					r, "match-leak-kinds: want definite, indirect, "
					   "possible, reachable, all or none");
			continue;
		}
		ret = suppress_read_frame(r, x, l);
		if (ret < 0)
			return ret;
		some = some || vec_last(&x->frames)->part != SUPPRESS_FRAMES;
	}
	return suppress_fail(r, "the file ends inside of a suppression: } is missing");
}

static int
suppress_read_entry(struct suppress_reader *r)
{
	struct suppress *x = suppress_add(r->s);
	struct line l;

	x->file = r->file;
	if (!suppress_line(r, &l))
		return suppress_fail(r, "the file ends inside of a suppression");
	if (suppress_is(&l, "}"))
		return suppress_fail(r, "a suppression without a name");
	x->line = (uint32_t)r->lines.number;
	x->name = xmemdup0(l.at, line_len(&l));
	return suppress_read_body(r, x);
}

int
suppress_read(struct suppress_set *s, const char *name, const void *data, size_t bytes,
	      struct err *e)
{
	struct suppress_reader r = {.s = s,
				    .name = name,
				    .lines = lines_init(data, bytes),
				    .file = (uint32_t)s->files.len,
				    .e = e};
	struct line l, rest;
	int ret = 0;

	vec_push(&s->files, xstrdup(name));
	if (bytes > 0 && memchr(data, '\0', bytes) != NULL) {
		const char *nul = memchr(data, '\0', bytes);

		while (r.lines.at <= nul && lines_next(&r.lines, &l))
			continue;
		return suppress_fail(&r, "a NUL byte: not a text file");
	}
	while (ret == 0 && suppress_line(&r, &l)) {
		rest = l;
		if (suppress_is(&l, "{")) {
			ret = suppress_read_entry(&r);
		} else if (scan_text(&rest, "leak:") && rest.at < rest.end) {
			struct suppress *x = suppress_add(s);

			x->about = SUPPRESS_LSAN;
			x->file = r.file;
			x->line = (uint32_t)r.lines.number;
			x->name = xmemdup0(rest.at, line_len(&rest));
		} else {
			ret = suppress_fail(&r, "\"%.*s\": want { or leak:PATTERN",
					    suppress_cut(&l), l.at);
		}
	}
	return ret;
}

int
suppress_read_file(struct suppress_set *s, const char *path, struct err *e)
{
	struct buf b = {0};
	int r = file_read(path, SUPPRESS_FILE_BYTES_MAX, &b, e);

	if (r == 0)
		r = suppress_read(s, path, buf_str(&b), b.len, e);
	buf_done(&b);
	return r;
}
