/* SPDX-License-Identifier: MIT */
/* cmd_attach.c -- `seep attach`: record a running process for a while.
 *
 * The report goes to stderr or --log-file. A signal (SIGINT, SIGTERM, SIGHUP) and the end
 * of all processes end it early: the recorder is removed, then the report is made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/process/regions.h"
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
#define LOOKS 20 /* intervals that growth is judged by */

struct attach_args {
	char *around_output; /* ours, to be freed */
	uint64_t for_ns, every_ns, count, max_bytes, max_stop_ns;
	struct opt_optional sample;
	double budget; /* a share */
	bool max_stop_given, exact, stay, dry_run, json, children, no_names, budget_given;
	const char *output, *log_file, *cgroup, *html, *around;
};

static int
set_budget(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct attach_args *a = to;
	char *end;
	double n = strtod(v->text, &end);

	(void)o;
	if (end == v->text || (*end != '\0' && strcmp(end, "%") != 0) || !(n > 0) ||
	    n > 100)
		return err_set(e, -EINVAL,
			       "--budget: \"%s\" is not a percentage of a core", v->text);
	a->budget = n / 100;
	a->budget_given = true;
	return 0;
}

static int
set_max_stop(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct attach_args *a = to;

	(void)o, (void)e;
	a->max_stop_ns = v->u64;
	a->max_stop_given = true;
	return 0;
}

#define AT(member) .at = offsetof(struct attach_args, member)

static const struct opt attach_opts[] = {
	{"for", 0, OPT_DURATION, AT(for_ns), .metavar = "TIME",
	 .help = "Record for TIME, or until Ctrl-C (60s, 0 = no limit)."},
	{"budget", 0, OPT_STRING, .set = set_budget, .metavar = "PERCENT",
	 .help = "Adapt the sampling rate so that the recorder uses at most PERCENT "
		 "of a core (1%)."},
	{"sample", 0, OPT_SIZE_OPTIONAL, AT(sample), .metavar = "N",
	 .help = "Record one allocation per N bytes on average, at a fixed rate "
		 "(32K)."},
	{"exact", 0, OPT_NONE, AT(exact), .help = "Record every allocation."},
	{"every", 0, OPT_DURATION, AT(every_ns), .metavar = "TIME",
	 .help = "Also print a report every TIME while recording."},
	{"count", 'c', OPT_U64, AT(count), .metavar = "N",
	 .help = "Stop after N of these reports."},
	{"around", 0, OPT_STRING, AT(around), .metavar = "CMD",
	 .help = "Run CMD with sh -c, set a mark before and after it, and report "
		 "the growth between the marks."},
	{"stay", 0, OPT_NONE, AT(stay),
	 .help = "Return at once and keep recording until seep detach."},
	{"children", 0, OPT_NONE, AT(children),
	 .help = "Attach to child processes, too, and count those that were missed."},
	{"cgroup", 0, OPT_STRING, AT(cgroup), .metavar = "PATH",
	 .help = "Attach to every process of the control group PATH."},
	{"dry-run", 0, OPT_NONE, AT(dry_run),
	 .help = "Print what attaching would do, and do nothing."},
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Save the recording as FILE."},
	{"html", 0, OPT_STRING, AT(html), .metavar = "FILE",
	 .help = "Also write the report to FILE as a web page."},
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write the report to FILE instead of stderr."},
	{"json", 0, OPT_NONE, AT(json),
	 .help = "Print the report as JSON to stderr, or to --log-file."},
	{"max-size", 0, OPT_SIZE, AT(max_bytes), .metavar = "N",
	 .help = "Limit the recording of each process to N bytes (256M; 4G with "
		 "--exact)."},
	{"max-stop", 0, OPT_DURATION, .set = set_max_stop, .metavar = "TIME",
	 .help = "Refuse to attach, or skip the final leak check, if seep estimates "
		 "that it would stop the process for longer than TIME (10ms, for "
		 "the leak check only; 0 = no leak check)."},
	CMD_COLOR_OPT,
	{"no-names", 0, OPT_NONE, AT(no_names),
	 .help = "Save no function names: faster, and a smaller file."},
	{0},
};

