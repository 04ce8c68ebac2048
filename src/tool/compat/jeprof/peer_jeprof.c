/* SPDX-License-Identifier: MIT */
/* peer_jeprof.c -- `seep jeprof [OPTIONS] PROGRAM PROFILE...`: what jeprof and the old pprof of
 * gperftools print, option by option.
 *
 * Under the name google-pprof it follows that one where the two differ. Unlike both it matches
 * stacks of a base by module and offset, says which profiles look like snapshots of one process
 * before it adds them up, and is never silently empty. It opens no viewer and disassembles
 * nothing: these options are refused with a line that says what does it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/compat/compat.h"
#include "tool/compat/jeprof/peer_jeprof.h"
#include "tool/compat/peer_opts.h"
#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/session/graphviz.h"
#include "tool/session/names/names.h"
#include "tool/session/names/source.h"
#include "tool/session/run/save.h"
#include "tool/sym/demangle.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

#define JEPROF_NODES 80
#define JEPROF_DEGREE 8

struct jeprof_args jeprof_args = {.node_fraction = 0.005,
				  .edge_fraction = 0.001,
				  .nodes = JEPROF_NODES,
				  .degree = JEPROF_DEGREE};

#define JP jeprof_args

static const struct opt jeprof_opts[] = {
	{"text", 0, OPT_NONE, .to = &JP.text,
	 .help = "Print a table of functions; the default when no terminal reads it."},
	{"collapsed", 0, OPT_NONE, .to = &JP.collapsed,
	 .help = "Print folded stacks, outermost function first."},
	{"list", 0, OPT_STRING, .to = &JP.list, .metavar = "RE",
	 .help = "Print source with figures, of functions that match."},
	{"dot", 0, OPT_NONE, .to = &JP.dot,
	 .help = "Print the graph for graphviz's dot."},
	{"svg", 0, OPT_NONE, .to = &JP.svg, .help = "Print the graph as SVG."},
	{"pdf", 0, OPT_NONE, .to = &JP.pdf, .help = "Print the graph as PDF."},
	{"ps", 0, OPT_NONE, .to = &JP.ps, .help = "Print the graph as PostScript."},
	{"gif", 0, OPT_NONE, .to = &JP.gif, .help = "Print the graph as GIF."},
	{"callgrind", 0, OPT_NONE, .to = &JP.callgrind,
	 .help = "Print calls in callgrind's format."},
	{"raw", 0, OPT_NONE, .to = &JP.raw,
	 .help = "Print the profile with its names, readable without the program."},
	{"symbols", 0, OPT_NONE, .to = &JP.symbols,
	 .help = "Print a name for every address of standard input."},
	{"interactive", 0, OPT_NONE, .to = &JP.interactive,
	 .help = "Ask for commands; the default on a terminal."},
	{"functions", 0, OPT_NONE, .to = &JP.functions, .help = "A row for a function."},
	{"lines", 0, OPT_NONE, .to = &JP.lines, .help = "A row for a source line."},
	{"files", 0, OPT_NONE, .to = &JP.files, .help = "A row for a source file."},
	{"addresses", 0, OPT_NONE, .to = &JP.addresses, .help = "A row for an address."},
	{"inuse_space", 0, OPT_NONE, .to = &JP.index[PEER_INUSE_SPACE],
	 .help = "Count live memory: the default."},
	{"inuse_objects", 0, OPT_NONE, .to = &JP.index[PEER_INUSE_OBJECTS],
	 .help = "Count live blocks."},
	{"alloc_space", 0, OPT_NONE, .to = &JP.index[PEER_ALLOC_SPACE],
	 .help = "Count all memory allocated so far."},
	{"alloc_objects", 0, OPT_NONE, .to = &JP.index[PEER_ALLOC_OBJECTS],
	 .help = "Count all blocks allocated so far."},
	{"show_bytes", 0, OPT_NONE, .to = &JP.show_bytes,
	 .help = "Print bytes instead of MB of 1024 KB."},
	{"drop_negative", 0, OPT_NONE, .to = &JP.drop_negative,
	 .help = "With --base, leave out what shrank."},
	{"base", 0, OPT_STRING, .to = &JP.base, .metavar = "FILE",
	 .help = "Take this profile off the others."},
	{"cum", 0, OPT_NONE, .to = &JP.cum,
	 .help = "Order the table by cumulative figures."},
	{"nodecount", 0, OPT_U64, .to = &JP.nodes, .metavar = "N",
	 .help = "Nodes of a graph at most (80)."},
	{"nodefraction", 0, OPT_FLOAT, .to = &JP.node_fraction, .metavar = "F",
	 .help = "Leave out nodes below F of the total (.005)."},
	{"edgefraction", 0, OPT_FLOAT, .to = &JP.edge_fraction, .metavar = "F",
	 .help = "Leave out edges below F of the total (.001)."},
	{"maxdegree", 0, OPT_U64, .to = &JP.degree, .metavar = "N",
	 .help = "Edges in and out of a node at most (8)."},
	{"focus", 0, OPT_STRING, .to = &JP.focus, .metavar = "RE",
	 .help = "Only stacks with a function or file that matches."},
	{"ignore", 0, OPT_STRING, .to = &JP.ignore, .metavar = "RE",
	 .help = "Only stacks without one."},
	{"retain", 0, OPT_STRING, .to = &JP.retain, .metavar = "RE",
	 .help = "Keep only frames of functions that match."},
	{"exclude", 0, OPT_STRING, .to = &JP.exclude, .metavar = "RE",
	 .help = "Leave out frames of functions that match."},
	{"thread", 0, OPT_STRING, .to = &JP.thread, .metavar = "N|*",
	 .help = "Report on one thread, or on each, of a jemalloc profile."},
	{"heapcheck", 0, OPT_NONE, .to = &JP.heapcheck,
	 .help = "Grey nodes of a graph that allocate themselves."},
	{"stacks", 0, OPT_NONE, .to = &JP.stacks, .help = "With --text, stacks first."},
	{"show_addresses", 0, OPT_NONE, .to = &JP.show_addresses,
	 .help = "An address behind every name."},
	{"lib_prefix", 0, OPT_STRING, .to = &names_given.sysroot, .metavar = "DIR",
	 .help = "Look for binaries below DIR."},
	{"debug-syms-by-id", 0, OPT_NONE,
	 .help = "Debug files by build-id: always done."},
	{"gv", 0, OPT_NONE, .to = &JP.viewer, .help = "Refused: no viewer is opened."},
	{"evince", 0, OPT_NONE, .to = &JP.viewer,
	 .help = "Refused: no viewer is opened."},
	{"web", 0, OPT_NONE, .to = &JP.viewer, .help = "Refused: no viewer is opened."},
	{"disasm", 0, OPT_STRING, .to = &JP.disasm, .metavar = "RE",
	 .help = "Refused: see --list and --addresses."},
	{"help", 0, OPT_NONE, .to = &JP.help, .help = "Print this."},
	{"version", 0, OPT_NONE, .to = &JP.version, .help = "Print the version."},
	/* Accepted, for they change nothing here. */
	{"add_lib", 0, OPT_STRING, .to = &JP.ignored},
	{"tools", 0, OPT_STRING, .to = &JP.ignored},
	{"scale", 0, OPT_STRING, .to = &JP.ignored},
	{"seconds", 0, OPT_STRING, .to = &JP.ignored},
	{"test_stride", 0, OPT_STRING, .to = &JP.ignored},
	{"no_strip_temp", 0, OPT_NONE, .to = NULL},
	{"no-auto-signal-frm", 0, OPT_NONE, .to = NULL},
	{"debug", 0, OPT_NONE, .to = NULL},
	{"total_delay", 0, OPT_NONE, .to = &JP.locks},
	{"contentions", 0, OPT_NONE, .to = &JP.locks},
	{"mean_delay", 0, OPT_NONE, .to = &JP.locks},
	{"google-pprof", 0, OPT_NONE, .to = &JP.google},
	{0},
};

