/* SPDX-License-Identifier: MIT */
/* cmd_attach.c -- `seep attach`: record a process that runs already, for a while, and leave it as it
 * was.
 *
 * The report goes to stderr, or to --log-file, as that of `seep run`. Whatever ends us before the time
 * is over (SIGINT, SIGTERM, SIGHUP, the end of all processes) ends in the same way: the recorder is
 * taken out first, then the report is made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/cli/page_files.h"
#include "tool/format/pack/pack.h"
#include "tool/render/report/report.h"
#include "tool/render/watch/attach_foot.h"
#include "tool/render/wrap.h"
#include "tool/session/attach/attached.h"
#include "tool/session/attach/attached_around.h"
#include "tool/session/attach/attached_beat.h"
#include "tool/session/attach/attached_check.h"
#include "tool/session/last.h"
#include "tool/session/names/names_confined.h"
#include "tool/session/out_file.h"
#include "tool/session/run/save.h"
#include "tool/target/attach/refusal.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

#define NS UINT64_C(1000000000)
#define RATE_MAX (UINT64_C(1) << 30)
#define MAX_SIZE_SAMPLED (UINT64_C(256) << 20)
#define MAX_SIZE_EXACT (UINT64_C(4) << 30)

enum {
	CHILDREN_NS = 100000000, /* between two looks for new ones */
	LOOKS = 20,		 /* intervals that growth is judged by */
};

static struct {
	uint64_t for_ns, every_ns, count, max_bytes, max_stop_ns;
	struct opt_optional sample;
	double budget; /* a share */
	bool max_stop_given, exact, stay, dry_run, json, children, no_names, budget_given;
	const char *output, *log_file, *cgroup, *html, *around;
} args = {.for_ns = 60 * NS, .budget = 0.01, .max_stop_ns = ATTACHED_CHECK_STOP_NS};

static int
set_budget(void *ctx, const struct opt *o, const struct opt_value *v, struct err *e)
{
	char *end;
	double n = strtod(v->text, &end);

	(void)ctx, (void)o;
	if (end == v->text || (*end != '\0' && strcmp(end, "%") != 0) || !(n > 0) ||
	    n > 100)
		return err_set(e, -EINVAL, "--budget: \"%s\" is no percentage of a core",
			       v->text);
	args.budget = n / 100;
	args.budget_given = true;
	return 0;
}

static int
set_max_stop(void *ctx, const struct opt *o, const struct opt_value *v, struct err *e)
{
	(void)ctx, (void)o, (void)e;
	args.max_stop_ns = v->u64;
	args.max_stop_given = true;
	return 0;
}

static const struct opt attach_opts[] = {
	{"for", 0, OPT_DURATION, .to = &args.for_ns, .metavar = "TIME",
	 .help = "Record for so long; 0 = until Ctrl-C (60s)."},
	{"budget", 0, OPT_STRING, .set = set_budget, .metavar = "PERCENT",
	 .help = "Take no more of a core than this: adapts the rate (1%)."},
	{"sample", 0, OPT_SIZE_OPTIONAL, .to = &args.sample, .metavar = "N",
	 .help = "Record one allocation in about N bytes, always (32K)."},
	{"exact", 0, OPT_NONE, .to = &args.exact, .help = "Record every allocation."},
	{"every", 0, OPT_DURATION, .to = &args.every_ns, .metavar = "TIME",
	 .help = "Also report so often while it is recorded."},
	{"count", 'c', OPT_U64, .to = &args.count, .metavar = "N",
	 .help = "End after N of these reports."},
	{"around", 0, OPT_STRING, .to = &args.around, .metavar = "CMD",
	 .help = "Run CMD by sh -c, and report what it changed: marks before and after."},
	{"stay", 0, OPT_NONE, .to = &args.stay,
	 .help = "Leave the recorder in and return; seep detach ends it."},
	{"children", 0, OPT_NONE, .to = &args.children,
	 .help = "Attach to the children of these processes, too, and count those that were missed."},
	{"cgroup", 0, OPT_STRING, .to = &args.cgroup, .metavar = "PATH",
	 .help = "Attach to every process of that control group."},
	{"dry-run", 0, OPT_NONE, .to = &args.dry_run,
	 .help = "Say what would be done, and touch nothing."},
	{"output", 'o', OPT_STRING, .to = &args.output, .metavar = "FILE",
	 .help = "Save the recording there."},
	{"html", 0, OPT_STRING, .to = &args.html, .metavar = "FILE",
	 .help = "Write a page for the browser, too."},
	{"log-file", 0, OPT_STRING, .to = &args.log_file, .metavar = "FILE",
	 .help = "Write the report there instead of to stderr."},
	{"json", 0, OPT_NONE, .to = &args.json,
	 .help = "Report as JSON, to stderr or --log-file."},
	{"max-size", 0, OPT_SIZE, .to = &args.max_bytes, .metavar = "N",
	 .help = "Most that the recording of one process may take (256M, exact 4G)."},
	{"max-stop", 0, OPT_DURATION, .set = set_max_stop, .metavar = "TIME",
	 .help = "Refuse to attach, or skip the leak check at the end, if the process is "
		 "expected to be stopped for longer, which is an estimate; 0 = no leak check "
		 "(10ms, for the leak check only)."},
	{"no-names", 0, OPT_NONE, .to = &args.no_names,
	 .help = "Save without names: smaller and sooner done."},
	{0},
};

