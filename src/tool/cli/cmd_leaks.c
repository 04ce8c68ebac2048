/* SPDX-License-Identifier: MIT */
/* cmd_leaks.c -- `seep leaks`: what of a recorded process's memory is lost, now or at its
 * end.
 *
 * A running process is stopped, looked at where it stands, and goes on; how long that
 * took is said. A recording that was saved knows what was found at the ends of its
 * processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/sites/choose.h"
#include "tool/cli/commands.h"
#include "tool/cli/term/interrupt.h"
#include "tool/cli/unrecorded.h"
#include "tool/compat/leaks/leak_demand.h"
#include "tool/compat/leaks/leak_report.h"
#include "tool/compat/leaks/leak_rounds.h"
#include "tool/format/format.h"
#include "tool/render/about_line.h"
#include "tool/render/report/report.h"
#include "tool/session/load.h"
#include "tool/session/log_name.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/session/run/run_leaks.h"
#include "tool/session/run/save.h"
#include "tool/target/run/find.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

struct leaks_args {
	struct leak_opts leak;
	struct leak_demand demand;
	struct leak_rounds rounds;
	struct unrecorded_opts heap;
	const char *log_file;
};

#define AT(member) .at = offsetof(struct leaks_args, member)

static const struct opt leaks_opts[] = {
	LEAK_OPTS(offsetof(struct leaks_args, leak)),
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write the report to FILE instead of stdout."},
	CMD_COLOR_OPT,
	{"json", 0, OPT_NONE, AT(heap.json), .help = "Print the report as JSON."},
	{"bytes", 0, OPT_NONE, AT(heap.bytes),
	 .help = "Print bytes instead of KiB, MiB and GiB."},
	{"all", 0, OPT_NONE, AT(heap.all),
	 .help = "Print every site and process, with whole stacks."},
	LEAK_DEMAND_OPTS(offsetof(struct leaks_args, demand)),
	LEAK_ROUNDS_OPTS(offsetof(struct leaks_args, rounds)),
	UNRECORDED_OPTS(offsetof(struct leaks_args, heap)),
	{0},
};

/* A saved recording, if something was looked for in it. */
static int
check_saved(const struct prof *p, const char *name, struct err *e)
{
	for (uint32_t i = 0; i < p->nchecks; i++) {
		if (p->checks[i].done)
			return 0;
	}
	return err_set(e, -ENODATA,
		       "%s: it has no leak check; record it with seep run, without "
		       "--sample and --no-leak-check",
		       name);
}

/* To stdout, or to the log file. */
static int
put(const struct leaks_args *a, const struct buf *b, const struct prof *p)
{
	struct err e = {0};
	char *name = NULL;
	int status = CMD_OK;

	if (a->log_file == NULL) {
		fputs(buf_str(b), stdout);
		return CMD_OK;
	}
	if (log_name(a->log_file, p->nprocesses > 1 ? p->processes[1].pid : 0, 0, &name,
		     &e) < 0 ||
	    out_check_log(name, &e) < 0 || file_write(name, buf_str(b), b->len, &e) < 0)
		status = cmd_fail_output(&e);
	free(name);
	return status;
}

/* `walked`: what there is to say about a process that nobody recorded, or empty. */
static int
print(struct leaks_args *a, struct prof *p, const struct leakcheck *c, const char *name,
      const char *exe, const struct buf *walked)
{
	struct names_opts names = {.exe = exe};
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.bytes = a->heap.bytes,
				.all = a->heap.all,
				.everyone = a->heap.all,
				.leak_kinds = a->leak.show_kinds};
	struct leak_report report = {.o = &a->leak};
	bool foreign = leak_report_foreign(&a->leak);
	bool told =
		walked->len > 0 && !foreign && !a->heap.json && a->leak.set.all.len == 0;
	struct buf b = {0};
	struct term term;
	int status;

	term_init(&term, STDOUT_FILENO);
	if (a->log_file == NULL)
		o.term = &term;
	names_resolve(p, &names);
	leak_report_prepare(&report, p);
	leak_report_judge(&report, p, &o);
	if (!a->heap.json && !foreign && !told)
		about_line(&b, p, NULL, name, o.term);
	if (a->heap.json)
		report_json(&b, p, &o);
	else if (foreign)
		leak_report_text(&report, &b, p, a->log_file);
	else if (c->done && leak_demand_nothing(&a->demand, c))
		buf_printf(&b, "OK  no leak of the kinds that were asked for\n");
	else {
		if (told)
			buf_add(&b, walked->data, walked->len);
		else
			report_text(&b, p, &o);
		leak_report_more(&report, &b, p);
	}
	status = put(a, &b, p);
	if (c->done && !a->heap.json && !told)
		leak_demand_end(&a->demand,
				foreign || a->log_file != NULL ? stderr : stdout, c);
	buf_done(&b);
	return leak_report_end(&report, p, NULL, status, true);
}

/* Whether something was asked for that is told of loss records alone. */
static bool
asks_for_records(const struct leaks_args *a)
{
	return leak_report_foreign(&a->leak) || a->leak.xml_file != NULL ||
	       a->leak.fail_on != NULL || a->leak.baseline != NULL ||
	       a->leak.junit != NULL || a->leak.sarif != NULL || a->leak.github ||
	       a->leak.generate != NULL || a->leak.set.all.len > 0 || a->log_file != NULL;
}

