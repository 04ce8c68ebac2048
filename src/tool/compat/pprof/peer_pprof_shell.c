/* SPDX-License-Identifier: MIT */
/* peer_pprof_shell.c -- the prompt of the pprof personality.
 *
 * `cmd [n] [focus]* [-ignore]* [-cum] [>file]`, `option=value`, a bare sample type, `o`
 * for the options as they stand. A command's own words hold for that command only. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/compat.h"
#include "tool/compat/peer_opts.h"
#include "tool/compat/pprof/peer_pprof.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { PPROF_SHELL_ROWS = 10 };

static const char pprof_shell_help[] =
	"  Commands:\n"
	"    top[N], text        table of the N largest rows (10)\n"
	"    tree, peek RE       callers and callees\n"
	"    list RE             source with figures\n"
	"    traces, tags, raw, comments, dot, svg, png, gif, pdf, ps, callgrind, proto\n"
	"    option=value        focus=RE, sample_index=alloc_space, nodecount=20, granularity=lines\n"
	"    inuse_space, alloc_objects, ...   choose a figure\n"
	"    o, options          show options\n"
	"    :                   clear all filters\n"
	"    help, quit, exit, ^D\n"
	"  Words behind a command: N, focus RE, -ignore RE, -cum, >file\n";

/* Strings typed at the prompt live as long as the prompt. */
struct pprof_shell {
	struct pprof_loaded *l;
	VEC(char *) kept;
};

static const char *
pprof_keep_text(struct pprof_shell *s, char *text)
{
	vec_push(&s->kept, text);
	return text;
}

static void
pprof_show_options(const struct pprof_args *a)
{
	for (unsigned i = 0; i < FILTER_OPTIONS; i++) {
		if (a->filters.of[i] != NULL)
			printf("  %-22s = \"%s\"\n", filter_names[i], a->filters.of[i]);
	}
	printf("  %-22s = %g\n  %-22s = %lld\n  %-22s = %g\n  %-22s = \"%s\"\n"
	       "  %-22s = %s\n  %-22s = \"%s\"\n",
	       "edgefraction", a->edge_fraction, "nodecount", (long long)a->nodes,
	       "nodefraction", a->node_fraction, "sample_index",
	       a->index != NULL ? a->index : "", "trim", a->trim ? "true" : "false",
	       "unit", a->unit);
}

/* name=value, or a bare switch. */
static bool
pprof_shell_option(struct pprof_shell *s, char *line, struct err *e)
{
	struct pprof_args *a = s->l->args;
	char *value = strchr(line, '=');
	size_t n = value != NULL ? (size_t)(value - line) : strlen(line);
	const struct opt *o;
	char *name;

	while (n > 0 && isspace((unsigned char)line[n - 1]))
		n--;
	name = xmemdup0(line, n);
	pprof_keep_text(s, name);
	if (value != NULL)
		value += 1 + strspn(value + 1, " ");
	/* granularity=lines is -lines, sort=cum is -cum. */
	if (value != NULL &&
	    (strcmp(name, "granularity") == 0 || strcmp(name, "sort") == 0)) {
		name = value;
		value = NULL;
		a->cum = false;
	}
	o = opt_find(pprof_opts_table, name);
	if (o == NULL || (value == NULL && o->kind != OPT_NONE))
		return false;
	if (peer_opt_set(o, value != NULL ? pprof_keep_text(s, xstrdup(value)) : NULL, a,
			 e) < 0)
		cmd_note("%s", e->msg);
	return true;
}

