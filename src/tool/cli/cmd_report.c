/* SPDX-License-Identifier: MIT */
/* cmd_report.c -- `seep report`: what is there, from a recording, a profile of another
 * tool or a running process.
 *
 * Finds what the words mean, loads it, fills in the names and prints one report: the
 * verdict with its places, or one of the views (report_view.c). Profiles of other tools
 * have no verdict: they get a line that says what they are, and the view from the top. A
 * running process is read through its mapped recording: it is neither stopped nor
 * asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/value.h"
#include "tool/cli/cmd_scan.h"
#include "tool/cli/commands.h"
#include "tool/cli/report_view.h"
#include "tool/cli/term/pager.h"
#include "tool/model/loss_kinds.h"
#include "tool/model/prof.h"
#include "tool/render/about_line.h"
#include "tool/render/report/report.h"
#include "tool/session/load.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/session/share.h"
#include "tool/util/term.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct report_args {
	struct scan_args scan; /* what both commands have */
	struct report_view view;
	struct load_opts load;
	struct names_opts names;
	bool top, sites, peak, churn, no_skip, share;
	const char *by, *process, *leak_kinds;
	unsigned kinds; /* of leak_kinds */
	VEC(const char *) skip;
};

static int
report_add_skip(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct report_args *a = to;

	(void)o, (void)e;
	vec_push(&a->skip, v->text);
	return 0;
}

#define AT(member) .at = offsetof(struct report_args, member)

static const struct opt report_table_opts[] = {
	{"top", 0, OPT_NONE, AT(top), .help = "Print one line per function."},
	{"sites", 0, OPT_NONE, AT(sites),
	 .help = "Print one line per allocation site: bytes, blocks, function and "
		 "its caller."},
	{"peak", 0, OPT_NONE, AT(peak),
	 .help = "Report the memory that was live at the peak; the same as "
		 "TARGET@peak."},
	{"churn", 0, OPT_NONE, AT(churn),
	 .help = "Rank sites by number of allocations; the same as --by count."},
	REPORT_VIEW_OPTS(offsetof(struct report_args, view)),
	{"bytes", 0, OPT_NONE, AT(scan.heap.bytes),
	 .help = "Print bytes instead of KiB, MiB and GiB."},
	{"by", 0, OPT_STRING, AT(by), .metavar = "WHAT",
	 .help = "Rank sites by live, peak, count, allocated or temporary."},
	{"rows", 'n', OPT_U64, AT(scan.rows), .metavar = "N",
	 .help = "Print at most N sites or rows."},
	{"all", 0, OPT_NONE, AT(scan.heap.all),
	 .help = "Print every site and process, with whole stacks."},
	{"process", 0, OPT_STRING, AT(process), .metavar = "NAME|PID|all",
	 .help = "Report only these processes of the recording; all: every program."},
	{"leak-kinds", 0, OPT_STRING, AT(leak_kinds), .metavar = "KINDS",
	 .help = "List blocks of these kinds: definite, indirect, possible, "
		 "reachable, all or none."},
	{"skip", 0, OPT_STRING, .set = report_add_skip, .metavar = "PATTERN",
	 .help = "Also skip innermost frames whose function or module matches PATTERN."},
	{"no-skip", 0, OPT_NONE, AT(no_skip),
	 .help = "Show the frames of allocators, start code and language libraries."},
	LOAD_OPTS(offsetof(struct report_args, load)),
	NAMES_OPTS(offsetof(struct report_args, names)),
	SCAN_OPTS(offsetof(struct report_args, scan)),
	{"share", 0, OPT_NONE, AT(share),
	 .help = "Mask arguments, labels, folders, source lines and host name, so "
		 "that the report can be published."},
	{"json", 0, OPT_NONE, AT(scan.heap.json), .help = "Print the report as JSON."},
	CMD_COLOR_OPT,
	{"no-pager", 0, OPT_NONE, AT(scan.no_pager), .help = "Print without a pager."},
	{0},
};

/* ---- what was asked for ---- */