/* ---- options ---- */

/* How many of these switches are on. */
static unsigned
jeprof_on(const bool *const *of, size_t n)
{
	unsigned on = 0;

	for (size_t i = 0; i < n; i++)
		on += *of[i];
	return on;
}

static int
jeprof_check(struct err *e)
{
	const bool *const grains[] = {&JP.functions, &JP.lines, &JP.files, &JP.addresses};
	const bool *const modes[] = {
		&JP.text, &JP.collapsed, &JP.dot, &JP.svg,     &JP.pdf,	       &JP.ps,
		&JP.gif,  &JP.callgrind, &JP.raw, &JP.symbols, &JP.interactive};
	const bool *const indexes[] = {&JP.index[0], &JP.index[1], &JP.index[2],
				       &JP.index[3]};
	unsigned n = jeprof_on(modes, ARRAY_LEN(modes)) + (JP.list != NULL);

	if (JP.viewer)
		return err_set(
			e, -EINVAL,
			"--gv, --evince and --web open a viewer, which seep does not: "
			"write --svg to a file and open that");
	if (JP.disasm != NULL)
		return err_set(
			e, -EINVAL,
			"--disasm: seep does not disassemble; see --list, --addresses");
	if (JP.locks)
		return err_set(e, -EINVAL, "lock profiles are not read");
	if (jeprof_on(indexes, ARRAY_LEN(indexes)) > 1)
		return err_set(e, -EINVAL, "one of --inuse_* and --alloc_* at a time");
	if (n > 1)
		return err_set(e, -EINVAL, "one kind of output at a time");
	if (jeprof_on(grains, ARRAY_LEN(grains)) > 1)
		return err_set(
			e, -EINVAL,
			"one of --functions, --lines, --files and --addresses at a time");
	if (n == 0)
		*(isatty(STDOUT_FILENO) ? &JP.interactive : &JP.text) = true;
	return 0;
}