/* A name may be that of more processes than the user thinks of: pids from `first` on are
 * its. */
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
find_pids(const struct attach_args *o, int argc, char **argv, struct procfs_pids *pids,
	  struct err *e)
{
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++) {
		size_t first = pids->len;

		r = attached_pids(argv[i], pids, e);
		/* JSON on stderr stays JSON: it lists them. */
		if (r == 0 && pids->len > first + 1 && !o->dry_run &&
		    (!o->json || o->log_file != NULL))
			tell_several(argv[i], pids, first);
	}
	if (r == 0 && o->cgroup != NULL)
		r = attached_cgroup(o->cgroup, pids, e);
	return r;
}

/* ---- settings ---- */

static int
check_args(const struct attach_args *o, int argc)
{
	if (argc == 0 && o->cgroup == NULL)
		return cmd_usage(&cmd_attach,
				 "which process? Give a PID, a name, or --cgroup");
	if (o->exact && (o->sample.given || o->budget_given))
		return cmd_usage(
			&cmd_attach,
			"--exact takes no samples: no --sample or --budget with it");
	if (o->sample.given && o->budget_given)
		return cmd_usage(&cmd_attach,
				 "--sample fixes the rate that --budget adapts");
	if (o->sample.has_value && (o->sample.value == 0 || o->sample.value > RATE_MAX))
		return cmd_usage(&cmd_attach, "--sample: from 1 to 1G");
	if (o->count > 0 && o->every_ns == 0)
		return cmd_usage(&cmd_attach, "--count says how often --every reports");
	if (o->stay &&
	    (o->every_ns > 0 || o->output != NULL || o->html != NULL || o->children))
		return cmd_usage(&cmd_attach,
				 "--stay returns at once: seep detach reports");
	if (o->around != NULL && (o->stay || o->every_ns > 0 || o->html != NULL))
		return cmd_usage(&cmd_attach, "--around is one comparison: not with "
					      "--stay, --every or --html");
	if (o->json && o->every_ns > 0)
		return cmd_usage(&cmd_attach, "--json is one report: not with --every");
	if (o->max_bytes != 0 && o->max_bytes < UINT64_C(2) << 20)
		return cmd_usage(&cmd_attach, "--max-size: at least 2M");
	return 0;
}

static struct session_settings
settings(const struct attach_args *o)
{
	struct session_settings s = {
		.attach =
			{
				.mode = o->exact ? REC_MODE_EXACT : REC_MODE_SAMPLE,
				.rate_bytes = o->sample.has_value ? o->sample.value
								  : SESSION_RATE_DEFAULT,
				.max_bytes = o->max_bytes != 0 ? o->max_bytes
					     : o->exact	       ? MAX_SIZE_EXACT
							       : MAX_SIZE_SAMPLED,
				.stay = o->stay,
			},
		.budget = o->sample.given ? 0 : o->budget,
		.max_stop_ns = o->max_stop_given ? o->max_stop_ns : 0,
		.looks_ms = o->for_ns > 0 ? o->for_ns / 1000000 / LOOKS : 1000,
	};

	if (s.looks_ms < 50)
		s.looks_ms = 50;
	return s;
}

/* ---- reports ---- */

/* Of several processes the first one's files are asked: they are mostly of one
 * program. */
static void
resolve(struct prof **p, const struct attached_sessions *ss)
{
	const struct session *s = ss->data[0];

	names_resolve_confined(p, &(struct names_opts){.pid = s->pid}, s->uid, s->gid);
}

static struct prof *
load_named(const struct attach_args *o, const struct attached_sessions *ss,
	   struct attached_check *checks)
{
	struct prof *p = attached_load(ss, checks, o->children);