/* A name may be that of more processes than the user thinks of: pids from `first` on are its. */
static void
tell_several(const char *name, const struct procfs_pids *pids, size_t first)
{
	enum { LISTED = 8 };
	size_t n = pids->len - first;
	struct buf list = {0};

	for (size_t i = 0; i < n && i < LISTED; i++)
		buf_printf(&list, "%s%d", i > 0 ? ", " : "", pids->data[first + i]);
	if (n > LISTED)
		buf_printf(&list, " and %zu more", n - LISTED);
	cmd_note("%zu processes are called %s, all of them are attached to: %s", n, name,
		 buf_str(&list));
	buf_done(&list);
}

static int
find_pids(int argc, char **argv, struct procfs_pids *pids, struct err *e)
{
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++) {
		size_t first = pids->len;

		r = attached_pids(argv[i], pids, e);
		/* JSON on stderr stays JSON: it lists them. */
		if (r == 0 && pids->len > first + 1 && !args.dry_run &&
		    (!args.json || args.log_file != NULL))
			tell_several(argv[i], pids, first);
	}
	if (r == 0 && args.cgroup != NULL)
		r = attached_cgroup(args.cgroup, pids, e);
	return r;
}

/* ---- settings ---- */

static int
check_args(int argc)
{
	if (argc == 0 && args.cgroup == NULL)
		return cmd_usage(&cmd_attach,
				 "which process? Give a PID, a name, or --cgroup");
	if (args.exact && (args.sample.given || args.budget_given))
		return cmd_usage(
			&cmd_attach,
			"--exact takes no samples: no --sample or --budget with it");
	if (args.sample.given && args.budget_given)
		return cmd_usage(&cmd_attach,
				 "--sample fixes the rate that --budget adapts");
	if (args.sample.has_value &&
	    (args.sample.value == 0 || args.sample.value > RATE_MAX))
		return cmd_usage(&cmd_attach, "--sample: from 1 to 1G");
	if (args.count > 0 && args.every_ns == 0)
		return cmd_usage(&cmd_attach, "--count says how often --every reports");
	if (args.stay && (args.every_ns > 0 || args.output != NULL || args.html != NULL ||
			  args.children))
		return cmd_usage(&cmd_attach,
				 "--stay returns at once: seep detach reports");
	if (args.around != NULL && (args.stay || args.every_ns > 0 || args.html != NULL))
		return cmd_usage(&cmd_attach, "--around is one comparison: not with "
					      "--stay, --every or --html");
	if (args.json && args.every_ns > 0)
		return cmd_usage(&cmd_attach, "--json is one report: not with --every");
	if (args.max_bytes != 0 && args.max_bytes < UINT64_C(2) << 20)
		return cmd_usage(&cmd_attach, "--max-size: at least 2M");
	return 0;
}

static struct session_settings
settings(void)
{
	struct session_settings s = {
		.attach =
			{
				.mode = args.exact ? REC_MODE_EXACT : REC_MODE_SAMPLE,
				.rate_bytes = args.sample.has_value
						      ? args.sample.value
						      : SESSION_RATE_DEFAULT,
				.max_bytes = args.max_bytes != 0 ? args.max_bytes
					     : args.exact	 ? MAX_SIZE_EXACT
								 : MAX_SIZE_SAMPLED,
				.stay = args.stay,
			},
		.budget = args.sample.given ? 0 : args.budget,
		.max_stop_ns = args.max_stop_given ? args.max_stop_ns : 0,
		.looks_ms = args.for_ns > 0 ? args.for_ns / 1000000 / LOOKS : 1000,
	};

	if (s.looks_ms < 50)
		s.looks_ms = 50;
	return s;
}