/* Which figure a place is ranked by in a profile that knows only some. */
static int
report_check_by(const struct prof *p, enum sites_by by, struct err *e)
{
	static const enum prof_value value[SITES_BY_MAX] = {
		[SITES_LIVE] = PROF_LIVE,	    [SITES_PEAK] = PROF_PEAK,
		[SITES_COUNT] = PROF_ALLOCATED,	    [SITES_ALLOCATED] = PROF_ALLOCATED,
		[SITES_TEMPORARY] = PROF_TEMPORARY,
	};
	struct graph_query q = {.value = value[by]};

	return value_check(p, &q, e);
}

/* Options that do not go together, and expressions that cannot be compiled. */
static int
report_check_kinds(struct report_args *o, struct err *e)
{
	const char *text = o->leak_kinds;

	if (text == NULL)
		return 0;
	if (o->view.given || o->sites || o->peak || o->by != NULL)
		return err_set(
			e, -EINVAL,
			"--leak-kinds lists leaks in the report; no view, --sites, --peak "
			"or --by goes with it");
	if (loss_kinds_read(text, strlen(text), &o->kinds) < 0)
		return err_set(
			e, -EINVAL,
			"--leak-kinds: %s: want definite, indirect, possible, reachable, "
			"separated by commas, all or none",
			text);
	if (o->kinds == 0)
		o->kinds = LOSS_KINDS_NONE;
	return 0;
}

static int
report_check_args(struct report_args *o, struct err *e)
{
	struct report_view *r = &o->view;
	enum sites_by by;

	if (o->churn && o->by != NULL)
		return err_set(e, -EINVAL, "--churn is --by count already");
	if (o->churn)
		o->by = "count";
	if (o->by != NULL && choose_by(o->by, &by, e) < 0)
		return -EINVAL;
	if (o->top && r->kind_given && r->kind != VIEW_TOP)
		return err_set(e, -EINVAL, "--top and --%s: one view at a time",
			       view_names[r->kind]);
	/* What scripts ask for is a list of places, and stays one. */
	if (o->top && !r->given && (o->scan.heap.bytes || o->by != NULL) &&
	    !o->scan.heap.json)
		o->sites = true;
	else if (o->top)
		r->given = r->kind_given = true;
	if (o->sites && r->given)
		return err_set(e, -EINVAL, "--%s cannot be used with --sites",
			       r->given_option != NULL ? r->given_option : "top");
	if (o->scan.heap.json && (r->flame != NULL || r->html != NULL))
		return err_set(e, -EINVAL,
			       "--flame and --html write files of their own "
			       "kind: no --json goes with them");
	if (o->by != NULL && r->given)
		return err_set(e, -EINVAL,
			       "--by ranks sites; views take --sample-index and --cum");
	if (report_check_kinds(o, e) < 0)
		return -EINVAL;
	return report_view_prepare(r, e);
}

/* ---- reports ---- */

struct json_drain {
	struct err *e;
	int r;
};

static void
report_drain(void *ctx, struct buf *b)
{
	struct json_drain *d = ctx;

	if (d->r == 0)
		d->r = pager_print(b, true, d->e);
	buf_clear(b);
}

static int
report_places(const struct report_args *a, const struct loaded *l,
	      const struct report_how *how, struct err *e)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.bytes = how->bytes,
				/* the long report is about how a process ended */
				.top = a->sites || l->p->columns != PROF_HAS_ALL,
				.tables = true,
				.all = how->all,
				.leak_kinds = a->kinds,
				.everyone = a->process != NULL,
				.rows = how->rows,
				.by_given = a->by != NULL,
				.point = how->point,
				.chosen = how->chosen,
				.skip = how->skip};
	struct json_drain drain = {.e = e};
	struct buf out = {0};
	struct term term;
	int r = o.by_given ? choose_by(a->by, &o.by, e) : 0;

	if (r == 0 && !o.by_given && !prof_has_value(l->p, PROF_LIVE)) {
		o.by_given = true;
		o.by = SITES_ALLOCATED;
	}
	if (r == 0 && !how->json)
		r = report_check_by(l->p, o.by, e);
	if (r == 0) {
		term_init(&term, STDOUT_FILENO);
		o.term = &term;
		if (!how->json && !o.top)
			about_line(&out, l->p, how->chosen, l->name, &term);
		if (how->json) {
			o.drain = report_drain;
			o.drain_ctx = &drain;
			report_json(&out, l->p, &o);
		} else {
			report_text(&out, l->p, &o);
		}
		r = drain.r < 0 ? drain.r
				: pager_print(&out, how->no_pager || how->json, e);
	}
	buf_done(&out);
	return r;
}