	save_coverage(p);
	if (!o->no_names || o->output == NULL)
		resolve(&p, ss);
	return p;
}

/* Is it mappings of the program's own that grow? Nobody sees mmap from outside. */
static bool
maps_grow(struct prof *p)
{
	uint32_t mappings = prof_str(p, region_kind_plural(REGION_MAPPING));
	bool grow = false;

	for (uint32_t i = 0; i < p->nmemories; i++)
		grow |= p->memories[i].grows && p->memories[i].kind == mappings;
	return grow;
}

/* What is not known of reachability, seep leaks can tell: it may stop the process for
 * longer. */
static void
next_step(const struct attach_args *o, struct buf *out, int pid, struct prof *p,
	  bool heap)
{
	const struct prof_check *c = prof_check_of(p, p->nprocesses - 1);

	buf_add_str(out, "next: ");
	if (maps_grow(p)) {
		buf_printf(out,
			   "seep why %d (which regions grow); seep attach does not "
			   "record mmap: start it with seep run --mmap\n",
			   pid);
		return;
	}
	if (!heap)
		buf_printf(out, "seep why %d (which regions grow) \xc2\xb7 ", pid);
	else if (c == NULL || !c->done)
		buf_printf(out,
			   "seep leaks %d (leaks so far, and owners of memory) \xc2\xb7 ",
			   pid);
	buf_printf(out, "seep attach --for %s %d (longer sees slower leaks)\n",
		   o->for_ns < 600 * NS ? "10m" : "1h", pid);
}

static void
report(const struct attach_args *o, FILE *to, const struct attached_sessions *ss,
       struct prof *p, const char *saved, bool over)
{
	struct report_opts ro = {.ascii = !report_locale_is_utf8(),
				 .saved = saved,
				 .saved_names = !o->no_names};
	struct buf b = {0};
	struct term term;
	bool heap = true;
	size_t foot;

	term_init(&term, clean_fd(to));
	if (term.tty)
		ro.term = &term;
	if (o->json)
		report_json(&b, p, &ro);
	else
		report_text(&b, p, &ro);
	foot = b.len;
	if (!o->json && over && ss->len == 1)
		heap = attach_account(&b, ss->data[0]);
	for (size_t i = 0; !o->json && i < ss->len; i++)
		attach_foot(&b, ss->data[i], over);
	if (!o->json && over && o->output == NULL)
		buf_add_str(&b, "not saved (-o FILE saves it)\n");
	if (!o->json && over && ss->len == 1 && !ss->data[0]->ended && o->for_ns > 0)
		next_step(o, &b, ss->data[0]->pid, p, heap);
	wrap_term(&b, foot, ro.term);
	fputs(buf_str(&b), to);
	fflush(to);
	buf_done(&b);
}

static int
write_files(const struct attach_args *o, struct prof *p, const char **ret_saved,
	    struct err *e)
{
	int r = 0;

