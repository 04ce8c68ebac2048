/* SPDX-License-Identifier: MIT */
/* cmd_report.c -- `seep report`: what is there, from a recording, a profile of another tool or a
 * running process.
 *
 * Finds what the words mean, loads it, fills in the names and prints one report: the verdict with
 * its places, or one of the views (report_view.c). Profiles of other tools have no verdict: they
 * get a line that says what they are, and the view from the top. A running process is read
 * through its mapped recording: it is neither stopped nor asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/value.h"
#include "tool/cli/cmd_scan.h"
#include "tool/cli/commands.h"
#include "tool/cli/pager.h"
#include "tool/cli/report_view.h"
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

static struct {
	bool top, sites, peak, churn, bytes, all, json, no_skip, share, no_pager;
	const char *by, *process, *leak_kinds;
	unsigned kinds; /* of leak_kinds */
	uint64_t rows;
	VEC(const char *) skip;
} report_args;

static int
report_add_skip(void *ctx, const struct opt *o, const struct opt_value *v, struct err *e)
{
	(void)ctx, (void)o, (void)e;
	vec_push(&report_args.skip, v->text);
	return 0;
}

static const struct opt report_table_opts[] = {
	{"top", 0, OPT_NONE, .to = &report_args.top,
	 .help = "Show a row for each function; with --bytes, a place a line."},
	{"sites", 0, OPT_NONE, .to = &report_args.sites,
	 .help = "Print one place a line: figure, blocks, place and its caller."},
	{"peak", 0, OPT_NONE, .to = &report_args.peak,
	 .help = "Show what was live at the peak, as TARGET@peak does."},
	{"churn", 0, OPT_NONE, .to = &report_args.churn,
	 .help = "Show where most allocations are made, as --by count does."},
	REPORT_VIEW_OPTS,
	{"bytes", 0, OPT_NONE, .to = &report_args.bytes,
	 .help = "Print whole numbers of bytes instead of KiB, MiB, GiB."},
	{"by", 0, OPT_STRING, .to = &report_args.by, .metavar = "WHAT",
	 .help = "Rank places by live, peak, count, allocated or temporary."},
	{"rows", 'n', OPT_U64, .to = &report_args.rows, .metavar = "N",
	 .help = "List at most N places or rows."},
	{"all", 0, OPT_NONE, .to = &report_args.all,
	 .help = "List every place and process, with whole stacks."},
	{"process", 0, OPT_STRING, .to = &report_args.process, .metavar = "NAME|PID|all",
	 .help = "Report only these processes of the recording; all counts every program."},
	{"leak-kinds", 0, OPT_STRING, .to = &report_args.leak_kinds, .metavar = "KINDS",
	 .help = "List these: definite,indirect,possible,reachable, all or none."},
	{"skip", 0, OPT_STRING, .set = report_add_skip, .metavar = "PATTERN",
	 .help = "Leave out innermost frames of functions or modules like this too."},
	{"no-skip", 0, OPT_NONE, .to = &report_args.no_skip,
	 .help = "Show the frames of allocators, start code and language libraries too."},
	LOAD_OPTS,
	NAMES_OPTS,
	SCAN_OPTS,
	{"share", 0, OPT_NONE, .to = &report_args.share,
	 .help = "Mask arguments, labels, folders, sources and where it ran."},
	{"json", 0, OPT_NONE, .to = &report_args.json,
	 .help = "Print everything as JSON."},
	{"no-pager", 0, OPT_NONE, .to = &report_args.no_pager,
	 .help = "Print straight to the terminal."},
	{0},
};

/* ---- what was asked for ---- */

/* Which figure a place is ranked by in a profile that knows only some. */
static int
report_check_by(const struct prof *p, enum sites_by by, struct err *e)
{
	static const enum graph_value value[SITES_BY_MAX] = {
		[SITES_LIVE] = GRAPH_LIVE,	     [SITES_PEAK] = GRAPH_PEAK,
		[SITES_COUNT] = GRAPH_ALLOCATED,     [SITES_ALLOCATED] = GRAPH_ALLOCATED,
		[SITES_TEMPORARY] = GRAPH_TEMPORARY,
	};
	struct graph_query q = {.value = value[by]};

	return value_check(p, &q, e);
}

/* Options that do not go together, and expressions that cannot be compiled. */
static int
report_check_kinds(struct err *e)
{
	const char *text = report_args.leak_kinds;

	if (text == NULL)
		return 0;
	if (report_view.given || report_args.sites || report_args.peak ||
	    report_args.by != NULL)
		return err_set(
			e, -EINVAL,
			"--leak-kinds lists leaks in the report; no view, --sites, --peak "
			"or --by goes with it");
	if (loss_kinds_read(text, strlen(text), &report_args.kinds) < 0)
		return err_set(
			e, -EINVAL,
			"--leak-kinds: %s: want definite, indirect, possible, reachable, "
			"separated by commas, all or none",
			text);
	if (report_args.kinds == 0)
		report_args.kinds = LOSS_KINDS_NONE;
	return 0;
}

