/* SPDX-License-Identifier: MIT */
/* peer_heaptrack_print.c -- `seep heaptrack_print`: heaptrack_print's command line.
 *
 * Options are read as that program reads them: long ones may be shortened, a switch takes
 * a word behind it only if that is one of yes and no, and the file may stand anywhere.
 * Files are replaced only if seep wrote them. Besides heaptrack's files it prints any
 * profile that seep reads, recordings of `seep heaptrack` first of all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hp.h"
#include "shared/compiler.h"
#include "tool/compat/compat.h"
#include "tool/session/out_file.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { SUPPRESSIONS_MAX = 16 << 20 };

struct print_args {
	const char *file, *diff, *histogram, *flamegraph, *massif, *cost, *filter,
		*suppressions;
	bool shorten, merge, peaks, allocators, temporary, leaks, print_suppressions,
		no_embedded, no_builtin;
	uint64_t limit, sub_limit, detailed;
	double threshold;
	bool help, version;
};

static const struct print_args print_defaults = {
	.cost = "allocations",
	.filter = "",
	.shorten = true,
	.merge = true,
	.peaks = true,
	.allocators = true,
	.temporary = true,
	.limit = 10,
	.sub_limit = 5,
	.detailed = 2,
	.threshold = 1,
};

#define AT(member) .at = offsetof(struct print_args, member)

static const struct opt print_opts[] = {
	{"file", 'f', OPT_STRING, AT(file), .metavar = "FILE",
	 .help = "Print this file; the option's name may be left out."},
	{"diff", 'd', OPT_STRING, AT(diff), .metavar = "FILE",
	 .help = "Print what is different from this file."},
	{"shorten-templates", 't', OPT_NONE, AT(shorten),
	 .help = "Leave out what is between the brackets of templates; 0: no (1)."},
	{"merge-backtraces", 'm', OPT_NONE, AT(merge),
	 .help = "Print places, each with its stacks; 0: stacks (1)."},
	{"print-peaks", 'p', OPT_NONE, AT(peaks),
	 .help = "Print what was live at the peak; 0: no (1)."},
	{"print-allocators", 'a', OPT_NONE, AT(allocators),
	 .help = "Print what allocated most often; 0: no (1)."},
	{"print-temporary", 'T', OPT_NONE, AT(temporary),
	 .help = "Print what made blocks that were freed at once; 0: no (1)."},
	{"print-leaks", 'l', OPT_NONE, AT(leaks),
	 .help = "Print what was live at the end (0)."},
	{"peak-limit", 'n', OPT_U64, AT(limit), .metavar = "N",
	 .help = "Print at most N places in a section (10)."},
	{"sub-peak-limit", 's', OPT_U64, AT(sub_limit), .metavar = "N",
	 .help = "Print at most N stacks of a place (5)."},
	{"print-histogram", 'H', OPT_STRING, AT(histogram), .metavar = "FILE",
	 .help = "Write sizes of blocks and their numbers to FILE."},
	{"flamegraph-cost-type", 0, OPT_STRING, AT(cost),
	 .metavar = "allocations|temporary|leaked|peak",
	 .help = "Write this figure with --print-flamegraph (allocations)."},
	{"print-flamegraph", 'F', OPT_STRING, AT(flamegraph), .metavar = "FILE",
	 .help = "Write folded stacks to FILE, for flamegraph.pl."},
	{"print-massif", 'M', OPT_STRING, AT(massif), .metavar = "FILE",
	 .help = "Write memory over time to FILE, for ms_print."},
	{"massif-threshold", 0, OPT_FLOAT, AT(threshold), .metavar = "PERCENT",
	 .help = "Sum up smaller parts in massif's trees (1)."},
	{"massif-detailed-freq", 0, OPT_U64, AT(detailed), .metavar = "N",
	 .help = "Write a tree for every Nth snapshot; 0: none (2)."},
	{"filter-bt-function", 0, OPT_STRING, AT(filter), .metavar = "TEXT",
	 .help = "Print only stacks with a function whose name has TEXT in it."},
	{"suppressions", 0, OPT_STRING, AT(suppressions), .metavar = "FILE",
	 .help = "Hide the leaks that FILE names, in lines of leak:PATTERN."},
	{"disable-embedded-suppressions", 0, OPT_NONE, AT(no_embedded),
	 .help = "Ignore the suppressions that the program brings along."},
	{"disable-builtin-suppressions", 0, OPT_NONE, AT(no_builtin),
	 .help = "Do not hide known leaks of libc, the loader and glib."},
	{"print-suppressions", 0, OPT_NONE, AT(print_suppressions),
	 .help = "Print what the suppressions have hidden (0)."},
	{"version", 'v', OPT_NONE, AT(version), .help = "Print seep's version."},
	{"help", 'h', OPT_NONE, AT(help), .help = NULL},
	{0},
};

/* Functions whose memory is kept until the end in any program. */
static const char *const print_builtin[] = {
	"__nss_module_allocate", "__gconv_read_conf",  "__new_exitfn",	"tzset_internal",
	"dl_open_worker",	 "g_main_context_new", "g_thread_self",
};