/* ---- reports ---- */

/* Of several processes the first one's files are asked: they are mostly of one program. */
static void
resolve(struct prof **p, const struct attached_sessions *ss)
{
	const struct session *s = ss->data[0];

	names_resolve_confined(p, &(struct names_opts){.pid = s->pid}, s->uid, s->gid);
}

static struct prof *
load_named(const struct attached_sessions *ss, struct attached_check *checks)
{
	struct prof *p = attached_load(ss, checks, args.children);

	save_coverage(p);
	if (!args.no_names || args.output == NULL)
		resolve(&p, ss);
	return p;
}

/* What is not known of reachability, seep leaks can tell: it may stop the process for longer. */
static void
next_step(struct buf *out, int pid, const struct prof *p, bool heap)
{
	const struct prof_check *c = prof_check_of(p, p->nprocesses - 1);

	buf_add_str(out, "next: ");
	if (!heap)
		buf_printf(out, "seep why %d (which regions grow) \xc2\xb7 ", pid);
	else if (c == NULL || !c->done)
		buf_printf(out,
			   "seep leaks %d (what is lost, and who holds it) \xc2\xb7 ",
			   pid);
	buf_printf(out, "seep attach --for %s %d (longer sees slower leaks)\n",
		   args.for_ns < 600 * NS ? "10m" : "1h", pid);
}

static void
report(FILE *to, const struct attached_sessions *ss, struct prof *p, const char *saved,
       bool over)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.saved = saved,
				.saved_names = !args.no_names};
	struct buf b = {0};
	struct term term;
	bool heap = true;
	size_t foot;

	term_init(&term, clean_fd(to));
	if (term.tty)
		o.term = &term;
	if (args.json)
		report_json(&b, p, &o);
	else
		report_text(&b, p, &o);
	foot = b.len;
	if (!args.json && over && ss->len == 1)
		heap = attach_account(&b, ss->data[0]);
	for (size_t i = 0; !args.json && i < ss->len; i++)
		attach_foot(&b, ss->data[i], over);
	if (!args.json && over && ss->len == 1 && !ss->data[0]->ended && args.for_ns > 0)
		next_step(&b, ss->data[0]->pid, p, heap);
	wrap_term(&b, foot, o.term);
	fputs(buf_str(&b), to);
	fflush(to);
	buf_done(&b);
}

static int
write_files(struct prof *p, const char **ret_saved, struct err *e)
{
	int r = 0;

	if (args.output != NULL)
		r = pack_save(p, args.output, e);
	if (args.output != NULL && r == 0) {
		char *path = realpath(args.output, NULL);

		if (path != NULL)
			last_write(path, NULL);
		free(path);
		*ret_saved = args.output;
	}
	if (r == 0 && args.html != NULL)
		r = pages_write(
			&(struct pages){.html = args.html, .title = "seep attach"}, p,
			&(struct graph_query){.grain = GRAPH_FUNCTIONS}, NULL, NULL, e);
	return r;
}

/* ---- --stay, --dry-run ---- */

static int
stayed(const struct attached_sessions *ss)
{
	for (size_t i = 0; i < ss->len; i++) {
		struct session *s = ss->data[i];

		session_leave(s);
		fprintf(stderr,
			"recording %d (%s), stopped %.1f ms to begin\n"
			"next: seep report %d (look at it) \xc2\xb7 seep detach %d (end it)\n",
			s->pid, s->stat.comm, (double)s->attach.stopped_ns / 1e6, s->pid,
			s->pid);
	}
	return CMD_OK;
}