enum peer_grain
jeprof_grain(void)
{
	return JP.lines	      ? PEER_LINES
	       : JP.files     ? PEER_FILES
	       : JP.addresses ? PEER_ADDRESSES
			      : PEER_FUNCTIONS;
}

static enum peer_index
jeprof_index(void)
{
	unsigned i = 0;

	while (i < 4 && !JP.index[i])
		i++;
	return i < 4 ? i : PEER_INUSE_SPACE;
}

/* ---- the profiles ---- */

struct jeprof_files {
	const char *program;
	char *const *profiles;
	size_t n;
};

/* The program is the first word, or the first that is one. */
static int
jeprof_split(const struct peer_words *words, struct jeprof_files *ret, struct err *e)
{
	struct jeprof_files f = {.profiles = words->data, .n = words->len};

	if (f.n == 0)
		return err_set(e, -EINVAL,
			       "which program and profile? usage: seep jeprof "
			       "PROGRAM PROFILE...");
	for (size_t i = 0; i < f.n && f.program == NULL; i++) {
		if (!format_is_program(words->data[i]))
			continue;
		f.program = words->data[i];
		memmove(&words->data[1], &words->data[0], i * sizeof *words->data);
		f.profiles = words->data + 1;
		f.n--;
	}
	if (f.n == 0 && !JP.symbols)
		return err_set(e, -EINVAL,
			       "which profile? usage: seep jeprof PROGRAM PROFILE...");
	*ret = f;
	return 0;
}

/* Two files of one process have the same memory map. */
static bool
jeprof_same_map(const struct prof *a, const struct prof *b)
{
	if (a->nranges == 0 || a->nranges != b->nranges)
		return false;
	for (uint32_t i = 0; i < a->nranges; i++) {
		if (a->ranges[i].start != b->ranges[i].start ||
		    a->ranges[i].end != b->ranges[i].end)
			return false;
	}
	return true;
}

static int
jeprof_read(const char *path, const char *program, struct prof **ret, struct err *e)
{
	struct format_opts o = {.exe = program};
	char *source = jeprof_source_of(path);
	int r;

	if (strcmp(source, path) == 0 && !input_is_url(path)) {
		fprintf(stderr, "Using local file %s.\n", path);
		save_rest_of(path);
	} else {
		fprintf(stderr, "Fetching %s.\n", source);
	}
	r = format_load_with(source, &o, ret, e);
	free(source);
	return r;
}

/* Reads and adds up all of them, the base behind the others. *ret_sites: where that begins. */
static int
jeprof_load(const struct jeprof_files *f, struct prof **ret, uint32_t *ret_sites,
	    struct err *e)
{
	struct prof *all = NULL;
	size_t same = 1;
	int r = 0;