static int
report_check_args(struct err *e)
{
	struct report_view *r = &report_view;
	enum sites_by by;

	if (report_args.churn && report_args.by != NULL)
		return err_set(e, -EINVAL, "--churn is --by count already");
	if (report_args.churn)
		report_args.by = "count";
	if (report_args.by != NULL && choose_by(report_args.by, &by, e) < 0)
		return -EINVAL;
	if (report_args.top && r->kind_given && r->kind != VIEW_TOP)
		return err_set(e, -EINVAL, "--top and --%s: one view at a time",
			       view_names[r->kind]);
	/* What scripts ask for is a list of places, and stays one. */
	if (report_args.top && !r->given &&
	    (report_args.bytes || report_args.by != NULL) && !report_args.json)
		report_args.sites = true;
	else if (report_args.top)
		r->given = r->kind_given = true;
	if (report_args.sites && r->given)
		return err_set(e, -EINVAL,
			       "--sites lists places as they are: no view, grain, sample "
			       "index or filter goes with it");
	if (report_args.json && (r->flame != NULL || r->html != NULL))
		return err_set(e, -EINVAL,
			       "--flame and --html write files of their own "
			       "kind: no --json goes with them");
	if (report_args.by != NULL && r->given)
		return err_set(e, -EINVAL,
			       "--by ranks places; views take --sample-index and --cum");
	if (report_check_kinds(e) < 0)
		return -EINVAL;
	return report_view_prepare(e);
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
report_places(const struct loaded *l, const struct report_how *how, struct err *e)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.bytes = how->bytes,
				/* the long report is about how a process ended */
				.top = report_args.sites || l->p->columns != PROF_HAS_ALL,
				.tables = true,
				.all = how->all,
				.leak_kinds = report_args.kinds,
				.everyone = report_args.process != NULL,
				.rows = how->rows,
				.by_given = report_args.by != NULL,
				.point = how->point,
				.chosen = how->chosen,
				.skip = how->skip};
	struct json_drain drain = {.e = e};
	struct buf out = {0};
	struct term term;
	int r = o.by_given ? choose_by(report_args.by, &o.by, e) : 0;

	if (r == 0 && !o.by_given && !value_has(l->p, GRAPH_LIVE)) {
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
report_show(struct loaded *l, struct err *e)
{
	struct skip_opts skip = {.more = report_args.skip.data,
				 .nmore = report_args.skip.len,
				 .off = report_args.no_skip};
	bool *chosen = xcalloc(l->p->nprocesses, sizeof *chosen);
	struct names_opts names = names_given;
	struct report_how how = {.chosen = chosen,
				 .skip = &skip,
				 .bytes = report_args.bytes,
				 .all = report_args.all,
				 .json = report_args.json,
				 .no_sources = report_args.share,
				 .no_pager = report_args.no_pager};
	bool foreign = l->p->columns != PROF_HAS_ALL;
	int r = choose_processes(l->p, report_args.process, chosen, e);

	if (r == 0)
		r = choose_point(l->p, chosen, l->point, &how.point, e);
	if (r == 0) {
		how.rows = report_args.rows > UINT32_MAX ? UINT32_MAX
							 : (uint32_t)report_args.rows;
		names.pid = l->pid;
		names.exe = l->exe;
		names_resolve(l->p, &names);
		if (report_args.share)
			share_mask(l->p);
		how.about = foreign && !report_view.given && !report_args.sites &&
			    report_args.by == NULL && !report_args.json;
		if (report_view.given || how.about)
			r = report_view_print(l, &how, e);
		else
			r = report_places(l, &how, e);
	}
	free(chosen);
	return r;
}

static int
report_run(void *opts, int argc, char **argv)
{
	struct loaded l = {0};
	struct err e = {0};
	int r;

	(void)opts;
	/* Places and stacks need a recording. */
	if (!report_view.given && !report_args.top && !report_args.sites &&
	    report_args.by == NULL && scan_wanted(argc, argv)) {
		scan_args.rows = report_args.rows;
		scan_args.all = report_args.all;
		scan_args.bytes = report_args.bytes;
		scan_args.json = report_args.json;
		scan_args.no_pager = report_args.no_pager;
		return scan_run(NULL, argc, argv);
	}
	r = report_check_args(&e);
	if (r == -EINVAL)
		r = cmd_usage(&cmd_report, "%s", e.msg);
	else if (r < 0)
		r = cmd_fail_output(&e);
	if (r == CMD_OK) {
		r = load_targets(argc, argv, names_given.exe, &l, &e);
		if (l.series > 0)
			cmd_note("%u dumps of one process: showing the last, %s",
				 l.series, l.name);
		if (r == 0 && report_args.peak && l.point[0] != '\0')
			r = err_set(&e, -EINVAL, "@%s: --peak is a point already",
				    l.point);
		if (r == 0 && report_args.peak) {
			free(l.point);
			l.point = xstrdup("peak");
		}
		if (r == 0)
			r = report_show(&l, &e);
		r = r < 0 ? cmd_fail(&e) : CMD_OK;
	}
	loaded_done(&l);
	report_view_done();
	vec_done(&report_args.skip);
	return r;
}

const struct cmd cmd_report = {
	.name = "report",
	.args = "[TARGET[@POINT]...] [PROGRAM]",
	.help = "show a recording, a profile or a process in many views",
	.man = "seep-report",
	.opts = report_table_opts,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = report_run,
};
