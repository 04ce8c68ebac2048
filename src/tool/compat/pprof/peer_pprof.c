/* SPDX-License-Identifier: MIT */
/* peer_pprof.c -- `seep pprof [OPTIONS] [PROGRAM] PROFILE...`: google/pprof, as Go's
 * toolchain has it too, option by option.
 *
 * Options have one dash or two. Several profiles are added up. What needs a viewer or a
 * disassembler is refused with a line that says what seep has instead. */
#include "tool/compat/pprof/peer_pprof.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/sites/value.h"
#include "tool/compat/compat.h"
#include "tool/compat/peer_opts.h"
#include "tool/compat/pprof/peer_pprof_names.h"
#include "tool/format/format.h"
#include "tool/session/run/save.h"
#include "tool/util/x.h"

static const struct pprof_args pprof_defaults = {.trim = true,
						 .unit = "minimum",
						 .nodes = -1,
						 .node_fraction = 0.005,
						 .edge_fraction = 0.001,
						 .divide_by = 1};

#define AT(member) .at = offsetof(struct pprof_args, member)

/* ---- options ---- */

static int
pprof_set_what(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct pprof_args *a = to;
	static const struct {
		const char *name;
		enum pprof_what what;
	} rows[] = {
		{"top", PPROF_TOP},
		{"text", PPROF_TOP},
		{"tree", PPROF_TREE},
		{"peek", PPROF_PEEK},
		{"list", PPROF_LIST},
		{"traces", PPROF_TRACES},
		{"tags", PPROF_TAGS},
		{"comments", PPROF_COMMENTS},
		{"raw", PPROF_RAW},
		{"proto", PPROF_PROTO},
		{"callgrind", PPROF_CALLGRIND},
		{"dot", PPROF_DOT},
		{"svg", PPROF_DOT},
		{"png", PPROF_DOT},
		{"gif", PPROF_DOT},
		{"pdf", PPROF_DOT},
		{"ps", PPROF_DOT},
	};
	size_t i = 0;

	if (v->text != NULL && o->kind == OPT_NONE)
		return 0; /* -top=false */
	if (a->what != PPROF_NOTHING)
		return err_set(e, -EINVAL, "-%s: must set at most one output format",
			       o->name);
	while (strcmp(rows[i].name, o->name) != 0)
		i++;
	a->what = rows[i].what;
	a->pattern = v->text;
	a->picture = a->what == PPROF_DOT && strcmp(o->name, "dot") != 0 ? o->name : NULL;
	return 0;
}

static int
pprof_set_grain(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct pprof_args *a = to;
	static const char *const names[] = {
		[GRAPH_FUNCTIONS] = "functions", [GRAPH_FILEFUNCTIONS] = "filefunctions",
		[GRAPH_FILES] = "files",	 [GRAPH_LINES] = "lines",
		[GRAPH_ADDRESSES] = "addresses",
	};
	unsigned i = 0;

	(void)e;
	if (v->text != NULL)
		return 0;
	while (strcmp(names[i], o->name) != 0)
		i++;
	a->grain = i;
	a->grain_given = true;
	return 0;
}

static int
pprof_set_index(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct pprof_args *a = to;
	(void)e;
	if (v->text == NULL)
		a->index = o->name;
	return 0;
}

static int
pprof_set_filter(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct pprof_args *a = to;
	unsigned i = 0;

	(void)e;
	while (strcmp(filter_names[i], o->name) != 0)
		i++;
	a->filters.of[i] = v->text[0] != '\0' ? v->text : NULL;
	return 0;
}

static int
pprof_set_nodes(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct pprof_args *a = to;
	char *end;
	long long n = strtoll(v->text, &end, 10);

	if (end == v->text || *end != '\0')
		return err_set(e, -EINVAL, "-%s: \"%s\" is not a number", o->name,
			       v->text);
	a->nodes = n;
	return 0;
}

static int
pprof_refuse(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	(void)to, (void)v;
	if (strcmp(o->name, "disasm") == 0 || strcmp(o->name, "weblist") == 0)
		return err_set(e, -ENOTSUP, "-%s: seep does not disassemble; see -list",
			       o->name);
	if (strcmp(o->name, "mean") == 0 || strcmp(o->name, "topproto") == 0)
		return err_set(e, -ENOTSUP, "-%s is not supported", o->name);
	return err_set(e, -ENOTSUP,
		       "-%s: seep opens no viewer; write -svg to a file and open that",
		       o->name);
}

#define WHAT(n, h)                                                                       \
	{                                                                                \
		n, 0, OPT_NONE, .set = pprof_set_what, .help = h                         \
	}
#define FILTER(n, m, h)                                                                  \
	{                                                                                \
		n, 0, OPT_STRING, .set = pprof_set_filter, .metavar = m, .help = h       \
	}
