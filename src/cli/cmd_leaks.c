/* SPDX-License-Identifier: MIT */
/* cmd_leaks.c -- `seep leaks`: what of a recorded process's memory is lost, now or at its end.
 *
 * A running process is stopped, looked at where it stands, and goes on; how long that took is said.
 * A recording that was saved knows what was found at the ends of its processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/choose.h"
#include "cli/cmd.h"
#include "cli/leak_last.h"
#include "cli/leak_plan.h"
#include "cli/load.h"
#include "cli/names.h"
#include "cli/run_leaks.h"
#include "cli/save.h"
#include "cli/unrecorded.h"
#include "render/report.h"
#include "target/find.h"
#include "util/fmt.h"
#include "util/term.h"
#include "util/x.h"

static bool opt_json, opt_bytes, opt_all, opt_dry_run, opt_new, opt_increased,
	opt_changed;
static const char *opt_format, *opt_kinds, *opt_way;
static uint64_t opt_error_exitcode;

static const struct opt leaks_opts[] = {
	{"leak-kinds", 0, OPT_STRING, .to = &opt_kinds, .metavar = "KINDS",
	 .help = "List places of these: definite,indirect,possible,reachable or all."},
	{"format", 0, OPT_STRING, .to = &opt_format, .metavar = "text|memcheck",
	 .help = "Report as valgrind's memcheck does."},
	{"json", 0, OPT_NONE, .to = &opt_json, .help = "Report as JSON."},
	{"bytes", 0, OPT_NONE, .to = &opt_bytes,
	 .help = "Whole numbers instead of KiB and MiB."},
	{"all", 0, OPT_NONE, .to = &opt_all,
	 .help = "List every place, every process and whole stacks."},
	{"new", 0, OPT_NONE, .to = &opt_new,
	 .help = "List only places that had nothing lost at the last look."},
	{"increased", 0, OPT_NONE, .to = &opt_increased,
	 .help = "The same, and places that lost more since then."},
	{"changed", 0, OPT_NONE, .to = &opt_changed,
	 .help = "The same, and places that have less."},
	{"way", 0, OPT_STRING, .to = &opt_way, .metavar = "copy|stop",
	 .help = "Look at a copy of the process, or stop it (as memory allows)."},
	{"dry-run", 0, OPT_NONE, .to = &opt_dry_run,
	 .help = "Only tell how long it would stand still, and why."},
	UNRECORDED_OPTS,
	{"error-exitcode", 0, OPT_U64, .to = &opt_error_exitcode, .metavar = "N",
	 .help = "Exit with N if something is definitely or possibly lost."},
	{0},
};

static struct leak_last_change change;

static enum leak_last_only
only(void)
{
	return opt_changed     ? LEAK_LAST_CHANGED
	       : opt_increased ? LEAK_LAST_INCREASED
	       : opt_new       ? LEAK_LAST_NEW
			       : LEAK_LAST_ALL;
}

/* More than this is worth a word beforehand. */
#define PAUSE_TOLD_NS UINT64_C(100000000)

/* How it will be looked at; says so if it takes long. */
static int
plan(struct livefile *f, struct leak_plan *ret_plan, struct err *e)
{
	struct buf b = {0};
	int r = leak_plan_make(f, f->pid, ret_plan, e);

	if (r < 0)
		return r;
	if (opt_way != NULL) {
		ret_plan->way =
			strcmp(opt_way, "copy") == 0 ? LEAKCHECK_COPY : LEAKCHECK_STOP;
		snprintf(ret_plan->why, sizeof ret_plan->why, "--way=%s", opt_way);
		leak_plan_expect(ret_plan);
	}
	if (opt_dry_run && opt_json)
		leak_plan_json(ret_plan, f->pid, &b);
	else if (opt_dry_run)
		leak_plan_text(ret_plan, f->pid, &b);
	else if (ret_plan->pause_ns > PAUSE_TOLD_NS)
		leak_plan_line(ret_plan, f->pid, &b);
	fputs(buf_str(&b), opt_dry_run ? stdout : stderr);
	fflush(opt_dry_run ? stdout : stderr);
	buf_done(&b);
	return 0;
}

