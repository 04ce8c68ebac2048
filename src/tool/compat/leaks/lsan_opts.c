/* SPDX-License-Identifier: MIT */
/* lsan_opts.c -- see lsan_opts.h.
 *
 * 	suppressions='my file':exitcode=7 report_objects=1
 *
 * Names and values, separated by blanks, colons or commas; a value may be in quotes. What
 * is not in the table is LeakSanitizer's own business (how it takes stacks, where it
 * looks for pointers) and has no effect. */
#include "tool/compat/leaks/lsan_opts.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/format/text/suppress_read.h"
#include "tool/leak/classify.h"
#include "tool/session/out_file.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { LSAN_EXITCODE = 23, STRING_BYTES_MAX = 1 << 20, PAGE = 4096 };

/* ---- a flag ---- */

enum flag_kind { FLAG_YES, FLAG_NO, FLAG_NUMBER, FLAG_TEXT, FLAG_EXITCODE };

static const struct flag {
	const char *name;
	enum flag_kind kind; /* FLAG_NO: the field is true when it is off */
	size_t at;	     /* in struct lsan_opts */
	const char *help;
} flags[] = {
	{"detect_leaks", FLAG_NO, offsetof(struct lsan_opts, off), "Look for leaks."},
	{"leak_check_at_exit", FLAG_NO, offsetof(struct lsan_opts, not_at_exit),
	 "Look for leaks when the program ends."},
	{"exitcode", FLAG_EXITCODE, offsetof(struct lsan_opts, exitcode),
	 "Exit status if there are leaks."},
	{"suppressions", FLAG_TEXT, offsetof(struct lsan_opts, suppressions),
	 "File of suppressions."},
	{"print_suppressions", FLAG_NO, offsetof(struct lsan_opts, extra.no_uses),
	 "List the suppressions that were used."},
	{"log_path", FLAG_TEXT, offsetof(struct lsan_opts, log_path),
	 "Write the report to this file, with the process's number behind its name."},
	{"report_objects", FLAG_YES, offsetof(struct lsan_opts, extra.list_objects),
	 "List the address of every block that is lost."},
	{"max_leaks", FLAG_NUMBER, offsetof(struct lsan_opts, extra.max_leaks),
	 "Report this many leaks at most; 0 is all of them."},
	{"help", FLAG_YES, offsetof(struct lsan_opts, help), "List these options."},
};

static bool
is_no(const char *value)
{
	return strcmp(value, "0") == 0 || strcmp(value, "no") == 0 ||
	       strcmp(value, "false") == 0;
}

static void
set_flag(struct lsan_opts *o, const struct flag *f, const char *value)
{
	void *to = (char *)o + f->at;

	switch (f->kind) {
	case FLAG_YES:
	case FLAG_NO:
		*(bool *)to = is_no(value) == (f->kind == FLAG_NO);
		break;
	case FLAG_EXITCODE:
		o->exitcode_given = true;
		*(uint64_t *)to = strtoull(value, NULL, 10) & 255;
		break;
	case FLAG_NUMBER:
		*(uint64_t *)to = strtoull(value, NULL, 10);
		break;
	case FLAG_TEXT:
		free(*(char **)to);
		*(char **)to = *value != '\0' ? xstrdup(value) : NULL;
		break;
	}
}

static void
parse(struct lsan_opts *o, const char *at)
{
	static const char blank[] = ": ,\t\n\r";

	while (at != NULL && *at != '\0') {
		size_t name = strcspn(at, ": ,\t\n\r="), n = 0;
		const char *value = at + name;
		char *text, quote;

		if (*value != '=') {
			at = value + strspn(value, blank);
			continue;
		}
		quote = *++value;
		if (quote != '\'' && quote != '"')
			quote = '\0';
		value += quote != '\0';
		while (value[n] != '\0' &&
		       (quote != '\0' ? value[n] != quote
				      : strchr(blank, value[n]) == NULL))
			n++;
		text = xmemdup0(value, n);
		for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
			if (strlen(flags[i].name) == name &&
			    strncmp(flags[i].name, at, name) == 0)
				set_flag(o, &flags[i], text);
		}
		free(text);
		at = value + n + (quote != '\0' && value[n] == quote);
		at += strspn(at, blank);
	}
}

/* ---- where they are from ---- */

/* What they mean for the command, once all are known. */
static int
take_effect(struct leak_opts *l, struct err *e)
{
	struct lsan_opts *o = &l->lsan;
	int r = 0;

	if (o->suppressions != NULL &&
	    (o->read_already == NULL || strcmp(o->read_already, o->suppressions) != 0)) {
		free(o->read_already);
		o->read_already = xstrdup(o->suppressions);
		r = suppress_read_file(&l->set, o->read_already, e);
	}
	/* Unless the option was given. */
	if (l->error_exitcode == o->ours) {
		o->ours = o->exitcode_given ? o->exitcode : LSAN_EXITCODE;
		l->error_exitcode = o->ours;
		o->status_is_theirs = true;
	}
	return r;
}