	if (f->program != NULL)
		fprintf(stderr, "Using local file %s.\n", f->program);
	for (size_t i = 0; i < f->n && r == 0; i++) {
		struct prof *p = NULL;

		r = jeprof_read(f->profiles[i], f->program, &p, e);
		if (r < 0 && i == 0 && f->n > 1 && f->program == NULL) {
			/* jeprof goes on without a program that it cannot read. */
			cmd_note("%s; going on without it", e->msg);
			r = 0;
		} else if (r == 0 && all == NULL) {
			all = TAKE(p);
		} else if (r == 0) {
			same += jeprof_same_map(all, p);
			prof_merge(all, p);
		}
		prof_free(p);
	}
	if (r == 0 && all == NULL)
		r = err_set(e, -EINVAL, "no profile was named");
	if (same > 1)
		cmd_note(
			"%zu of the profiles have the same memory map, as snapshots of one "
			"process have: their sum counts the same memory several times",
			same);
	if (r == 0)
		*ret_sites = all->nsites;
	if (r == 0 && JP.base != NULL) {
		struct prof *base = NULL;

		r = jeprof_read(JP.base, f->program, &base, e);
		if (r == 0)
			prof_merge(all, base);
		prof_free(base);
	}
	if (r == 0)
		*ret = TAKE(all);
	prof_free(all);
	return r;
}

/* A figure that the file does not have is not 0. */
static int
jeprof_check_index(const struct prof *p, struct err *e)
{
	enum peer_index i = jeprof_index();
	bool alloc = i == PEER_ALLOC_SPACE || i == PEER_ALLOC_OBJECTS;

	if (alloc && (p->columns & PROF_HAS_ALLOCS) == 0)
		return err_set(
			e, -ENODATA,
			"the profile does not count what was allocated and freed again "
			"(jemalloc: prof_accum:true)");
	return 0;
}

/* ---- reports ---- */

static int
jeprof_re(const char *option, const char *pattern, struct re **ret, struct err *e)
{
	if (pattern == NULL || pattern[0] == '\0')
		return 0;
	if (re_new(pattern, ret, e) < 0)
		return err_wrap(e, -EINVAL, "--%s", option);
	return 0;
}

int
jeprof_report_init(struct jeprof_report *r, struct err *e)
{
	struct jeprof_report x = {.unit = {.bytes = JP.show_bytes}};
	enum peer_index i = jeprof_index();
	int status;

	x.unit.objects = i == PEER_INUSE_OBJECTS || i == PEER_ALLOC_OBJECTS;
	status = jeprof_re("focus", JP.focus, &x.focus, e);
	if (status == 0)
		status = jeprof_re("ignore", JP.ignore, &x.ignore, e);
	if (status == 0)
		status = jeprof_re("retain", JP.retain, &x.retain, e);
	if (status == 0)
		status = jeprof_re("exclude", JP.exclude, &x.exclude, e);
	*r = x;
	return status;
}

void
jeprof_report_done(struct jeprof_report *r)
{
	re_free(r->focus);
	re_free(r->ignore);
	re_free(r->retain);
	re_free(r->exclude);
}

void
jeprof_stacks(const struct jeprof_report *r, enum peer_grain grain,
	      struct peer_stacks *ret)
{
	struct peer_opts_stacks o = {.jeprof = !JP.google,
				     .show_addresses = JP.show_addresses,
				     .grain = grain,
				     .focus = r->focus,
				     .ignore = r->ignore,
				     .retain = r->retain,
				     .exclude = r->exclude,
				     .full_name = demangle_full};

	peer_stacks_init(ret, r->p, r->values, &o);
}

static int
jeprof_print(struct jeprof_report *r, const char *thread, struct err *e)
{
	struct peer_stacks s;
	struct buf out = {0};
	int status = 0;

	if (JP.list != NULL)
		return jeprof_list(r, JP.list, e);
	jeprof_stacks(r, jeprof_grain(), &s);
	if (JP.text) {
		peer_total(&out, &s, &r->unit, thread);
		if (JP.stacks)
			peer_stack_list(&out, &s);
		peer_text(&out, &s, &r->unit, JP.cum, -1);
		if (s.total == 0)
			cmd_note("nothing to show: the total is 0");
	} else if (JP.collapsed) {
		peer_collapsed(&out, &s);
	} else if (JP.callgrind) {
		peer_callgrind(&out, &s);
	} else if (JP.raw) {
		status = jeprof_raw(r, &s, &out, e);
	} else {
		status = jeprof_graph(r, &s, &out, e);
	}
	if (status == 0)
		fwrite(buf_str(&out), 1, out.len, stdout);
	buf_done(&out);
	peer_stacks_done(&s);
	return status;
}