static void
say_plan(const struct refusal_facts *f, const struct attach *a,
	 const struct attach_settings *s)
{
	const struct plan *p = &a->plan;
	const struct object *o =
		&p->objects.all.data[p->allocators.functions.data[0].object];
	struct procfs_stat st = {0};
	uint64_t bytes = 0;

	procfs_stat(f->pid, &st, NULL);
	for (size_t i = 0; i < p->patches.len; i++)
		bytes += p->patches.data[i].bytes;
	printf("would attach to %d (%s): %u functions of %s, %s\n", f->pid, f->comm,
	       p->hooked, o->path,
	       p->by_words ? "by the words that the loader bound to them"
			   : "by a jump at the entry of each");
	printf("would write %s of code and data of ours and %s bytes of its own in %zu "
	       "places\n",
	       fmt_size(p->image_bytes).s, fmt_count(bytes).s, p->patches.len);
	printf("would map %s of address space, of which about 3 MiB are used at first\n",
	       fmt_size(p->code.bytes + p->data.bytes + s->max_bytes).s);
	printf("would stop it twice, for up to about %.0f ms each (threads: %u)%s\n",
	       (double)attach_expect_ns(f->pid) / 1e6, (unsigned)st.threads,
	       args.max_stop_ns > 0 ? ", and a third time for the leak check (--max-stop)"
				    : "");
	printf("allowed: %s%s%s\n", f->cap_ptrace ? "CAP_SYS_PTRACE" : "same user",
	       f->seccomp == 2 ? ", its seccomp filter is suspended meanwhile" : "",
	       f->other_namespace ? ", reading its files through /proc/PID/root" : "");
	if (p->left_out.len > 0)
		printf("would not hook: %s\n", buf_str(&p->left_out));
	printf("nothing was touched\nnext: seep attach %d\n", f->pid);
}

static int
dry_run(const struct procfs_pids *pids, const struct session_settings *s)
{
	int status = CMD_OK;

	for (size_t i = 0; i < pids->len; i++) {
		struct attach a = ATTACH_NOTHING;
		struct refusal_facts f;
		struct err e = {0};

		refusal_read(pids->data[i], &f);
		if (refusal_check(&f, &e) < 0 ||
		    attach_look(pids->data[i], &s->attach, &a, &e) < 0)
			status = cmd_fail(&e);
		else
			say_plan(&f, &a, &s->attach);
		attach_close(&a);
	}
	return status;
}

/* ---- the run ---- */

static void
record(struct attached_sessions *ss, const struct session_settings *s, FILE *log)
{
	uint64_t start = session_age_ms(ss->data[0]);
	struct attached_kin kin = {.every_ns = CHILDREN_NS, .sparing = true};
	uint64_t next_report = args.every_ns / 1000000, reports = 0;

	for (;;) {
		uint64_t ms = session_age_ms(ss->data[0]) - start;

		attached_tick(ss);
		if (args.children)
			attached_children(ss, s, &kin);
		if (args.every_ns > 0 && ms >= next_report) {
			reports++;
			if (args.count > 0 && reports >= args.count)
				return; /* the last one is made when it is over */
			struct prof *p;

			attached_beat_begin(ss);
			p = load_named(ss, NULL);
			report(log, ss, p, NULL, false);
			fputc('\n', log);
			prof_free(p);
			attached_beat_end();
			next_report += args.every_ns / 1000000;
		}
		if (attached_all_ended(ss) || attached_wait())
			return;
		if (args.count == 0 && args.for_ns > 0 && ms >= args.for_ns / 1000000)
			return;
	}
}

/* Looks for leaks in all of them, while they are recorded. To be freed. */
static struct attached_check *
check_all(struct attached_sessions *ss)
{
	struct attached_check *checks = xcalloc(ss->len, sizeof *checks);

	attached_beat_begin(ss);
	for (size_t i = 0; i < ss->len; i++) {
		checks[i] = (struct attached_check)ATTACHED_CHECK_NONE;
		attached_check_run(&checks[i], ss->data[i], args.max_stop_ns);
	}
	attached_beat_end();
	return checks;
}

static int
finish(struct attached_sessions *ss, FILE *log)
{
	struct attached_check *checks = check_all(ss);
	const char *saved = NULL;
	struct err e = {0};
	struct prof *p;
	int status = CMD_OK;

	if (!attached_detach(ss))
		status = CMD_FAILED;
	p = load_named(ss, checks);
	if (write_files(p, &saved, &e) < 0)
		status = cmd_fail(&e);
	if (args.no_names)
		resolve(&p, ss);
	report(log, ss, p, saved, true);
	prof_free(p);
	for (size_t i = 0; i < ss->len; i++)
		attached_check_done(&checks[i]);
	free(checks);
	return status;
}