/* ---- the command line ---- */

/* The option with this name, or the only one that begins with it. */
static const struct opt *
print_find(const char *name, size_t n, struct err *e)
{
	const struct opt *found = NULL;
	unsigned many = 0;

	for (const struct opt *o = print_opts; o->name != NULL; o++) {
		if (strncmp(o->name, name, n) != 0)
			continue;
		if (o->name[n] == '\0')
			return o;
		found = o;
		many++;
	}
	if (many != 1 || n == 0)
		err_set(e, -EINVAL, "--%.*s: %s option", (int)n, name,
			many > 1 ? "ambiguous" : "unknown");
	return many == 1 && n > 0 ? found : NULL;
}

static bool
print_is_bool(const char *word, bool *ret)
{
	static const char *const words[] = {"0",   "1",	 "no",	  "yes",
					    "off", "on", "false", "true"};

	for (size_t i = 0; word != NULL && i < ARRAY_LEN(words); i++) {
		if (strcasecmp(word, words[i]) == 0) {
			*ret = i % 2 == 1;
			return true;
		}
	}
	return false;
}

/* Sets one option; `value` is NULL when none stands behind it in the same word, then it
 * may be `next`: *ret_took. */
static int
print_set(struct print_args *a, const struct opt *o, const char *value, char *next,
	  bool *ret_took, struct err *e)
{
	char *words[3] = {NULL, NULL, NULL};
	bool on = true;
	int at = 0, r;

	*ret_took = false;
	if (o->kind == OPT_NONE) {
		if (value != NULL && !print_is_bool(value, &on))
			return err_set(e, -EINVAL, "--%s: \"%s\" is neither 0 nor 1",
				       o->name, value);
		if (value == NULL)
			*ret_took = print_is_bool(next, &on);
		*(bool *)((char *)a + o->at) = on;
		return 0;
	}
	if (value == NULL && next == NULL)
		return err_set(e, -EINVAL, "--%s: needs a value", o->name);
	*ret_took = value == NULL;
	words[0] = xasprintf("--%s=%s", o->name, value != NULL ? value : next);
	r = opt_parse(print_opts, 1, words, &at, a, e);
	/* Texts are borrowed. */
	if (r == 0 && o->kind == OPT_STRING)
		*(const char **)(void *)((char *)a + o->at) =
			value != NULL ? value : next;
	free(words[0]);
	return r;
}

static int
print_file_word(struct print_args *a, const char *word, struct err *e)
{
	if (a->file != NULL)
		return err_set(e, -EINVAL, "one file to print, not %s and %s", a->file,
			       word);
	a->file = word;
	return 0;
}