/* One report, or one for each thread that was asked for. */
static int
jeprof_print_all(struct jeprof_report *r, uint32_t nsites, struct err *e)
{
	char *end;
	unsigned long want = JP.thread != NULL ? strtoul(JP.thread, &end, 10) : 0;
	bool all = JP.thread != NULL && strcmp(JP.thread, "*") == 0;
	unsigned met = 0;
	int status = 0;

	if (JP.thread == NULL) {
		r->values = peer_values(r->p, nsites, jeprof_index(), JP.drop_negative);
		status = jeprof_print(r, NULL, e);
		free(r->values);
		return status;
	}
	for (uint32_t i = 1; i < r->p->nthreads && status == 0; i++) {
		const struct prof_thread *t = &r->p->threads[i];
		char number[16];

		if (!all && (*end != '\0' || t->serial != want))
			continue;
		met++;
		snprintf(number, sizeof number, "%u", t->serial);
		r->values = peer_thread_values(r->p, i, jeprof_index());
		status = jeprof_print(r, number, e);
		free(r->values);
	}
	if (status == 0 && met == 0)
		return err_set(
			e, -ENOENT,
			r->p->nthreads <= 1
				? "--thread %s: the profile does not tell threads apart"
				: "--thread %s: no such thread in the profile",
			JP.thread);
	return status;
}

static int
jeprof_all(const struct peer_words *words, struct err *e)
{
	struct jeprof_files f = {0};
	struct jeprof_report r = {0};
	struct names_opts names = names_given;
	struct prof *p = NULL;
	uint32_t nsites = 0;
	int status = jeprof_split(words, &f, e);

	if (status == 0 && JP.symbols)
		return jeprof_symbols(f.program, e);
	if (status == 0)
		status = jeprof_report_init(&r, e);
	if (status == 0)
		status = jeprof_load(&f, &p, &nsites, e);
	if (status == 0)
		status = jeprof_check_index(p, e);
	if (status == 0) {
		char *source = jeprof_source_of(f.profiles[0]);

		names.exe = f.program;
		names.no_source = true;
		names_resolve(p, &names);
		jeprof_ask_names(p, source);
		free(source);
		r.p = p;
		r.program = f.program != NULL ? f.program : f.profiles[0];
		r.profile = f.profiles[0];
		r.nprofiles = f.n;
		r.names = &names;
		if (JP.interactive) {
			r.values =
				peer_values(p, nsites, jeprof_index(), JP.drop_negative);
			status = jeprof_shell(&r, e);
			free(r.values);
		} else {
			status = jeprof_print_all(&r, nsites, e);
		}
	}
	jeprof_report_done(&r);
	prof_free(p);
	return status;
}

static int
jeprof_run(void *opts, int argc, char **argv)
{
	struct peer_words words = {0};
	struct err e = {0};
	int status, r;

	(void)opts;
	if (peer_opts(PEER_PERL, jeprof_opts, argc, argv, NULL, &words, &e) < 0 ||
	    (!JP.help && !JP.version && jeprof_check(&e) < 0)) {
		status = cmd_usage(&cmd_jeprof, "%s", e.msg);
	} else if (JP.help || JP.version) {
		status = JP.help ? cmd_help(&cmd_jeprof) : cmd_version();
	} else {
		r = jeprof_all(&words, &e);
		status = r == -EINVAL ? cmd_usage(&cmd_jeprof, "%s", e.msg)
			 : r < 0      ? cmd_fail(&e)
				      : CMD_OK;
	}
	vec_done(&words);
	return status;
}

const struct cmd cmd_jeprof = {
	.name = "jeprof",
	.args = "[PROGRAM] PROFILE...",
	.help = "print heap profiles as jeprof and google-pprof do",
	.man = "seep-jeprof",
	.opts = jeprof_opts,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = jeprof_run,
};