	if (o->output != NULL)
		r = pack_save(p, o->output, e);
	if (o->output != NULL && r == 0) {
		char *path = realpath(o->output, NULL);

		if (path != NULL)
			last_write(path, NULL);
		free(path);
		*ret_saved = o->output;
	}
	if (r == 0 && o->html != NULL)
		r = pages_write(&(struct pages){.html = o->html, .title = "seep attach"},
				p, &(struct graph_query){.grain = GRAPH_FUNCTIONS}, NULL,
				NULL, e);
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
	 const struct attach_settings *s, bool checks)
{
	const struct plan *p = &a->plan;
	const struct object *from =
		&p->objects.all.data[p->allocators.functions.data[0].object];
	struct procfs_stat st = {0};
	uint64_t bytes = 0;

	procfs_stat(f->pid, &st, NULL);
	for (size_t i = 0; i < p->patches.len; i++)
		bytes += p->patches.data[i].bytes;
	printf("would attach to %d (%s): %u functions of %s, %s\n", f->pid, f->comm,
	       p->hooked, from->path,
	       p->by_words ? "by the words that the loader bound to them"
			   : "by a jump at the entry of each");
	printf("would write %s of code and data, and change %s bytes of the "
	       "process in %zu locations\n",
	       fmt_size(p->image_bytes).s, fmt_count(bytes).s, p->patches.len);
	printf("would map %s of address space, of which about 3 MiB are used at first\n",
	       fmt_size(p->code.bytes + p->data.bytes + s->max_bytes).s);
	printf("would stop it twice, for up to about %.0f ms each (threads: %u)%s\n",
	       (double)attach_expect_ns(f->pid) / 1e6, (unsigned)st.threads,
	       checks ? ", and a third time for the leak check (--max-stop)" : "");
	printf("allowed: %s%s%s\n", f->cap_ptrace ? "CAP_SYS_PTRACE" : "same user",
	       f->seccomp == 2 ? ", its seccomp filter is suspended meanwhile" : "",
	       f->other_namespace ? ", reading its files through /proc/PID/root" : "");
	if (p->left_out.len > 0)
		printf("would not hook: %s\n", buf_str(&p->left_out));
	printf("nothing was touched\nnext: seep attach %d\n", f->pid);
}

static int
dry_run(const struct attach_args *o, const struct procfs_pids *pids,
	const struct session_settings *s)
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
			say_plan(&f, &a, &s->attach, o->max_stop_ns > 0);
		attach_close(&a);
	}
	return status;
}

/* ---- the run ---- */

struct job {
	const struct attach_args *o;
	FILE *log;
};

/* --every: what there is up to now. */
static void
report_now(void *ctx, struct attached_sessions *ss)
{
	const struct job *j = ctx;
	struct prof *p = load_named(j->o, ss, NULL);

	report(j->o, j->log, ss, p, NULL, false);
	fputc('\n', j->log);
	prof_free(p);
}

/* Looks for leaks in all of them, while they are recorded. To be freed. */
static struct attached_check *
check_all(const struct attach_args *o, struct attached_sessions *ss)
{
	struct attached_check *checks = xcalloc(ss->len, sizeof *checks);

	attached_beat_begin(ss);
	for (size_t i = 0; i < ss->len; i++) {
		checks[i] = (struct attached_check)ATTACHED_CHECK_NONE;
		attached_check_run(&checks[i], ss->data[i], o->max_stop_ns);
	}
	attached_beat_end();
	return checks;
}

static int
finish(const struct attach_args *o, struct attached_sessions *ss, FILE *log)
{
	struct attached_check *checks = check_all(o, ss);
	const char *saved = NULL;
	struct err e = {0};
	struct prof *p;
	int status = CMD_OK;

	if (!attached_detach(ss))
		status = CMD_FAILED;
	p = load_named(o, ss, checks);
	if (write_files(o, p, &saved, &e) < 0)
		status = cmd_fail(&e);
	if (o->no_names)
		resolve(&p, ss);
	report(o, log, ss, p, saved, true);
	prof_free(p);
	for (size_t i = 0; i < ss->len; i++)
		attached_check_done(&checks[i]);
	free(checks);
	return status;
}

static int
record(const struct attach_args *o, struct attached_sessions *ss,
       const struct session_settings *s, FILE *log)
{
	struct job j = {o, log};
	struct attached_run how = {.for_ns = o->for_ns,
				   .every_ns = o->every_ns,
				   .count = o->count,
				   .children = o->children ? s : NULL,
				   .report = report_now,
				   .ctx = &j};
	struct err e = {0};
	int r = attached_run(ss, &how, &e), status = finish(o, ss, log);

	return r < 0 ? cmd_fail(&e) : status;
}