int
lsan_opts_read(struct leak_opts *l, struct err *e)
{
	parse(&l->lsan, getenv("LSAN_OPTIONS"));
	if (l->lsan.off)
		l->level = MEMCHECK_NO;
	return take_effect(l, e);
}

/* A string of the process's, or NULL. */
static char *
string_at(const struct procmem *mem, uint64_t at)
{
	struct buf b = {0};
	char page[PAGE];

	while (at != 0 && b.len < STRING_BYTES_MAX) {
		size_t n = PAGE - at % PAGE, len;

		if (procmem_read(mem, at, page, n) < 0)
			break;
		len = strnlen(page, n);
		buf_add(&b, page, len);
		if (len < n)
			return buf_take(&b);
		at += n;
	}
	buf_done(&b);
	return NULL;
}

int
lsan_opts_heed(void *opts, const struct procmem *mem, const struct leakcheck_wishes *w,
	       struct err *e)
{
	struct leak_opts *l = opts;
	char *text;
	int r = 0;

	if (l->format != LEAK_LSAN)
		return 0;
	text = string_at(mem, w->options);
	if (text != NULL) {
		parse(&l->lsan, text);
		parse(&l->lsan, getenv("LSAN_OPTIONS"));
	}
	free(text);
	text = string_at(mem, w->suppressions);
	if (text != NULL)
		r = suppress_read(&l->set, "__lsan_default_suppressions", text,
				  strlen(text), e);
	free(text);
	if (r == 0)
		r = take_effect(l, e);
	if (r == 0 && (w->off || l->lsan.off || (l->lsan.not_at_exit && !w->asked)))
		r = err_set(e, -ECANCELED, "the program has turned LeakSanitizer off");
	return r;
}

/* ---- what a leak check finds ---- */

void
lsan_opts_begin(void *opts, uint32_t pid)
{
	struct leak_opts *l = opts;
	struct lsan_extra *x = &l->lsan.extra;
	size_t kept = 0;

	for (size_t i = 0; i < x->below.len; i++)
		if (x->below.data[i].pid != pid)
			x->below.data[kept++] = x->below.data[i];
	x->below.len = kept;
	kept = 0;
	for (size_t i = 0; i < x->objects.len; i++)
		if (x->objects.data[i].pid != pid)
			x->objects.data[kept++] = x->objects.data[i];
	x->objects.len = kept;
	map_done(&l->lsan.below);
	l->lsan.below = (struct map){0};
}

static void
add_below(struct lsan_opts *o, uint32_t pid, const struct scan_block *all,
	  const struct scan_block *b)
{
	const struct scan_block *leader = b;
	struct lsan_below *d;
	uint64_t *row;

	while (leader->state == CLASSIFY_INDIRECT)
		leader = &all[leader->indirect];
	row = map_add(&o->below, (uint64_t)leader->site << 32 | b->site);
	if (*row == 0) {
		vec_push(&o->extra.below,
			 (struct lsan_below){pid, leader->site, b->site, 0, 0});
		*row = o->extra.below.len;
	}
	d = &o->extra.below.data[*row - 1];
	d->blocks++;
	d->bytes += b->bytes;
}

void
lsan_opts_block(void *opts, uint32_t pid, const struct scan_block *all,
		const struct scan_block *b)
{
	struct leak_opts *l = opts;

	if (l->lsan.extra.list_objects && b->state <= CLASSIFY_INDIRECT)
		vec_push(&l->lsan.extra.objects, (struct lsan_object){.pid = pid,
								      .origin = b->site,
								      .kind = b->state,
								      .addr = b->addr,
								      .bytes = b->bytes});
	if (b->state == CLASSIFY_INDIRECT && l->format == LEAK_LSAN && l->set.all.len > 0)
		add_below(&l->lsan, pid, all, b);
}

bool
lsan_opts_log(const struct lsan_opts *o, uint32_t pid, const struct buf *text)
{
	const char *path = o->log_path;
	struct err e = {0};
	struct buf name = {0};

	if (path == NULL || strcmp(path, "stderr") == 0 || strcmp(path, "stdout") == 0)
		return false;
	if (text->len == 0)
		return true;
	buf_printf(&name, "%s.%" PRIu32, path, pid);
	if (out_check_log(buf_str(&name), &e) < 0 ||
	    file_write(buf_str(&name), text->data, text->len, &e) < 0)
		cmd_fail(&e);
	buf_done(&name);
	return e.code == 0;
}

void
lsan_opts_help(struct lsan_opts *o, struct buf *out)
{
	if (!o->help)
		return;
	o->help = false;
	buf_add_str(out, "Available flags for LeakSanitizer:\n");
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		buf_printf(out, "\t%s\n\t\t- %s\n", flags[i].name, flags[i].help);
}

void
lsan_opts_done(struct lsan_opts *o)
{
	free(o->log_path);
	free(o->suppressions);
	free(o->read_already);
	vec_done(&o->extra.objects);
	vec_done(&o->extra.below);
	map_done(&o->below);
}