/* Looks at the running process behind `f`; fails when that cannot be done. */
static int
look_at_process(struct livefile *f, struct prof *p, struct leakcheck *ret_check,
		struct err *e)
{
	struct leak_plan how;
	int r = plan(f, &how, e);

	if (r < 0 || opt_dry_run)
		return r;
	leakcheck_look(f, f->pid, how.way, ret_check);
	if (!ret_check->done)
		return err_set(e, -EIO, "%d: %s", f->pid, ret_check->why);
	r = leak_last_compare(f, ret_check, only(), &change, e);
	if (r < 0 && only() == LEAK_LAST_ALL)
		r = 0; /* nobody asked */
	if (r == 0)
		r = save_load_file(f, p, e);
	if (r == 0)
		leakcheck_save(ret_check, p, p->nprocesses - 1);
	return r;
}

/* A saved recording, if something was looked for in it. */
static int
check_saved(const struct prof *p, const char *name, struct err *e)
{
	for (uint32_t i = 0; i < p->nchecks; i++) {
		if (p->checks[i].done)
			return 0;
	}
	return err_set(e, -ENODATA,
		       "%s: leaks were not looked for in it; that is done by seep run "
		       "without --sample and --no-leak-check",
		       name);
}

/* In milliseconds, finer than fmt_duration: it is what the process pays. */
static struct fmt_str
milliseconds(uint64_t ns)
{
	struct fmt_str t;

	snprintf(t.s, sizeof t.s, ns < 100000000 ? "%.2f ms" : "%.0f ms",
		 (double)ns / 1e6);
	return t;
}

static void
print_pause(FILE *to, const struct leakcheck *c)
{
	struct buf b = {0};

	if (!change.first || only() != LEAK_LAST_ALL)
		leak_last_text(&change, only(), &b);
	fputs(buf_str(&b), to);
	buf_done(&b);
	if (c->instead[0] != '\0')
		fprintf(to, "could not be copied (%s): it stood still instead\n",
			c->instead);
	if (c->passed_over_bytes > 0)
		fprintf(to,
			"not looked through: %s of reserved memory; Linux 6.7 could tell what "
			"of it is used\n",
			fmt_size(c->passed_over_bytes).s);
	fprintf(to, "stopped %s + %s, %u thread%s, %s blocks; %s\n",
		milliseconds(c->stop_ns).s, milliseconds(c->pause_ns).s, c->threads,
		c->threads == 1 ? "" : "s", fmt_count(c->nblocks).s,
		c->way == LEAKCHECK_COPY ? "looked at a copy"
					 : "looked at while it stood");
}

/* Whether anything is left that is lost. */
static bool
has_losses(const struct leakcheck *c)
{
	for (size_t i = 0; i < c->sites.len; i++) {
		for (unsigned k = 0; k < CLASSIFY_REACHABLE; k++) {
			if (c->sites.data[i].blocks[k] > 0)
				return true;
		}
	}
	return false;
}

static void
print(struct prof *p, unsigned kinds, const struct leakcheck *c)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.bytes = opt_bytes,
				.all = opt_all,
				.leak_kinds = kinds};
	bool memcheck = opt_format != NULL && strcmp(opt_format, "memcheck") == 0;
	struct buf b = {0};
	struct term term;

	term_init(&term, STDOUT_FILENO);
	o.term = &term;
	names_resolve(p, NULL);
	if (opt_json)
		report_json(&b, p, &o);
	else if (c->done && only() != LEAK_LAST_ALL && !memcheck && !has_losses(c))
		buf_printf(&b, "OK  nothing of what was asked for is lost\n");
	else if (memcheck)
		run_leaks_memcheck(&b, p, NULL, kinds);
	else
		report_text(&b, p, &o);
	fputs(buf_str(&b), stdout);
	if (c->done && !opt_json)
		print_pause(memcheck ? stderr : stdout, c);
	buf_done(&b);
}