/* Where the recording of --around goes: where the user wants it, or beside the name of the last one. */
static int
around_output(int pid, struct err *e)
{
	char *folder = NULL;
	int r;

	if (args.output != NULL)
		return 0;
	r = last_folder(&folder, e);
	if (r == 0)
		args.output = xasprintf("%s/around.%d.rec", folder, pid);
	free(folder);
	return r;
}

/* Compares the marks in the saved recording, as `seep diff` does: both say the same. */
static int
around_report(FILE *to, const char *recording, bool json)
{
	char *before = xasprintf("%s@" AROUND_BEFORE, recording);
	char *after = xasprintf("%s@" AROUND_AFTER, recording);
	int out, status;

	fflush(stdout);
	fflush(to);
	out = dup(STDOUT_FILENO);
	dup2(clean_fd(to), STDOUT_FILENO);
	status = cmd_diff_two(before, after, json);
	fflush(stdout);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		close(out);
	}
	free(before);
	free(after);
	return status;
}

/* --around: the exit status is the command's own, unless something of ours fails. */
static int
around(struct attached_sessions *ss, FILE *log)
{
	const char *saved = NULL;
	struct err e = {0};
	struct buf foot = {0};
	struct prof *p;
	bool out;
	int status = 0, ran = around_run(ss, args.around, &status, &e), r;

	out = attached_detach(ss);
	r = ran == 0 ? around_output(ss->data[0]->pid, &e) : ran;
	if (r == 0) {
		p = load_named(ss, NULL);
		r = write_files(p, &saved, &e);
		prof_free(p);
	}
	if (r == 0 && around_report(log, args.output, args.json) == CMD_FAILED)
		status = CMD_FAILED;
	if (r == 0 && status != 0 && status != CMD_FAILED)
		buf_printf(&foot, "the command ended with status %d\n", status);
	attach_foot(&foot, ss->data[0], true);
	if (!args.json)
		fputs(buf_str(&foot), log);
	buf_done(&foot);
	return r < 0 ? cmd_fail(&e) : out ? status : CMD_FAILED;
}

static FILE *
open_log(struct err *e)
{
	FILE *f = args.log_file != NULL ? clean_open(args.log_file) : stderr;

	if (f == NULL)
		err_sys(e, -errno, "%s", args.log_file);
	return f;
}

static int
attach_run(void *opts, int argc, char **argv)
{
	struct session_settings s = settings();
	struct attached_sessions ss = {0};
	struct procfs_pids pids = {0};
	struct err e = {0};
	FILE *log = NULL;
	int status = check_args(argc), r;
	size_t meant;

	(void)opts;
	if (status != 0)
		return status;
	r = find_pids(argc, argv, &pids, &e);
	if (r == 0 && args.dry_run) {
		status = dry_run(&pids, &s);
		vec_done(&pids);
		return status;
	}
	/* Not found out only when hours of recording are to be saved. */
	if (r == 0 && args.output != NULL && (r = out_check(args.output, "rec", &e)) == 0)
		r = file_out_check(args.output, &e);
	if (r == 0 && args.html != NULL && (r = out_check(args.html, "html", &e)) == 0)
		r = file_out_check(args.html, &e);
	if (r == 0 && args.log_file != NULL)
		r = out_check_log(args.log_file, &e);
	if (r == 0 && (log = open_log(&e)) == NULL)
		r = e.code;
	attached_signals();
	if (r == 0 && args.around != NULL && pids.len != 1)
		r = err_set(&e, -EINVAL,
			    "--around compares one process, and %zu are meant", pids.len);
	if (r == 0)
		r = attached_open(&pids, &s, &ss, &e);
	meant = pids.len;
	vec_done(&pids);
	if (r < 0) {
		status = cmd_fail_output(&e);
	} else if (args.stay) {
		status = stayed(&ss);
	} else if (args.around != NULL) {
		status = around(&ss, log);
	} else {
		record(&ss, &s, log);
		status = finish(&ss, log);
	}
	if (r > 0 && (size_t)r < meant && status == CMD_OK)
		status = CMD_FAILED; /* each was told */
	if (log != NULL && log != stderr && fclose(log) != 0)
		cmd_note("%s: cannot write the report", args.log_file);
	attached_done(&ss);
	return status;
}

const struct cmd cmd_attach = {
	.name = "attach",
	.args = "PID|NAME...",
	.help = "record a running process for a while, without a restart",
	.man = "seep-attach",
	.needs_proc = true,
	.opts = attach_opts,
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = attach_run,
};