static int
print_word(struct print_args *a, char *word, char *next, bool *ret_took, struct err *e)
{
	const struct opt *o = NULL;
	const char *value;

	*ret_took = false;
	if (word[0] != '-' || word[1] == '\0')
		return print_file_word(a, word, e);
	if (word[1] == '-') {
		value = strchr(word, '=');
		o = print_find(
			word + 2,
			value != NULL ? (size_t)(value - word - 2) : strlen(word + 2), e);
		if (o == NULL)
			return e->code;
		return print_set(a, o, value != NULL ? value + 1 : NULL, next, ret_took,
				 e);
	}
	for (o = print_opts; o->name != NULL && o->short_name != word[1]; o++)
		;
	if (o->name == NULL)
		return err_set(e, -EINVAL, "-%c: unknown option", word[1]);
	return print_set(a, o, word[2] != '\0' ? word + 2 : NULL, next, ret_took, e);
}

static int
print_read_words(struct print_args *a, int argc, char **argv, struct err *e)
{
	bool only_files = false, took;
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++) {
		if (only_files) {
			r = print_file_word(a, argv[i], e);
		} else if (strcmp(argv[i], "--") == 0) {
			only_files = true;
		} else {
			r = print_word(a, argv[i], argv[i + 1], &took, e);
			i += took;
		}
	}
	return r;
}

static int
print_figure(const char *name, enum hp_figure *ret, struct err *e)
{
	static const char *const names[] = {
		[HP_ALLOCATIONS] = "allocations",
		[HP_TEMPORARY] = "temporary",
		[HP_LEAKED] = "leaked",
		[HP_PEAK] = "peak",
	};

	for (unsigned i = 0; i < HP_FIGURES; i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		       "--flamegraph-cost-type: allocations, temporary, leaked or peak, "
		       "not %s",
		       name);
}

/* Nothing is read before it is sure that the files can be written. */
static int
print_check_outputs(const struct print_args *a, struct err *e)
{
	const char *const paths[] = {a->histogram, a->flamegraph, a->massif};
	static const char *const formats[] = {"histogram", "folded", "massif"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(paths); i++) {
		if (paths[i] == NULL)
			continue;
		r = out_check(paths[i], formats[i], e);
		if (r == 0)
			r = file_out_check(paths[i], e);
	}
	return r;
}

/* ---- what is printed ---- */

static int
print_suppressions_of(struct hp *p, const struct print_args *a, struct err *e)
{
	struct buf text = {0};
	char *at, *end;
	int r = 0;

	for (size_t i = 0; !a->no_builtin && i < ARRAY_LEN(print_builtin); i++)
		vec_push(&p->suppressions,
			 (struct hp_suppression){.pattern = xstrdup(print_builtin[i])});
	if (a->suppressions != NULL)
		r = file_read(a->suppressions, SUPPRESSIONS_MAX, &text, e);
	at = r == 0 && text.len > 0 ? buf_room(&text, 1) - text.len : NULL;
	if (at != NULL)
		at[text.len] = '\0';
	for (unsigned line = 1; at != NULL; at = end, line++) {
		end = strchr(at, '\n');
		if (end != NULL)
			*end++ = '\0';
		if (!hp_suppress_line(p, at))
			cmd_note("%s:%u: not a line of leak:PATTERN; ignored",
				 a->suppressions, line);
	}
	for (size_t i = 0; !a->no_embedded && i < p->h.suppressions.len; i++)
		hp_suppress_line(p, strtab_str(&p->h.texts, p->h.suppressions.data[i]));
	buf_done(&text);
	return r;
}

static void
print_flush(struct hp *p)
{
	fwrite(buf_str(&p->out), 1, p->out.len, stdout);
	buf_clear(&p->out);
}

static void
print_said(const struct hp *p)
{
	const char *command = strtab_str(&p->h.texts, p->h.command);

	if (*command != '\0')
		printf("Debuggee command was: %s\n", command);
}

static void
print_sections(struct hp *p, const struct print_args *a)
{
	printf("finished reading file, now analyzing data:\n\n");
	if (a->allocators)
		hp_print_section(p, HP_ALLOCATIONS);
	if (a->peaks)
		hp_print_section(p, HP_PEAK);
	if (a->leaks)
		hp_print_section(p, HP_LEAKED);
	if (a->temporary)
		hp_print_section(p, HP_TEMPORARY);
	hp_print_totals(p, a->print_suppressions);
	print_flush(p);
}

