/* SPDX-License-Identifier: MIT */
/* leak_opts.c -- see leak_opts.h: reading and checking the options about leaks. */
#include "tool/compat/leaks/leak_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/compat/leaks/leak_gate.h"
#include "tool/compat/leaks/lsan_opts.h"
#include "tool/format/text/suppress_read.h"
#include "tool/model/loss_kinds.h"
#include "tool/session/log_name.h"
#include "tool/session/out_file.h"
#include "tool/util/buf.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { CALLERS_MIN = 2, CALLERS_MAX = 500, LSAN_CALLERS = 30 };

int
leak_opts_suppressions(void *to, const struct opt *o, const struct opt_value *v,
		       struct err *e)
{
	struct leak_files *files = to;

	(void)o, (void)e;
	vec_push(files, v->text);
	return 0;
}

/* One of several words. */
static int
one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(text, words[i]) == 0)
			return (int)i;
	}
	return -1;
}

static int
read_format(const struct cmd *c, struct leak_opts *l)
{
	static const char *const words[] = {"seep", "text", "memcheck", "lsan"};
	static const enum leak_format formats[] = {LEAK_SEEP, LEAK_SEEP, LEAK_MEMCHECK,
						   LEAK_LSAN};
	int i = 0;

	if (l->format_name != NULL)
		i = one_of(l->format_name, words, ARRAY_LEN(words));
	if (i < 0)
		return cmd_usage(c, "--format: %s: want seep, memcheck or lsan",
				 l->format_name);
	l->format = l->xml ? LEAK_XML : formats[i];
	return 0;
}

static int
read_level(const struct cmd *c, struct leak_opts *l)
{
	static const char *const words[] = {"no", "summary", "yes", "full"};
	static const enum memcheck_level levels[] = {MEMCHECK_NO, MEMCHECK_SUMMARY,
						     MEMCHECK_FULL, MEMCHECK_FULL};
	int i = 3;

	l->level_given = l->check != NULL;
	if (l->check != NULL)
		i = one_of(l->check, words, ARRAY_LEN(words));
	if (i < 0)
		return cmd_usage(c, "--leak-check: %s: want no, summary, yes or full",
				 l->check);
	l->level = levels[i];
	return 0;
}

static int
read_kinds(const struct cmd *c, const char *option, const char *text, unsigned *to)
{
	if (text != NULL && loss_kinds_read(text, strlen(text), to) < 0)
		return cmd_usage(
			c,
			"--%s: %s: want definite, indirect, possible, reachable, "
			"separated by commas, all or none",
			option, text);
	return 0;
}

static int
read_resolution(const struct cmd *c, struct leak_opts *l)
{
	static const char *const words[] = {"high", "low", "med"};
	static const unsigned frames[] = {0, 2, 4};
	int i = 0;

	if (l->resolution != NULL)
		i = one_of(l->resolution, words, ARRAY_LEN(words));
	if (i < 0)
		return cmd_usage(c, "--leak-resolution: %s: want low, med or high",
				 l->resolution);
	l->records.resolution = frames[i];
	if (l->callers != 0 && (l->callers < CALLERS_MIN || l->callers > CALLERS_MAX))
		return cmd_usage(c, "--num-callers: from %d to %d", CALLERS_MIN,
				 CALLERS_MAX);
	l->records.callers = (unsigned)l->callers;
	if (l->callers == 0 && l->format == LEAK_LSAN)
		l->records.callers = LSAN_CALLERS;
	return 0;
}

static int
read_suppressions(const struct cmd *c, struct leak_opts *l)
{
	static const char *const words[] = {"no", "yes", "all"};
	struct err e = {0};
	int r = 0;

	if (l->generate != NULL && one_of(l->generate, words, ARRAY_LEN(words)) < 0)
		return cmd_usage(c, "--gen-suppressions: %s: want no, yes or all",
				 l->generate);
	for (size_t i = 0; r == 0 && i < l->files.len; i++)
		r = suppress_read_file(&l->set, l->files.data[i], &e);
	if (r == 0 && l->format == LEAK_LSAN)
		r = lsan_opts_read(l, &e);
	if (r < 0)
		cmd_tell(c, "%s", e.msg);
	return r < 0 ? CMD_USAGE : 0;
}

/* Whether a file can be written there: before a program is started. */
static int
check_folder(const char *name, struct err *e)
{
	const char *slash = strrchr(name, '/');
	char *folder =
		slash == NULL ? xstrdup(".") : xmemdup0(name, (size_t)(slash - name) + 1);
	int r = 0;

	if (access(folder, W_OK | X_OK) < 0 && access(name, W_OK) < 0)
		r = err_sys(e, -errno, "%s: cannot be written", name);
	free(folder);
	return r;
}

/* Names of files to write, as far as they can be known now. */
static int
check_names(const struct cmd *c, const struct leak_opts *l)
{
	const char *const names[] = {l->xml_file, l->junit, l->sarif};
	struct err e = {0};
	char *name;
	int r;

	if (out_is_same(names[0], names[1]) || out_is_same(names[0], names[2]) ||
	    out_is_same(names[1], names[2]))
		return cmd_usage(c, "two reports into one file: name another one");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i] == NULL)
			continue;
		if (log_name(names[i], 1, 0, &name, &e) < 0)
			return cmd_usage(c, "%s", e.msg);
		r = check_folder(name, &e);
		if (r == 0 && !log_name_differs(names[i]) &&
		    out_check_log(name, &e) < 0) {
			free(name);
			return cmd_fail_output(&e);
		}
		free(name);
		if (r < 0) {
			cmd_tell(c, "%s", e.msg);
			return CMD_FAILED;
		}
	}
	return 0;
}

int
leak_opts_read(const struct cmd *c, struct leak_opts *l)
{
	int r;

	if (l->read) /* by a personality that goes on with another command */
		return 0;
	l->read = true;
	r = read_format(c, l);
	l->error_kinds = LOSS_KINDS_ERRORS;
	if (r == 0 && l->format == LEAK_LSAN)
		l->error_kinds = 1u << PROF_LOSS_DEFINITE | 1u << PROF_LOSS_INDIRECT;
	if (r == 0)
		r = read_level(c, l);
	if (r == 0)
		r = read_kinds(c, "leak-kinds", l->show, &l->show_kinds);
	if (r == 0 && l->show != NULL && l->show_kinds == 0)
		l->show_kinds = LOSS_KINDS_NONE;
	if (r == 0)
		r = read_kinds(c, "errors-for-leak-kinds", l->errors, &l->error_kinds);
	if (r == 0)
		r = read_resolution(c, l);
	if (r == 0 && l->error_exitcode > 255)
		r = cmd_usage(c, "--error-exitcode: at most 255");
	if (r == 0)
		r = check_names(c, l);
	if (r == 0)
		r = read_suppressions(c, l);
	if (r == 0)
		r = leak_gate_read(c, l);
	return r;
}

bool
leak_opts_need_check(const struct leak_opts *l)
{
	return l->format != LEAK_SEEP || l->show != NULL || l->errors != NULL ||
	       l->error_exitcode != 0 || l->xml_file != NULL || l->files.len > 0 ||
	       l->generate != NULL || leak_gate_needs_check(&l->gate);
}

void
leak_opts_done(struct leak_opts *l)
{
	vec_done(&l->files);
	suppress_done(&l->set);
	leak_gate_done(&l->gate);
	lsan_opts_done(&l->lsan);
}