/* --around: the exit status is the command's own, unless something of ours fails. */
static int
around(struct attach_args *o, struct attached_sessions *ss, FILE *log)
{
	const char *saved = NULL;
	struct err e = {0};
	struct buf foot = {0};
	struct prof *p;
	bool out;
	int status = 0, ran = around_run(ss, o->around, &status, &e), r;

	out = attached_detach(ss);
	r = ran;
	if (r == 0 && o->output == NULL) {
		r = around_output(ss->data[0]->pid, &o->around_output, &e);
		o->output = o->around_output;
	}
	if (r == 0) {
		p = load_named(o, ss, NULL);
		r = write_files(o, p, &saved, &e);
		prof_free(p);
	}
	if (r == 0 && cmd_diff_marks(log, o->output, AROUND_BEFORE, AROUND_AFTER,
				     o->json) == CMD_FAILED)
		status = CMD_FAILED;
	if (r == 0 && status != 0 && status != CMD_FAILED)
		buf_printf(&foot, "the command ended with status %d\n", status);
	attach_foot(&foot, ss->data[0], true);
	if (!o->json)
		fputs(buf_str(&foot), log);
	buf_done(&foot);
	return r < 0 ? cmd_fail(&e) : out ? status : CMD_FAILED;
}

static FILE *
open_log(const struct attach_args *o, struct err *e)
{
	FILE *f = o->log_file != NULL ? clean_open(o->log_file) : stderr;

	if (f == NULL)
		err_sys(e, -errno, "%s", o->log_file);
	return f;
}

static int
attach_run(void *opts, int argc, char **argv)
{
	struct attach_args *o = opts;
	struct session_settings s = settings(o);
	struct attached_sessions ss = {0};
	struct procfs_pids pids = {0};
	struct err e = {0};
	FILE *log = NULL;
	int status = check_args(o, argc), r;
	size_t meant;

	if (status != 0)
		return status;
	r = find_pids(o, argc, argv, &pids, &e);
	if (r == 0 && o->dry_run) {
		status = dry_run(o, &pids, &s);
		vec_done(&pids);
		return status;
	}
	/* Not found out only when hours of recording are to be saved. */
	if (r == 0 && o->output != NULL && (r = out_check(o->output, "rec", &e)) == 0)
		r = file_out_check(o->output, &e);
	if (r == 0 && o->html != NULL && (r = out_check(o->html, "html", &e)) == 0)
		r = file_out_check(o->html, &e);
	if (r == 0 && o->log_file != NULL)
		r = out_check_log(o->log_file, &e);
	if (r == 0 && (log = open_log(o, &e)) == NULL)
		r = e.code;
	attached_signals();
	if (r == 0 && o->around != NULL && pids.len != 1)
		r = err_set(&e, -EINVAL,
			    "--around compares one process, and %zu are meant", pids.len);
	if (r == 0)
		r = attached_open(&pids, &s, &ss, &e);
	meant = pids.len;
	vec_done(&pids);
	if (r < 0) {
		status = cmd_fail_output(&e);
	} else if (o->stay) {
		status = stayed(&ss);
	} else if (o->around != NULL) {
		status = around(o, &ss, log);
	} else {
		status = record(o, &ss, &s, log);
	}
	if (r > 0 && (size_t)r < meant && status == CMD_OK)
		status = CMD_FAILED; /* each was told */
	if (log != NULL && log != stderr && fclose(log) != 0)
		cmd_note("%s: cannot write the report", o->log_file);
	attached_done(&ss);
	free(o->around_output);
	return status;
}

const struct cmd cmd_attach = {
	.name = "attach",
	.args = "PID|NAME...",
	.help = "record a running process for a while, without a restart",
	.man = "seep-attach",
	.needs_proc = true,
	.opts = attach_opts,
	.opts_bytes = sizeof(struct attach_args),
	.defaults = &(const struct attach_args){.for_ns = 60 * NS,
						.budget = 0.01,
						.max_stop_ns = ATTACHED_CHECK_STOP_NS},
	.min_args = 0,
	.max_args = CMD_ANY_ARGS,
	.run = attach_run,
};