static int
print_files(struct hp *p, const struct print_args *a, enum hp_figure cost,
	    struct hp_massif *m, struct err *e)
{
	int r = 0;

	if (a->histogram != NULL) {
		hp_histogram(p);
		r = file_write(a->histogram, p->out.data, p->out.len, e);
		buf_clear(&p->out);
	}
	if (r == 0 && a->flamegraph != NULL) {
		hp_flamegraph(p, cost);
		r = file_write(a->flamegraph, p->out.data, p->out.len, e);
		buf_clear(&p->out);
	}
	if (r == 0 && a->massif != NULL)
		r = file_write(a->massif, m->out.data, m->out.len, e);
	return r;
}

static int
print_all(struct hp *p, struct print_args *a, enum hp_figure cost, struct hp_massif *m,
	  struct err *e)
{
	struct buf lost = {0};
	struct ht base = {0};
	int r;

	printf("reading file \"%s\" - please wait, this might take some time...\n",
	       a->file);
	if (a->diff != NULL)
		printf("reading diff file \"%s\" - please wait, this might take some "
		       "time...\n",
		       a->diff);
	r = hp_read(&p->h, a->file, &lost, e);
	if (r == 0 && a->massif != NULL && m->snapshots == 0)
		hp_massif_points(m, &p->h);
	if (r == 0 && a->diff != NULL)
		r = hp_read(&base, a->diff, &lost, e);
	if (r == 0 && a->histogram != NULL && p->h.kinds.len == 0 &&
	    p->h.total.allocs > 0)
		r = err_set(
			e, -ENODATA,
			"%s: --print-histogram needs a file of heaptrack; for sizes of a "
			"recording: seep report %s",
			a->file, a->file);
	if (r == 0) {
		print_said(p);
		hp_figures(p);
		if (a->diff != NULL) {
			struct hp other = {.h = base};

			print_said(&other);
			hp_subtract(p, &base);
		}
		r = print_suppressions_of(p, a, e);
	}
	if (r == 0) {
		hp_suppress(p);
		hp_merge(p);
		print_sections(p, a);
		r = print_files(p, a, cost, m, e);
	}
	fflush(stdout);
	if (lost.len > 0)
		cmd_note("%.*s", (int)lost.len - 1, buf_str(&lost));
	ht_done(&base);
	buf_done(&lost);
	return r;
}

static int
print_run(void *opts, int argc, char **argv)
{
	struct print_args a = print_defaults;
	struct hp_massif m = {0};
	struct hp p = {0};
	enum hp_figure cost = HP_ALLOCATIONS;
	struct err e = {0};
	int r;

	(void)opts;
	r = print_read_words(&a, argc, argv, &e);
	if (r == 0 && a.help)
		return cmd_help(&cmd_heaptrack_print);
	if (r == 0 && a.version)
		return cmd_version();
	if (r == 0)
		r = print_figure(a.cost, &cost, &e);
	if (r < 0)
		return cmd_usage(&cmd_heaptrack_print, "%s", e.msg);
	if (a.file == NULL)
		return cmd_usage(&cmd_heaptrack_print, "no file given");
	if (*a.file == '\0' || (a.diff != NULL && *a.diff == '\0'))
		return cmd_empty_word(&cmd_heaptrack_print);
	if (print_check_outputs(&a, &e) < 0)
		return cmd_fail_output(&e);
	p.filter = a.filter;
	p.limit = a.limit;
	p.sub_limit = a.sub_limit;
	p.shorten = a.shorten;
	p.merge = a.merge;
	m.threshold = a.threshold;
	m.detailed = a.detailed;
	if (a.massif != NULL) {
		p.h.stamp = hp_massif_stamp;
		p.h.ctx = &m;
	}
	r = print_all(&p, &a, cost, &m, &e);
	hp_done(&p);
	buf_done(&m.out);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_heaptrack_print = {
	.name = "heaptrack_print",
	.args = "FILE",
	.help = "print a file of heaptrack, or any profile, as it does",
	.man = "seep-heaptrack_print",
	.opts = print_opts,
	.min_args = 1,
	.max_args = 1,
	.own_options = true,
	.run = print_run,
};