/* Returns 0 or an exit status. */
static int
check_options(unsigned *ret_kinds)
{
	struct err e = {0};

	if (opt_format != NULL && strcmp(opt_format, "text") != 0 &&
	    strcmp(opt_format, "memcheck") != 0)
		return cmd_usage(&cmd_leaks, "--format: text or memcheck");
	if (opt_way != NULL && strcmp(opt_way, "copy") != 0 &&
	    strcmp(opt_way, "stop") != 0)
		return cmd_usage(&cmd_leaks, "--way: copy or stop");
	if (opt_new + opt_increased + opt_changed > 1)
		return cmd_usage(&cmd_leaks,
				 "--new, --increased and --changed exclude each other");
	if (opt_error_exitcode > 255)
		return cmd_usage(&cmd_leaks, "--error-exitcode: at most 255");
	if (opt_kinds != NULL && leakcheck_kinds(opt_kinds, ret_kinds, &e) < 0)
		return cmd_usage(&cmd_leaks, "--leak-kinds: %s", e.msg);
	return 0;
}

static int
run_leaks_cmd(int argc, char **argv)
{
	struct livefile f = {.fd = -1};
	struct leakcheck check = {0};
	struct loaded loaded = {0};
	struct prof *live = prof_new(), *p = live;
	struct unrecorded u;
	struct err e = {0};
	unsigned kinds = 0;
	int status, r;

	status = check_options(&kinds);
	if (status != 0)
		return status;
	if (argc == 1 && unrecorded_find(argv[0], false, &u)) {
		struct unrecorded_opts o = {.json = opt_json,
					    .bytes = opt_bytes,
					    .all = opt_all,
					    .dry_run = opt_dry_run,
					    .way = opt_way,
					    .kinds = kinds,
					    .error_exitcode =
						    (unsigned)opt_error_exitcode};

		change.first = true; /* looks without a recording are not kept */
		if (only() != LEAK_LAST_ALL)
			r = err_set(
				&e, -EINVAL,
				"%s: not recorded, so it has no last look; see: seep scan "
				"--save, --since",
				argv[0]);
		else if (opt_format != NULL && strcmp(opt_format, "text") != 0)
			r = unrecorded_load(&u, &o, live, &check, &e);
		else {
			prof_free(live);
			return unrecorded_leaks(&u, argv[0], &o);
		}
	} else if (argc == 1 && target_find(argv[0], &f, NULL) == 0) {
		r = look_at_process(&f, live, &check, &e);
	} else {
		if (only() != LEAK_LAST_ALL || opt_way != NULL || opt_dry_run)
			r = err_set(
				&e, -EINVAL,
				"%s: not a running process that is recorded, which --new, "
				"--way and the like are for",
				argc > 0 ? argv[0] : "@last");
		else
			r = load_targets(argc, argv, NULL, &loaded, &e);
		p = loaded.p;
		if (r == 0)
			r = check_saved(p, argc > 0 ? argv[0] : "@last", &e);
	}
	if (r < 0) {
		status = cmd_fail(&e);
	} else if (!opt_dry_run) {
		print(p, kinds, &check);
		if (opt_error_exitcode != 0 && run_leaks_errors(p) > 0)
			status = (int)opt_error_exitcode;
	}
	leakcheck_done(&check);
	livefile_close(&f);
	loaded_done(&loaded);
	prof_free(live);
	return status;
}

const struct cmd cmd_leaks = {
	.name = "leaks",
	.args = "[PID|NAME|FILE]",
	.help = "tell what of a process's memory is lost",
	.man = "seep-leaks",
	.opts = leaks_opts,
	.min_args = 0,
	.max_args = 1,
	.run = run_leaks_cmd,
};
