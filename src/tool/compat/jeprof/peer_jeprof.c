/* SPDX-License-Identifier: MIT */
/* peer_jeprof.c -- `seep jeprof [OPTIONS] PROGRAM PROFILE...`: what jeprof and the old
 * pprof of gperftools print, option by option.
 *
 * Under the name google-pprof it follows that one where the two differ. Unlike both it
 * matches stacks of a base by module and offset, says which profiles look like snapshots
 * of one process before it adds them up, and is never silently empty. It opens no viewer
 * and disassembles nothing: these options are refused with a line that says what does
 * it. */
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

static const struct jeprof_args jeprof_defaults = {.node_fraction = 0.005,
						   .edge_fraction = 0.001,
						   .nodes = JEPROF_NODES,
						   .degree = JEPROF_DEGREE};

#define AT(member) .at = offsetof(struct jeprof_args, member)

static const struct opt jeprof_opts[] = {
	{"text", 0, OPT_NONE, AT(text),
	 .help = "Print a table of functions; the default if the output is not a "
		 "terminal."},
	{"collapsed", 0, OPT_NONE, AT(collapsed),
	 .help = "Print folded stacks, outermost function first."},
	{"list", 0, OPT_STRING, AT(list), .metavar = "RE",
	 .help = "Print the source of functions that match RE, with figures per "
		 "line."},
	{"dot", 0, OPT_NONE, AT(dot), .help = "Print the graph for graphviz's dot."},
	{"svg", 0, OPT_NONE, AT(svg), .help = "Print the graph as SVG."},
	{"pdf", 0, OPT_NONE, AT(pdf), .help = "Print the graph as PDF."},
	{"ps", 0, OPT_NONE, AT(ps), .help = "Print the graph as PostScript."},
	{"gif", 0, OPT_NONE, AT(gif), .help = "Print the graph as GIF."},
	{"callgrind", 0, OPT_NONE, AT(callgrind),
	 .help = "Print calls in callgrind's format."},
	{"raw", 0, OPT_NONE, AT(raw),
	 .help = "Print the profile with function names inside, so that it can be "
		 "read without the program."},
	{"symbols", 0, OPT_NONE, AT(symbols),
	 .help = "Print a function name for every address on standard input."},
	{"interactive", 0, OPT_NONE, AT(interactive),
	 .help = "Ask for commands; the default on a terminal."},
	{"functions", 0, OPT_NONE, AT(functions), .help = "Add up by function."},
	{"lines", 0, OPT_NONE, AT(lines), .help = "Add up by source line."},
	{"files", 0, OPT_NONE, AT(files), .help = "Add up by source file."},
	{"addresses", 0, OPT_NONE, AT(addresses), .help = "Add up by address."},
	{"inuse_space", 0, OPT_NONE, AT(inuse_space),
	 .help = "Count live bytes (the default)."},
	{"inuse_objects", 0, OPT_NONE, AT(inuse_objects), .help = "Count live blocks."},
	{"alloc_space", 0, OPT_NONE, AT(alloc_space),
	 .help = "Count all bytes allocated so far."},
	{"alloc_objects", 0, OPT_NONE, AT(alloc_objects),
	 .help = "Count all blocks allocated so far."},
	{"show_bytes", 0, OPT_NONE, AT(show_bytes),
	 .help = "Print bytes instead of MB of 1024 KB."},
	{"drop_negative", 0, OPT_NONE, AT(drop_negative),
	 .help = "With --base, omit functions that shrank."},
	{"base", 0, OPT_STRING, AT(base), .metavar = "FILE",
	 .help = "Subtract FILE from the other profiles."},
	{"cum", 0, OPT_NONE, AT(cum), .help = "Sort the table by cumulative figures."},
	{"nodecount", 0, OPT_U64, AT(nodes), .metavar = "N",
	 .help = "Draw at most N nodes (80)."},
	{"nodefraction", 0, OPT_FLOAT, AT(node_fraction), .metavar = "F",
	 .help = "Drop nodes below the fraction F of the total (.005)."},
	{"edgefraction", 0, OPT_FLOAT, AT(edge_fraction), .metavar = "F",
	 .help = "Drop edges below the fraction F of the total (.001)."},
	{"maxdegree", 0, OPT_U64, AT(degree), .metavar = "N",
	 .help = "Draw at most N edges into and out of each node (8)."},
	{"focus", 0, OPT_STRING, AT(focus), .metavar = "RE",
	 .help = "Keep only stacks with a function or file that matches RE."},
	{"ignore", 0, OPT_STRING, AT(ignore), .metavar = "RE",
	 .help = "Remove stacks with a function or file that matches RE."},
	{"retain", 0, OPT_STRING, AT(retain), .metavar = "RE",
	 .help = "Keep only frames whose function matches RE."},
	{"exclude", 0, OPT_STRING, AT(exclude), .metavar = "RE",
	 .help = "Remove frames whose function matches RE."},
	{"thread", 0, OPT_STRING, AT(thread), .metavar = "N|*",
	 .help = "Report thread N of a jemalloc profile, or each thread."},
	{"heapcheck", 0, OPT_NONE, AT(heapcheck),
	 .help = "Draw allocating nodes of the graph in grey."},
	{"stacks", 0, OPT_NONE, AT(stacks),
	 .help = "With --text, print stacks before the table."},
	{"show_addresses", 0, OPT_NONE, AT(show_addresses),
	 .help = "Print the address after each function name."},
	{"lib_prefix", 0, OPT_STRING, AT(names.sysroot), .metavar = "DIR",
	 .help = "Search for binaries below DIR."},
	{"debug-syms-by-id", 0, OPT_NONE, .set = opt_ignore,
	 .help = "Accepted: debug files are always found by build-id."},
	{"gv", 0, OPT_NONE, AT(viewer),
	 .help = "Refused: write --svg to a file and open that."},
	{"evince", 0, OPT_NONE, AT(viewer),
	 .help = "Refused: write --svg to a file and open that."},
	{"web", 0, OPT_NONE, AT(viewer),
	 .help = "Refused: write --svg to a file and open that."},
	{"disasm", 0, OPT_STRING, AT(disasm), .metavar = "RE",
	 .help = "Refused: use --list or --addresses."},
	{"help", 0, OPT_NONE, AT(help), .help = "Print this help."},
	{"version", 0, OPT_NONE, AT(version), .help = "Print the version."},
	/* Accepted, for they change nothing here. */
	{"add_lib", 0, OPT_STRING, .set = opt_ignore},
	{"tools", 0, OPT_STRING, .set = opt_ignore},
	{"scale", 0, OPT_STRING, .set = opt_ignore},
	{"seconds", 0, OPT_STRING, .set = opt_ignore},
	{"test_stride", 0, OPT_STRING, .set = opt_ignore},
	{"no_strip_temp", 0, OPT_NONE, .set = opt_ignore},
	{"no-auto-signal-frm", 0, OPT_NONE, .set = opt_ignore},
	{"debug", 0, OPT_NONE, .set = opt_ignore},
	{"total_delay", 0, OPT_NONE, AT(locks)},
	{"contentions", 0, OPT_NONE, AT(locks)},
	{"mean_delay", 0, OPT_NONE, AT(locks)},
	{"google-pprof", 0, OPT_NONE, AT(google)},
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
jeprof_check(struct jeprof_args *a, struct err *e)
{
	const bool *const grains[] = {&a->functions, &a->lines, &a->files, &a->addresses};
	const bool *const modes[] = {
		&a->text, &a->collapsed, &a->dot, &a->svg,     &a->pdf,	       &a->ps,
		&a->gif,  &a->callgrind, &a->raw, &a->symbols, &a->interactive};
	const bool *const indexes[] = {&a->inuse_space, &a->inuse_objects,
				       &a->alloc_space, &a->alloc_objects};
	unsigned n = jeprof_on(modes, ARRAY_LEN(modes)) + (a->list != NULL);

	if (a->viewer)
		return err_set(
			e, -EINVAL,
			"--gv, --evince and --web open a viewer, which seep does not: "
			"write --svg to a file and open that");
	if (a->disasm != NULL)
		return err_set(
			e, -EINVAL,
			"--disasm: seep does not disassemble; see --list, --addresses");
	if (a->locks)
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
		*(isatty(STDOUT_FILENO) ? &a->interactive : &a->text) = true;
	return 0;
}

enum jeprof_grain
jeprof_grain(const struct jeprof_args *a)
{
	return a->lines	      ? JEPROF_LINES
	       : a->files     ? JEPROF_FILES
	       : a->addresses ? JEPROF_ADDRESSES
			      : JEPROF_FUNCTIONS;
}

static enum prof_value
jeprof_value(const struct jeprof_args *a)
{
	return a->alloc_space || a->alloc_objects ? PROF_ALLOCATED : PROF_LIVE;
}

static bool
jeprof_counts_objects(const struct jeprof_args *a)
{
	return a->inuse_objects || a->alloc_objects;
}

/* ---- the profiles ---- */

struct jeprof_files {
	const char *program;
	char *const *profiles;
	size_t n;
};

/* The program is the first word, or the first that is one. */
static int
jeprof_split(const struct jeprof_args *a, const struct peer_words *words,
	     struct jeprof_files *ret, struct err *e)
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
	if (f.n == 0 && !a->symbols)
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

/* Reads and adds up all of them, the base behind the others. *ret_sites: where that
 * begins. */
static int
jeprof_load(const struct jeprof_args *a, const struct jeprof_files *f, struct prof **ret,
	    uint32_t *ret_sites, struct err *e)
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
	if (r == 0 && a->base != NULL) {
		struct prof *base = NULL;

		r = jeprof_read(a->base, f->program, &base, e);
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
jeprof_check_index(const struct jeprof_args *a, const struct prof *p, struct err *e)
{
	if (jeprof_value(a) == PROF_ALLOCATED && (p->columns & PROF_HAS_ALLOCS) == 0)
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
	const struct jeprof_args *a = r->args;
	int status;

	r->unit.bytes = a->show_bytes;
	r->unit.objects = jeprof_counts_objects(a);
	status = jeprof_re("focus", a->focus, &r->focus, e);
	if (status == 0)
		status = jeprof_re("ignore", a->ignore, &r->ignore, e);
	if (status == 0)
		status = jeprof_re("retain", a->retain, &r->retain, e);
	if (status == 0)
		status = jeprof_re("exclude", a->exclude, &r->exclude, e);
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
jeprof_frames(const struct jeprof_report *r, enum jeprof_grain grain,
	      struct jeprof_frames *ret)
{
	struct jeprof_rules o = {.google = r->args->google,
				 .show_addresses = r->args->show_addresses,
				 .grain = grain,
				 .focus = r->focus,
				 .ignore = r->ignore,
				 .retain = r->retain,
				 .exclude = r->exclude,
				 .full_name = demangle_full};

	jeprof_frames_init(ret, r->p, &o);
}

/* The table, or the graph. */
static int
jeprof_print_rows(struct jeprof_report *r, struct jeprof_frames *f, const char *thread,
		  struct buf *out, struct err *e)
{
	struct jeprof_naming how = {.table = r->args->text};
	struct jeprof_stacks s;
	int status = 0;

	jeprof_stacks_init(&s, f, r->figures, &how);
	if (r->args->text) {
		peer_total(out, &s, &r->unit, thread);
		if (r->args->stacks)
			peer_stack_list(out, f, r->figures);
		peer_text(out, &s, &r->unit, r->args->cum, -1);
		if (s.g.unfiltered == 0)
			cmd_note("nothing to show: the total is 0");
	} else {
		status = jeprof_graph(r, &s, out, e);
	}
	jeprof_stacks_done(&s);
	return status;
}

static int
jeprof_print(struct jeprof_report *r, const char *thread, struct err *e)
{
	struct jeprof_frames f;
	struct buf out = {0};
	int status = 0;

	if (r->args->list != NULL)
		return jeprof_list(r, r->args->list, e);
	jeprof_frames(r, jeprof_grain(r->args), &f);
	if (r->args->collapsed)
		peer_collapsed(&out, &f, r->figures);
	else if (r->args->callgrind)
		peer_callgrind(&out, &f, r->figures);
	else if (r->args->raw)
		status = jeprof_raw(r, &f, &out, e);
	else
		status = jeprof_print_rows(r, &f, thread, &out, e);
	if (status == 0)
		fwrite(buf_str(&out), 1, out.len, stdout);
	buf_done(&out);
	jeprof_frames_done(&f);
	return status;
}

/* One report, or one for each thread that was asked for. */
static int
jeprof_print_all(struct jeprof_report *r, struct err *e)
{
	const char *thread = r->args->thread;
	char *end;
	unsigned long want = thread != NULL ? strtoul(thread, &end, 10) : 0;
	bool all = thread != NULL && strcmp(thread, "*") == 0;
	unsigned met = 0;
	int status = 0;

	if (thread == NULL)
		return jeprof_print(r, NULL, e);
	for (uint32_t i = 1; i < r->p->nthreads && status == 0; i++) {
		const struct prof_thread *t = &r->p->threads[i];
		char number[16];

		if (!all && (*end != '\0' || t->serial != want))
			continue;
		met++;
		snprintf(number, sizeof number, "%u", t->serial);
		free(r->figures);
		r->figures = jeprof_thread_figures(r->p, i, jeprof_value(r->args),
						   r->unit.objects);
		status = jeprof_print(r, number, e);
	}
	if (status == 0 && met == 0)
		return err_set(
			e, -ENOENT,
			r->p->nthreads <= 1
				? "--thread %s: the profile has no figures per thread"
				: "--thread %s: no such thread in the profile",
			thread);
	return status;
}

static int
jeprof_all(struct jeprof_args *a, const struct peer_words *words, struct err *e)
{
	struct jeprof_files f = {0};
	struct jeprof_report r = {.args = a, .names = &a->names};
	uint32_t nsites = 0;
	int status = jeprof_split(a, words, &f, e);

	if (status == 0 && a->symbols)
		return jeprof_symbols(a, f.program, e);
	if (status == 0)
		status = jeprof_report_init(&r, e);
	if (status == 0)
		status = jeprof_load(a, &f, &r.p, &nsites, e);
	if (status == 0)
		status = jeprof_check_index(a, r.p, e);
	if (status == 0) {
		char *source = jeprof_source_of(f.profiles[0]);

		a->names.exe = f.program;
		a->names.no_source = true;
		names_resolve(r.p, &a->names);
		jeprof_ask_names(r.p, source);
		free(source);
		r.program = f.program != NULL ? f.program : f.profiles[0];
		r.profile = f.profiles[0];
		r.nprofiles = f.n;
		r.figures = jeprof_figures(r.p, nsites, jeprof_value(a), r.unit.objects,
					   a->drop_negative);
		status = a->interactive ? jeprof_shell(&r, e) : jeprof_print_all(&r, e);
		free(r.figures);
	}
	jeprof_report_done(&r);
	prof_free(r.p);
	return status;
}

static int
jeprof_run(void *opts, int argc, char **argv)
{
	struct jeprof_args *a = opts;
	struct peer_words words = {0};
	struct err e = {0};
	int status, r;

	if (peer_opts(PEER_PERL, jeprof_opts, argc, argv, a, &words, &e) < 0 ||
	    (!a->help && !a->version && jeprof_check(a, &e) < 0)) {
		status = cmd_usage(&cmd_jeprof, "%s", e.msg);
	} else if (a->help || a->version) {
		status = a->help ? cmd_help(&cmd_jeprof) : cmd_version();
	} else {
		r = jeprof_all(a, &words, &e);
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
	.opts_bytes = sizeof(struct jeprof_args),
	.defaults = &jeprof_defaults,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.own_options = true,
	.run = jeprof_run,
};