#define REFUSED(n)                                                                       \
	{                                                                                \
		n, 0, OPT_NONE, .set = pprof_refuse                                      \
	}

const struct opt pprof_opts_table[] = {
	WHAT("top", "Print a table of functions."),
	WHAT("text", "The same as --top."),
	WHAT("tree", "Print functions with callers and callees."),
	{"peek", 0, OPT_STRING, .set = pprof_set_what, .metavar = "RE",
	 .help = "Print callers and callees of functions that match RE, untrimmed."},
	{"list", 0, OPT_STRING, .set = pprof_set_what, .metavar = "RE",
	 .help = "Print the source of functions that match RE, with figures per "
		 "line."},
	WHAT("traces", "Print every sample."),
	WHAT("tags", "Print the figures of each label."),
	WHAT("comments", "Print the profile's comments."),
	WHAT("raw", "Print the whole profile as text."),
	WHAT("proto", "Write the profile as compressed protobuf."),
	WHAT("callgrind", "Print calls in callgrind's format."),
	WHAT("dot", "Print the graph for graphviz's dot."),
	WHAT("svg", "Draw the graph as SVG."),
	WHAT("png", "Draw the graph as PNG."),
	WHAT("gif", "Draw the graph as GIF."),
	WHAT("pdf", "Draw the graph as PDF."),
	WHAT("ps", "Draw the graph as PostScript."),
	{"output", 0, OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Write to FILE instead of standard output."},
	{"functions", 0, OPT_NONE, .set = pprof_set_grain, .help = "Add up by function."},
	{"filefunctions", 0, OPT_NONE, .set = pprof_set_grain,
	 .help = "Add up by function and file."},
	{"files", 0, OPT_NONE, .set = pprof_set_grain, .help = "Add up by file."},
	{"lines", 0, OPT_NONE, .set = pprof_set_grain, .help = "Add up by source line."},
	{"addresses", 0, OPT_NONE, .set = pprof_set_grain, .help = "Add up by address."},
	{"noinlines", 0, OPT_NONE, AT(no_inlines),
	 .help = "Count inlined functions as part of their callers."},
	{"sample_index", 0, OPT_STRING, AT(index), .metavar = "NAME|N",
	 .help = "Count inuse_space, inuse_objects, alloc_space or alloc_objects."},
	{"inuse_space", 0, OPT_NONE, .set = pprof_set_index, .help = "Count live bytes."},
	{"inuse_objects", 0, OPT_NONE, .set = pprof_set_index,
	 .help = "Count live blocks."},
	{"alloc_space", 0, OPT_NONE, .set = pprof_set_index,
	 .help = "Count all bytes allocated."},
	{"alloc_objects", 0, OPT_NONE, .set = pprof_set_index,
	 .help = "Count all blocks allocated."},
	FILTER("focus", "RE",
	       "Keep only stacks with a function, file or module that matches RE."),
	FILTER("ignore", "RE", "Remove stacks with a function or file that matches RE."),
	FILTER("hide", "RE", "Remove frames that match RE."),
	FILTER("show", "RE", "Keep only frames that match RE."),
	FILTER("show_from", "RE",
	       "Remove the callers of the outermost frame that matches RE."),
	FILTER("prune_from", "RE",
	       "Remove the callees of the innermost frame that matches RE."),
	FILTER("tagfocus", "TAG", "Keep only samples with the label TAG."),
	FILTER("tagignore", "TAG", "Remove samples with the label TAG."),
	FILTER("tagshow", "RE", "Keep only labels whose name matches RE."),
	FILTER("taghide", "RE", "Remove labels whose name matches RE."),
	{"tagroot", 0, OPT_STRING, AT(tagroot), .metavar = "KEYS",
	 .help = "Add the labels KEYS to stacks as outermost frames."},
	{"tagleaf", 0, OPT_STRING, AT(tagleaf), .metavar = "KEYS",
	 .help = "Add the labels KEYS to stacks as innermost frames."},
	{"cum", 0, OPT_NONE, AT(cum), .help = "Sort by cumulative figures."},
	{"nodecount", 0, OPT_STRING, .set = pprof_set_nodes, .metavar = "N",
	 .help = "Print at most N nodes (graphs 80, tables all)."},
	{"nodefraction", 0, OPT_FLOAT, AT(node_fraction), .metavar = "F",
	 .help = "Drop nodes below the fraction F of the total (0.005)."},
	{"edgefraction", 0, OPT_FLOAT, AT(edge_fraction), .metavar = "F",
	 .help = "Drop edges below the fraction F of the total (0.001)."},
	{"trim", 0, OPT_NONE, AT(trim),
	 .help = "Apply --nodecount, --nodefraction and --edgefraction (the "
		 "default)."},
	{"base", 0, OPT_STRING, AT(base), .metavar = "FILE", .help = "Subtract FILE."},
	{"diff_base", 0, OPT_STRING, AT(diff_base), .metavar = "FILE",
	 .help = "Subtract FILE, and print percentages of FILE's total."},
	{"normalize", 0, OPT_NONE, AT(normalize),
	 .help = "Scale the profile to the total of --base first."},
	{"drop_negative", 0, OPT_NONE, AT(drop_negative),
	 .help = "Omit rows that shrank."},
	{"relative_percentages", 0, OPT_NONE, AT(relative),
	 .help = "Print percentages of the filtered total."},
	{"unit", 0, OPT_STRING, AT(unit), .metavar = "UNIT",
	 .help = "Print figures in this unit: minimum, auto, B, kB, MB or GB."},
	{"divide_by", 0, OPT_FLOAT, AT(divide_by), .metavar = "N",
	 .help = "Divide all figures by N."},
	{"compact_labels", 0, OPT_NONE, AT(compact),
	 .help = "Print tables without the lines about the profile."},
	{"all_frames", 0, OPT_NONE, AT(all_frames),
	 .help = "Keep the frames that the profile itself asks to drop."},
	{"seconds", 0, OPT_U64, AT(seconds), .metavar = "N",
	 .help = "With a URL: request a profile of N seconds."},
	{"http", 0, OPT_STRING, AT(http), .metavar = "[HOST]:[PORT]",
	 .help = "Serve a page with table, flame graph, tree and source."},
	{"no_browser", 0, OPT_NONE, .set = opt_ignore,
	 .help = "Accepted: seep never opens a browser."},
	{"help", 0, OPT_NONE, AT(help), .help = "Print this help."},
	{"version", 0, OPT_NONE, AT(version), .help = "Print the version."},
	/* Accepted, for they change nothing here. */
	{"flat", 0, OPT_NONE, .set = opt_ignore},
	{"call_tree", 0, OPT_NONE, .set = opt_ignore},
	{"symbolize", 0, OPT_STRING, .set = opt_ignore},
	{"tools", 0, OPT_STRING, .set = opt_ignore},
	{"timeout", 0, OPT_STRING, .set = opt_ignore},
	{"buildid", 0, OPT_STRING, .set = opt_ignore},
	{"source_path", 0, OPT_STRING, .set = opt_ignore},
	{"trim_path", 0, OPT_STRING, .set = opt_ignore},
	{"add_comment", 0, OPT_STRING, .set = opt_ignore},
	REFUSED("web"),
	REFUSED("gv"),
	REFUSED("evince"),
	REFUSED("eog"),
	REFUSED("kcachegrind"),
	REFUSED("mean"),
	REFUSED("topproto"),
	{"disasm", 0, OPT_STRING, .set = pprof_refuse},
	{"weblist", 0, OPT_STRING, .set = pprof_refuse},
	{0},
};

/* ---- profiles ---- */

/* What no file is called is a server: "localhost:6060/debug/pprof/heap". To be freed. */
static char *
pprof_source_of(const struct pprof_args *a, const char *word)
{
	const char *colon = strchr(word, ':');
	char *url;

	if (access(word, F_OK) == 0 || colon == NULL)
		return xstrdup(word);
	url = strncmp(colon, "://", 3) == 0 ? xstrdup(word)
					    : xasprintf("http://%s", word);
	if (a->seconds > 0) {
		char *more = xasprintf("%s%cseconds=%llu", url,
				       strchr(url, '?') != NULL ? '&' : '?',
				       (unsigned long long)a->seconds);

		free(url);
		url = more;
	}
	return url;
}

static int
pprof_load_one(const char *word, const struct pprof_loaded *l, struct prof **ret,
	       struct err *e)
{
	struct format_opts o = {.exe = l->exe};
	char *source = pprof_source_of(l->args, word);
	int r;

	save_rest_of(source);
	r = format_load_with(source, &o, ret, e);

	if (r == 0) {
		struct pprof_given given;

		pprof_given_init(&given, *ret);
		names_resolve(*ret, &l->names);
		pprof_names(*ret, &given);
	}
	free(source);
	return r;
}

static int
pprof_load_words(const struct peer_words *words, struct pprof_loaded *l, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < words->len && r == 0; i++) {
		struct prof *p = NULL;

		if (l->exe != NULL && words->data[i] == l->exe)
			continue;
		r = pprof_load_one(words->data[i], l, &p, e);
		if (r == 0 && l->p == NULL) {
			l->p = TAKE(p);
			l->source = xstrdup(words->data[i]);
		} else if (r == 0) {
			prof_merge(l->p, p);
		}
		prof_free(p);
	}
	if (l->p != NULL)
		pprof_merge_samples(l->p);
	if (r == 0 && l->p == NULL)
		return err_set(e, -EINVAL, "no profile was named");
	return r;
}