/* Once, or again and again. */
static int
look_at_recorded(struct leaks_args *a, struct livefile *f, struct prof *p,
		 struct leakcheck *ret_check, struct err *e)
{
	bool quiet = a->heap.json || leak_report_foreign(&a->leak);

	if (a->rounds.every_ns == 0)
		return leak_demand_look(&a->demand, &a->leak, f, a->heap.json, p,
					ret_check, e);
	a->demand.change.first = true;
	return leak_rounds_look(&a->rounds, &a->demand, &a->leak, f, quiet, p, ret_check,
				e);
}

/* A process without a recording, or a core: seep's own report is told at once, and
 * *ret_told set; then the exit status is returned. For other tools' words it becomes a
 * profile. */
static int
look_at_unrecorded(const struct leaks_args *a, const struct unrecorded *u,
		   const char *word, struct prof *p, struct buf *text,
		   struct leakcheck *ret_check, bool *ret_told, struct err *e)
{
	struct unrecorded_opts o = a->heap;

	o.dry_run = a->demand.dry_run;
	o.way = a->demand.way;
	o.max_stop_ns = a->demand.max_stop_ns;
	o.kinds = a->leak.show_kinds;
	o.error_exitcode = (unsigned)a->leak.error_exitcode;
	if (leak_demand_since(&a->demand))
		return err_set(e, -EINVAL,
			       "%s: not recorded, so it has no last look; see: seep scan "
			       "--save, --since",
			       word);
	if (a->rounds.every_ns > 0 && (u->core != NULL || o.who != NULL || o.blocks > 0))
		return err_set(
			e, -EINVAL,
			"%s: --every repeats the check of a running process; remove "
			"it, or --who and --blocks",
			word);
	if (a->rounds.every_ns > 0)
		o.rounds = &a->rounds;
	o.quiet = o.json || leak_report_foreign(&a->leak);
	if (asks_for_records(a))
		return unrecorded_load(u, word, &o, p, text, ret_check, e);
	*ret_told = true;
	return unrecorded_leaks(u, word, &o);
}

static void
leaks_done(void *opts)
{
	struct leaks_args *a = opts;

	leak_opts_done(&a->leak);
}

static int
check_and_print(void *opts, int argc, char **argv)
{
	struct leaks_args *a = opts;
	struct livefile f = {.fd = -1};
	struct leakcheck check = {0};
	struct loaded loaded = {0};
	struct prof *live = prof_new(), *p = live;
	struct unrecorded u;
	struct buf walked = {0};
	struct err e = {0};
	char *name = NULL;
	int status, r;

	if (a->log_file != NULL && log_name(a->log_file, 1, 0, &name, &e) < 0)
		return cmd_usage(&cmd_leaks, "--log-file: %s", e.msg);
	free(name);
	argc = unrecorded_words(&a->heap, argc, argv);
	if (argc == 2 && !format_is_program(argv[0]) && !format_is_program(argv[1]))
		return cmd_usage(&cmd_leaks,
				 "%s and %s: one process, core or recording at a time; "
				 "to compare two: seep diff",
				 argv[0], argv[1]);
	status = leak_opts_read(&cmd_leaks, &a->leak);
	if (status == CMD_OK)
		status = leak_rounds_check(&a->rounds, &a->demand, &cmd_leaks);
	if (status != CMD_OK)
		return status;
	if (argc == 1 && unrecorded_find(&a->heap, argv[0], UNRECORDED_NOT_ALL, &u)) {
		bool told = false;

		r = look_at_unrecorded(a, &u, argv[0], live, &walked, &check, &told, &e);
		if (told) {
			prof_free(live);
			return r;
		}
	} else if (argc == 1 && target_find(argv[0], &f, NULL) == 0) {
		r = look_at_recorded(a, &f, live, &check, &e);
	} else {
		if (leak_demand_given(&a->demand) || a->rounds.every_ns > 0)
			r = err_set(
				&e, -EINVAL,
				"%s: not a running process that is recorded, which --new, "
				"--way, --every and the like are for",
				argc > 0 ? argv[0] : "@last");
		else
			r = load_targets(argc, argv, NULL, &loaded, &e);
		p = loaded.p;
		if (r == 0)
			r = check_saved(p, argc > 0 ? argv[0] : "@last", &e);
	}
	if (r < 0)
		status = cmd_fail(&e);
	else if (!a->demand.dry_run)
		status = print(a, p, &check, loaded.name != NULL ? loaded.name : argv[0],
			       loaded.exe, &walked);
	leakcheck_done(&check);
	buf_done(&walked);
	livefile_close(&f);
	loaded_done(&loaded);
	prof_free(live);
	return status;
}

static int
run_leaks_cmd(void *opts, int argc, char **argv)
{
	int status;

	interrupt_begin();
	status = check_and_print(opts, argc, argv);
	interrupt_end();
	return status;
}

const struct cmd cmd_leaks = {
	.name = "leaks",
	.args = "[PID|NAME|FILE] [PROGRAM]",
	.help = "find leaked memory in a process, core or recording",
	.man = "seep-leaks",
	.opts = leaks_opts,
	.opts_bytes = sizeof(struct leaks_args),
	.min_args = 0,
	.max_args = 2,
	.run = run_leaks_cmd,
	.done = leaks_done,
};
