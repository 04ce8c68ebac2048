/* SPDX-License-Identifier: MIT */
/* cmd_why.c -- `seep why`: ten seconds of looking at a process from outside, and what to
 * do next.
 *
 * The same snapshots as `seep watch`, one a second, then the account and what a recorder
 * would see of it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/render/about_line.h"
#include "tool/render/report/report.h"
#include "tool/render/watch/watch.h"
#include "tool/session/loop.h"
#include "tool/session/watch/watcher.h"
#include "tool/util/clean.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

struct why_args {
	uint64_t for_ns;
	bool json, all;
};

#define AT(member) .at = offsetof(struct why_args, member)

static const struct opt why_opts[] = {
	{"for", 0, OPT_DURATION, AT(for_ns), .metavar = "TIME",
	 .help = "Examine the process for TIME (10s)."},
	{"all", 0, OPT_NONE, AT(all), .help = "Print every region."},
	CMD_COLOR_OPT,
	{"json", 0, OPT_NONE, AT(json), .help = "Print the report as JSON."},
	{0},
};

enum { WHY_SNAPSHOTS = 10 };

struct why {
	const struct why_args *o;
	struct watchers ws;
	struct term err_term;
};

static int
why_step(void *ctx, double seconds, struct err *e)
{
	struct why *y = ctx;
	bool some = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < y->ws.len; i++) {
		r = watcher_look(y->ws.data[i], seconds, false, e);
		some = some || !y->ws.data[i]->ended;
	}
	if (r == 0 && y->err_term.tty) {
		clean_cursor(stderr, "\r\033[K");
		fprintf(stderr, "examining: %.0f of %.0f s", seconds,
			(double)y->o->for_ns / 1e9);
	}
	return r < 0 ? r : some ? LOOP_GO_ON : LOOP_END;
}

static void
why_print(struct why *y)
{
	struct watch_view *views = xcalloc(y->ws.len, sizeof *views);
	struct term term;
	struct watch_opts o = {.term = &term,
			       .ascii = !report_locale_is_utf8(),
			       .all = y->o->all,
			       .coverage = true};
	struct buf b = {0};

	term_init(&term, STDOUT_FILENO);
	for (size_t i = 0; i < y->ws.len; i++) {
		watcher_account(y->ws.data[i]);
		views[i] = watcher_view(y->ws.data[i]);
		if (i > 0 && !y->o->json)
			buf_add_char(&b, '\n');
		if (!y->o->json) {
			about_line_now(&b, views[i].pid, views[i].name, &term);
			watch_text(&b, &views[i], &o);
		}
	}
	if (y->o->json)
		watch_json(&b, views, y->ws.len);
	fputs(buf_str(&b), stdout);
	buf_done(&b);
	free(views);
}

static int
why_run(void *opts, int argc, char **argv)
{
	const struct why_args *o = opts;
	struct why y = {.o = o};
	struct loop_steps loop = {.for_ns = o->for_ns,
				  .every_ns = o->for_ns / WHY_SNAPSHOTS,
				  .count = o->for_ns == 0,
				  .step = why_step,
				  .ctx = &y};
	struct err e = {0};
	int r = 0;

	term_init(&y.err_term, STDERR_FILENO);
	for (int i = 0; r == 0 && i < argc; i++)
		r = watcher_add(&y.ws, argv[i], &e);
	if (r == 0)
		r = loop_steps(&loop, &e);
	if (y.err_term.tty)
		clean_cursor(stderr, "\r\033[K");
	if (r == 0)
		why_print(&y);
	watchers_done(&y.ws);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_why = {
	.name = "why",
	.args = "PID|NAME",
	.help = "examine a process for ten seconds; recommend the next step",
	.man = "seep-why",
	.needs_proc = true,
	.opts = why_opts,
	.opts_bytes = sizeof(struct why_args),
	.defaults = &(const struct why_args){.for_ns = UINT64_C(10000000000)},
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.run = why_run,
};