static int
report_show(const struct report_args *o, struct loaded *l, struct err *e)
{
	struct skip_opts skip = {
		.more = o->skip.data, .nmore = o->skip.len, .off = o->no_skip};
	bool *chosen = xcalloc(l->p->nprocesses, sizeof *chosen);
	struct names_opts names = o->names;
	struct report_how how = {.chosen = chosen,
				 .skip = &skip,
				 .bytes = o->scan.heap.bytes,
				 .all = o->scan.heap.all,
				 .json = o->scan.heap.json,
				 .no_sources = o->share,
				 .no_pager = o->scan.no_pager};
	bool foreign = l->p->columns != PROF_HAS_ALL;
	int r = choose_processes(l->p, o->process, chosen, e);

	if (r == 0)
		r = choose_point(l->p, chosen, l->point, &how.point, e);
	if (r == 0) {
		how.rows =
			o->scan.rows > UINT32_MAX ? UINT32_MAX : (uint32_t)o->scan.rows;
		names.pid = l->pid;
		names.exe = l->exe;
		names_resolve(l->p, &names);
		if (o->share)
			share_mask(l->p);
		how.about = foreign && !o->view.given && !o->sites && o->by == NULL &&
			    !o->scan.heap.json;
		if (o->view.given || how.about)
			r = report_view_print(&o->view, l, &how, e);
		else
			r = report_places(o, l, &how, e);
	}
	free(chosen);
	return r;
}

static int
report_run(void *opts, int argc, char **argv)
{
	struct report_args *o = opts;
	struct loaded l = {0};
	struct err e = {0};
	int r;

	o->load.exe = o->names.exe;
	/* Places and stacks need a recording. */
	if (!o->view.given && !o->top && !o->sites && o->by == NULL &&
	    scan_wanted(&o->scan, argc, argv))
		return scan_report(&o->scan, argc, argv);
	r = report_check_args(o, &e);
	if (r == -EINVAL)
		r = cmd_usage(&cmd_report, "%s", e.msg);
	else if (r < 0)
		r = cmd_fail_output(&e);
	if (r == CMD_OK) {
		r = load_targets(argc, argv, &o->load, &l, &e);
		if (l.series > 0)
			cmd_note("%u dumps of one process: showing the last, %s",
				 l.series, l.name);
		if (r == 0 && o->peak && l.point[0] != '\0')
			r = err_set(&e, -EINVAL, "@%s: --peak is a point already",
				    l.point);
		if (r == 0 && o->peak) {
			free(l.point);
			l.point = xstrdup("peak");
		}
		if (r == 0)
			r = report_show(o, &l, &e);
		r = r < 0 ? cmd_fail(&e) : CMD_OK;
	}
	loaded_done(&l);
	return r;
}

static void
report_done(void *opts)
{
	struct report_args *o = opts;

	report_view_done(&o->view);
	names_opts_done(&o->names);
	vec_done(&o->skip);
}

const struct cmd cmd_report = {
	.name = "report",
	.args = "[TARGET[@POINT]...] [PROGRAM]",
	.help = "show a recording, a profile or a process in many views",
	.man = "seep-report",
	.opts = report_table_opts,
	.opts_bytes = sizeof(struct report_args),
	.defaults = &(const struct report_args){.load = LOAD_OPTS_NONE,
						.view = {.node_fraction = -1,
							 .edge_fraction = -1}},
	.done = report_done,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = report_run,
};