/* Scales one column to the base's sum. */
static double
pprof_scale_of(double base, double now)
{
	return now != 0 ? base / now : 1;
}

static void
pprof_normalize(struct prof *p, const struct prof *base)
{
	double now[4] = {0}, was[4] = {0};

	for (unsigned side = 0; side < 2; side++) {
		const struct prof *of = side == 0 ? p : base;
		double *sum = side == 0 ? now : was;

		for (uint32_t i = 1; i < of->nsites; i++) {
			sum[0] += (double)of->sites[i].live_blocks;
			sum[1] += (double)of->sites[i].live_bytes;
			sum[2] += (double)of->sites[i].allocs;
			sum[3] += (double)of->sites[i].alloc_bytes;
		}
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];

		s->live_blocks =
			llround((double)s->live_blocks * pprof_scale_of(was[0], now[0]));
		s->live_bytes =
			llround((double)s->live_bytes * pprof_scale_of(was[1], now[1]));
		s->allocs = (uint64_t)llround((double)s->allocs *
					      pprof_scale_of(was[2], now[2]));
		s->alloc_bytes = (uint64_t)llround((double)s->alloc_bytes *
						   pprof_scale_of(was[3], now[3]));
	}
}

static int
pprof_load(const struct peer_words *words, struct pprof_loaded *l, struct err *e)
{
	const char *base = l->args->base != NULL ? l->args->base : l->args->diff_base;
	int r;

	l->names.no_source = l->args->http == NULL; /* the page has it inside */
	for (size_t i = 0; i < words->len && l->exe == NULL; i++) {
		if (format_is_program(words->data[i]))
			l->exe = words->data[i];
	}
	l->names.exe = l->exe;
	r = pprof_load_words(words, l, e);
	if (r == 0 && base != NULL)
		r = pprof_load_one(base, l, &l->base, e);
	if (r < 0 || base == NULL)
		return r;
	if (l->args->normalize)
		pprof_normalize(l->p, l->base);
	l->both = prof_new();
	prof_merge(l->both, l->p);
	l->nsites = l->both->nsites;
	prof_merge(l->both, l->base);
	return 0;
}

