/* SPDX-License-Identifier: MIT */
/* cmd_report.c -- `seep report`: what is there, from a recording or a running process.
 *
 * Finds what TARGET means, loads it, fills in the names and prints one report. A running process
 * is read through its mapped recording: it is neither stopped nor asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/choose.h"
#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/names.h"
#include "cli/save.h"
#include "format/format.h"
#include "format/live_load.h"
#include "model/prof.h"
#include "render/report.h"
#include "target/find.h"

#include "target/procfs.h"
#include "util/term.h"
#include "util/vec.h"
#include "util/x.h"

static struct {
	bool top, bytes, all, json, no_skip;
	const char *by, *process;
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
	{"top", 0, OPT_NONE, .to = &report_args.top, .help = "Print one place a line."},
	{"bytes", 0, OPT_NONE, .to = &report_args.bytes,
	 .help = "Print whole numbers of bytes instead of KiB, MiB, GiB."},
	{"by", 0, OPT_STRING, .to = &report_args.by, .metavar = "WHAT",
	 .help = "Rank places by live, peak, count, allocated or temporary."},
	{"rows", 'n', OPT_U64, .to = &report_args.rows, .metavar = "N",
	 .help = "List at most N places."},
	{"all", 0, OPT_NONE, .to = &report_args.all,
	 .help = "List every place and process, with whole stacks."},
	{"process", 0, OPT_STRING, .to = &report_args.process, .metavar = "NAME|PID",
	 .help = "Report on these processes of the recording only."},
	{"skip", 0, OPT_STRING, .set = report_add_skip, .metavar = "PATTERN",
	 .help = "Leave out innermost frames of functions or modules like this too."},
	{"no-skip", 0, OPT_NONE, .to = &report_args.no_skip,
	 .help = "Show the frames of allocators and start code as well."},
	{"json", 0, OPT_NONE, .to = &report_args.json,
	 .help = "Print everything as JSON."},
	{0},
};

/* A target as the user wrote it, taken apart. */
struct report_target {
	char *what;  /* file, PID or name */
	char *point; /* behind the last @, "" = none */
	int pid;     /* set when it is a running process */
};

static bool
report_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Cuts a point in time off, but not out of the name of a file that exists. `ret_target` is to be
 * freed also after a failure. */
static int
report_split(const char *text, struct report_target *ret_target, struct err *e)
{
	struct report_target t = {0};
	const char *at = strrchr(text, '@');
	int r = 0;

	if (at == NULL || strcmp(text, "@last") == 0 || report_is_file(text))
		at = text + strlen(text);
	t.what = xmemdup0(text, (size_t)(at - text));
	t.point = xstrdup(*at == '@' ? at + 1 : "");
	/* "@peak" alone is that of the last recording. */
	if (t.what[0] == '\0' || strcmp(t.what, "@last") == 0) {
		free(t.what);
		t.what = NULL;
		r = last_read(&t.what, e);
	}
	*ret_target = t;
	return r;
}

/* What the recording itself cannot know about a process that runs. */
static void
report_look_at(struct prof *p, int pid)
{
	struct prof_process *pr = &p->processes[p->nprocesses - 1];
	uint64_t rss_kib = 0, anon_kib = 0;

	if (procfs_memory(pid, &rss_kib, &anon_kib) == 0) {
		pr->rss_kib = rss_kib;
		pr->anon_kib = anon_kib;
		if (pr->rss_peak_kib < rss_kib)
			pr->rss_peak_kib = rss_kib;
	}
	save_coverage(p);
}

static int
report_load_process(struct report_target *t, struct prof **ret_prof, struct err *e)
{
	struct livefile f = {.fd = -1};
	struct prof *p = prof_new();
	int r = target_find(t->what, &f, e);

	if (r == 0)
		r = save_load_file(&f, p, e);
	if (r == 0) {
		t->pid = f.pid;
		report_look_at(p, f.pid);
		*ret_prof = TAKE(p);
	}
	livefile_close(&f);
	prof_free(p);
	return r;
}

static bool
report_is_number(const char *s)
{
	return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* A number is a process. A file wins over a process of that name if it is a recording: the
 * program itself often lies in the same folder. */
static int
report_load(struct report_target *t, struct prof **ret_prof, struct err *e)
{
	struct err file_err = {0};
	bool file = report_is_file(t->what);
	int r;

	if (!report_is_number(t->what) && (file || strchr(t->what, '/') != NULL)) {
		r = format_load(t->what, ret_prof, &file_err);
		if (r == 0)
			return 0;
		if (strchr(t->what, '/') != NULL ||
		    report_load_process(t, ret_prof, e) < 0) {
			*e = file_err;
			return r;
		}
		return 0;
	}
	r = report_load_process(t, ret_prof, e);
	if (r == -ESRCH && file)
		return format_load(t->what, ret_prof, e);
	if (r == -ESRCH && !report_is_number(t->what))
		return err_set(e, r, "%s: neither a recording nor a process", t->what);
	return r;
}

/* Writes all of it; a closed pipe is the reader's choice and no failure. */
static int
report_print(const struct buf *out, struct err *e)
{
	if (fwrite(buf_str(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0)
		return 0;
	return errno == EPIPE ? 0 : err_sys(e, -errno, "standard output: cannot write");
}

static int
report_show(struct prof *p, const struct report_target *t, struct err *e)
{
	struct skip_opts skip = {.more = report_args.skip.data,
				 .nmore = report_args.skip.len,
				 .off = report_args.no_skip};
	bool *chosen = xcalloc(p->nprocesses, sizeof *chosen);
	struct names_opts names = {.pid = t->pid};
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.bytes = report_args.bytes,
				.top = report_args.top,
				.tables = true,
				.all = report_args.all,
				.by_given = report_args.by != NULL,
				.chosen = chosen,
				.skip = &skip};
	struct buf out = {0};
	struct term term;
	int r = choose_processes(p, report_args.process, chosen, e);

	if (r == 0)
		r = choose_point(p, chosen, t->point, &o.point, e);
	if (r == 0 && o.by_given)
		r = choose_by(report_args.by, &o.by, e);
	if (r == 0) {
		o.rows = report_args.rows > UINT32_MAX ? UINT32_MAX
						       : (uint32_t)report_args.rows;
		term_init(&term, STDOUT_FILENO);
		o.term = &term;
		names_resolve(p, &names);
		if (report_args.json)
			report_json(&out, p, &o);
		else
			report_text(&out, p, &o);
		r = report_print(&out, e);
	}
	buf_done(&out);
	free(chosen);
	return r;
}

static int
report_run(int argc, char **argv)
{
	struct report_target t = {0};
	struct prof *p = NULL;
	struct err e = {0};
	enum sites_by by;
	int r;

	if (report_args.by != NULL && choose_by(report_args.by, &by, &e) < 0)
		return cmd_usage(&cmd_report, "%s", e.msg);
	r = report_split(argc > 0 ? argv[0] : "@last", &t, &e);
	if (r == 0)
		r = report_load(&t, &p, &e);
	if (r == 0)
		r = report_show(p, &t, &e);
	prof_free(p);
	free(t.what);
	free(t.point);
	vec_done(&report_args.skip);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_report = {
	.name = "report",
	.args = "[TARGET][@POINT]",
	.help = "what is there: places by live, peak and allocated memory",
	.man = "seep-report",
	.opts = report_table_opts,
	.min_args = 0,
	.max_args = 1,
	.run = report_run,
};
