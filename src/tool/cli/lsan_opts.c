/* SPDX-License-Identifier: MIT */
/* lsan_opts.c -- see lsan_opts.h.
 *
 *	suppressions='my file':exitcode=7 report_objects=1
 *
 * Names and values, separated by blanks, colons or commas; a value may be in quotes. What is not in the table is
 * LeakSanitizer's own business (how it takes stacks, where it looks for pointers) and has no effect. */
#include "tool/cli/lsan_opts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/cli/leak_opts.h"
#include "tool/format/text/suppress_read.h"
#include "tool/leak/classify.h"
#include "tool/session/out_file.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { LSAN_EXITCODE = 23, STRING_BYTES_MAX = 1 << 20, PAGE = 4096 };

struct lsan_opts lsan_given;

/* ---- a flag ---- */

enum flag_kind { FLAG_YES, FLAG_NO, FLAG_NUMBER, FLAG_TEXT, FLAG_EXITCODE };

static const struct flag {
	const char *name;
	enum flag_kind kind; /* FLAG_NO: `to` is true when it is off */
	void *to;
	const char *help;
} flags[] = {
	{"detect_leaks", FLAG_NO, &lsan_given.off, "Look for leaks."},
	{"leak_check_at_exit", FLAG_NO, &lsan_given.not_at_exit,
	 "Look for leaks when the program ends."},
	{"exitcode", FLAG_EXITCODE, &lsan_given.exitcode,
	 "Exit status if there are leaks."},
	{"suppressions", FLAG_TEXT, &lsan_given.suppressions, "File of suppressions."},
	{"print_suppressions", FLAG_NO, &lsan_given.extra.no_uses,
	 "List the suppressions that were used."},
	{"log_path", FLAG_TEXT, &lsan_given.log_path,
	 "Write the report to this file, with the process's number behind its name."},
	{"report_objects", FLAG_YES, &lsan_given.extra.list_objects,
	 "List the address of every block that is lost."},
	{"max_leaks", FLAG_NUMBER, &lsan_given.extra.max_leaks,
	 "Report this many leaks at most; 0 is all of them."},
	{"help", FLAG_YES, &lsan_given.help, "List these options."},
};

static bool
is_no(const char *value)
{
	return strcmp(value, "0") == 0 || strcmp(value, "no") == 0 ||
	       strcmp(value, "false") == 0;
}

static void
set_flag(const struct flag *f, const char *value)
{
	switch (f->kind) {
	case FLAG_YES:
	case FLAG_NO:
		*(bool *)f->to = is_no(value) == (f->kind == FLAG_NO);
		break;
	case FLAG_EXITCODE:
		lsan_given.exitcode_given = true;
		*(uint64_t *)f->to = strtoull(value, NULL, 10) & 255;
		break;
	case FLAG_NUMBER:
		*(uint64_t *)f->to = strtoull(value, NULL, 10);
		break;
	case FLAG_TEXT:
		free(*(char **)f->to);
		*(char **)f->to = *value != '\0' ? xstrdup(value) : NULL;
		break;
	}
}

static void
parse(const char *at)
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
				set_flag(&flags[i], text);
		}
		free(text);
		at = value + n + (quote != '\0' && value[n] == quote);
		at += strspn(at, blank);
	}
}

/* ---- where they are from ---- */

/* What they mean for the command, once all are known. */
static int
take_effect(struct err *e)
{
	static char *read_already;
	static uint64_t ours;
	struct leak_opts *l = &leak_given;
	int r = 0;

	if (lsan_given.suppressions != NULL &&
	    (read_already == NULL ||
	     strcmp(read_already, lsan_given.suppressions) != 0)) {
		free(read_already);
		read_already = xstrdup(lsan_given.suppressions);
		r = suppress_read_file(&l->set, read_already, e);
	}
	/* Unless the option was given. */
	if (l->error_exitcode == ours) {
		ours = lsan_given.exitcode_given ? lsan_given.exitcode : LSAN_EXITCODE;
		l->error_exitcode = ours;
		lsan_given.status_is_theirs = true;
	}
	return r;
}

int
lsan_opts_read(struct err *e)
{
	parse(getenv("LSAN_OPTIONS"));
	if (lsan_given.off)
		leak_given.level = MEMCHECK_NO;
	return take_effect(e);
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
lsan_opts_heed(const struct procmem *mem, const struct leakcheck_wishes *w, struct err *e)
{
	char *text;
	int r = 0;

	if (leak_given.format != LEAK_LSAN)
		return 0;
	text = string_at(mem, w->options);
	if (text != NULL) {
		parse(text);
		parse(getenv("LSAN_OPTIONS"));
	}
	free(text);
	text = string_at(mem, w->suppressions);
	if (text != NULL)
		r = suppress_read(&leak_given.set, "__lsan_default_suppressions", text,
				  strlen(text), e);
	free(text);
	if (r == 0)
		r = take_effect(e);
	if (r == 0 && (w->off || lsan_given.off || (lsan_given.not_at_exit && !w->asked)))
		r = err_set(e, -ECANCELED, "the program has turned LeakSanitizer off");
	return r;
}

/* ---- what is written ---- */

/* ---- what a leak check finds ---- */

static struct map
	below; /* leader's site and a block's site -> row of lsan_given.extra.below + 1 */

void
lsan_opts_begin(uint32_t pid)
{
	struct lsan_extra *x = &lsan_given.extra;
	size_t kept = 0;

	for (size_t i = 0; i < x->below.len; i++)
		if (x->below.data[i].pid != pid)
			x->below.data[kept++] = x->below.data[i];
	x->below.len = kept;
	map_done(&below);
	below = (struct map){0};
}

static void
add_below(uint32_t pid, const struct scan_block *all, const struct scan_block *b)
{
	const struct scan_block *leader = b;
	struct lsan_below *d;
	uint64_t *row;

	while (leader->state == CLASSIFY_INDIRECT)
		leader = &all[leader->indirect];
	row = map_add(&below, (uint64_t)leader->site << 32 | b->site);
	if (*row == 0) {
		vec_push(&lsan_given.extra.below,
			 (struct lsan_below){pid, leader->site, b->site, 0, 0});
		*row = lsan_given.extra.below.len;
	}
	d = &lsan_given.extra.below.data[*row - 1];
	d->blocks++;
	d->bytes += b->bytes;
}

void
lsan_opts_block(uint32_t pid, const struct scan_block *all, const struct scan_block *b)
{
	if (lsan_given.extra.list_objects && b->state <= CLASSIFY_INDIRECT)
		vec_push(&lsan_given.extra.objects,
			 (struct lsan_object){.pid = pid,
					      .origin = b->site,
					      .kind = b->state,
					      .addr = b->addr,
					      .bytes = b->bytes});
	if (b->state == CLASSIFY_INDIRECT && leak_given.format == LEAK_LSAN &&
	    leak_given.set.all.len > 0)
		add_below(pid, all, b);
}

bool
lsan_opts_log(uint32_t pid, const struct buf *text)
{
	const char *path = lsan_given.log_path;
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
lsan_opts_help(struct buf *out)
{
	if (!lsan_given.help)
		return;
	lsan_given.help = false;
	buf_add_str(out, "Available flags for LeakSanitizer:\n");
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		buf_printf(out, "\t%s\n\t\t- %s\n", flags[i].name, flags[i].help);
}