static void
pprof_loaded_done(struct pprof_loaded *l)
{
	prof_free(l->p);
	prof_free(l->base);
	prof_free(l->both);
	free(l->source);
}

/* ---- the command ---- */

static int
pprof_all(struct pprof_args *a, const struct peer_words *words, struct err *e)
{
	struct pprof_loaded l = {.args = a};
	int r;

	if (a->base != NULL && a->diff_base != NULL)
		return err_set(e, -EINVAL,
			       "-base and -diff_base flags cannot both be specified");
	if (a->normalize && a->base == NULL && a->diff_base == NULL)
		return err_set(e, -EINVAL, "-normalize needs -base or -diff_base");
	if (a->http != NULL && a->what != PPROF_NOTHING)
		return err_set(e, -EINVAL,
			       "-http is not compatible with an output format on the "
			       "command line");
	if (words->len == 0)
		return err_set(e, -EINVAL, "no profile source specified");
	r = pprof_load(words, &l, e);
	if (r == 0 && a->http != NULL)
		r = pprof_http(&l, e);
	else if (r == 0 && a->what == PPROF_NOTHING)
		r = pprof_shell(&l, e);
	else if (r == 0)
		r = pprof_report(&l, e);
	pprof_loaded_done(&l);
	return r;
}

static int
pprof_run(void *opts, int argc, char **argv)
{
	struct pprof_args *a = opts;
	struct peer_words words = {0};
	struct err e = {0};
	int r = peer_opts(PEER_GO, pprof_opts_table, argc, argv, a, &words, &e);
	int status;

	if (r == 0 && (a->help || a->version)) {
		status = a->help ? cmd_help(&cmd_pprof) : cmd_version();
	} else {
		if (r == 0)
			r = pprof_all(a, &words, &e);
		status = r == -EINVAL || r == -ENOTSUP
				 ? cmd_usage(&cmd_pprof, "%s", e.msg)
			 : r < 0 ? cmd_fail(&e)
				 : CMD_OK;
	}
	vec_done(&words);
	return status;
}

const struct cmd cmd_pprof = {
	.name = "pprof",
	.args = "[PROGRAM] PROFILE...",
	.help = "print heap profiles as google/pprof does",
	.man = "seep-pprof",
	.opts = pprof_opts_table,
	.opts_bytes = sizeof(struct pprof_args),
	.defaults = &pprof_defaults,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = pprof_run,
};