/* Words behind a command. */
static void
pprof_shell_words(struct pprof_shell *s, char *text)
{
	struct pprof_args *a = s->l->args;
	const char **focus = &(*a).filters.of[FILTER_FOCUS];
	const char **ignore = &(*a).filters.of[FILTER_IGNORE];
	char *save = NULL;

	for (char *w = strtok_r(text, " \t", &save); w != NULL;
	     w = strtok_r(NULL, " \t", &save)) {
		const char **to = *w == '-' ? ignore : focus;
		char *word = *w == '-' ? w + 1 : w;

		if (*w == '>') {
			word = w[1] != '\0' ? w + 1 : strtok_r(NULL, " \t", &save);
			a->output =
				word != NULL ? pprof_keep_text(s, xstrdup(word)) : NULL;
		} else if (w[strspn(w, "0123456789")] == '\0') {
			a->nodes = atoll(w);
		} else if (strcmp(w, "-cum") == 0 || strcmp(w, "--cum") == 0) {
			a->cum = true;
		} else if ((a->what == PPROF_PEEK || a->what == PPROF_LIST) &&
			   a->pattern == NULL) {
			a->pattern = pprof_keep_text(s, xstrdup(word));
		} else {
			*to = pprof_keep_text(s, *to == NULL
							 ? xstrdup(word)
							 : xasprintf("%s|%s", *to, word));
		}
	}
}

static bool
pprof_shell_command(struct pprof_shell *s, char *line, struct err *e)
{
	struct pprof_args *a = s->l->args;
	static const char *const commands =
		" top text tree peek list traces tags comments raw proto callgrind dot svg png gif "
		"pdf ps ";
	struct pprof_args was = *a;
	size_t n = strcspn(line, " \t0123456789>");
	char *word = xasprintf(" %.*s ", (int)n, line);
	const struct opt *o = NULL;
	struct opt_value v = {0};
	int r;

	if (n > 0 && strstr(commands, word) != NULL) {
		word[n + 1] = '\0';
		o = opt_find(pprof_opts_table, word + 1);
	}
	free(word);
	if (o == NULL)
		return false;
	r = o->set(a, o, &v, e);
	a->pattern = NULL;
	if (a->what == PPROF_TOP && a->nodes < 0)
		a->nodes = PPROF_SHELL_ROWS;
	pprof_shell_words(s, line + n);
	if ((a->what == PPROF_PEEK || a->what == PPROF_LIST) && a->pattern == NULL)
		r = err_set(e, -1, "%s needs a regular expression", o->name);
	if (r == 0)
		r = pprof_report(s->l, e);
	if (r < 0)
		cmd_note("%s", e->msg);
	*a = was;
	return true;
}

/* False to leave. */
static bool
pprof_shell_line(struct pprof_shell *s, char *line)
{
	struct pprof_args *a = s->l->args;
	struct err e = {0};
	size_t n = strlen(line);

	while (n > 0 && isspace((unsigned char)line[n - 1]))
		line[--n] = '\0';
	line += strspn(line, " \t");
	if (*line == '\0')
		return true;
	if (strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0 ||
	    strcmp(line, "q") == 0)
		return false;
	if (strncmp(line, "help", 4) == 0)
		fputs(pprof_shell_help, stdout);
	else if (strcmp(line, "o") == 0 || strcmp(line, "options") == 0)
		pprof_show_options(a);
	else if (strcmp(line, ":") == 0)
		a->filters = (struct filter_opts){0};
	else if (!pprof_shell_command(s, line, &e) && !pprof_shell_option(s, line, &e))
		cmd_note("unrecognized command: \"%s\"", line);
	fflush(stdout);
	return true;
}

int
pprof_shell(struct pprof_loaded *l, struct err *e)
{
	struct pprof_shell s = {.l = l};
	char *line = NULL;
	size_t room = 0;
	int r = pprof_welcome(l, e);

	if (r < 0)
		return r;
	l->args->compact = true;
	puts("Entering interactive mode (type \"help\" for commands, \"o\" for options)");
	do {
		fputs("(pprof) ", stdout);
		fflush(stdout);
	} while (getline(&line, &room, stdin) >= 0 && pprof_shell_line(&s, line));
	free(line);
	for (size_t i = 0; i < s.kept.len; i++)
		free(s.kept.data[i]);
	vec_done(&s.kept);
	return 0;
}
