/* SPDX-License-Identifier: MIT */
/* cmd_run.c -- `seep run`: start a program recorded, wait for it, save, report.
 *
 * Everything that can fail is tried before the program starts; from then on nothing of
 * ours may end it or change its exit status. The report goes to stderr, or to --log-file,
 * and so does every remark: stdout belongs to the program. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/choose.h"
#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/names.h"
#include "cli/progress.h"
#include "cli/save.h"
#include "format/pack.h"
#include "render/report.h"
#include "target/inspect.h"
#include "target/launch.h"
#include "target/libseep.h"
#include "target/procfs.h"
#include "target/rundir.h"
#include "target/ticker.h"
#include "util/buf.h"
#include "util/fmt.h"
#include "util/term.h"
#include "util/x.h"

#define RATE_DEFAULT (UINT64_C(512) << 10)
#define RATE_MAX (UINT64_C(1) << 30)
#define MAX_SIZE_DEFAULT (UINT64_C(8) << 30)
#define MAX_SIZE_LEAST (UINT64_C(2) << 20) /* the recorder begins nothing smaller */

static bool opt_exact, opt_json, opt_no_children, opt_mmap, opt_no_names;
static struct opt_optional opt_sample;
static const char *opt_output, *opt_log_file, *opt_dir, *opt_process;
static uint64_t opt_checkpoint = UINT64_C(10000000000), opt_max_size = UINT64_MAX;
static uint64_t opt_every = LOOKS_EVERY_MS * UINT64_C(1000000);

static const struct opt run_opts[] = {
	{"exact", 0, OPT_NONE, .to = &opt_exact,
	 .help = "Record every allocation (the default)."},
	{"sample", 0, OPT_SIZE_OPTIONAL, .to = &opt_sample, .metavar = "N",
	 .help = "Record one allocation in about N bytes (512K)."},
	{"output", 'o', OPT_STRING, .to = &opt_output, .metavar = "FILE",
	 .help = "Save the recording there (seep.PROG.PID.rec)."},
	{"dir", 0, OPT_STRING, .to = &opt_dir, .metavar = "DIR",
	 .help = "Save it in that folder instead of the current one."},
	{"log-file", 0, OPT_STRING, .to = &opt_log_file, .metavar = "FILE",
	 .help = "Write the report there instead of to stderr."},
	{"json", 0, OPT_NONE, .to = &opt_json, .help = "Report as JSON."},
	{"process", 0, OPT_STRING, .to = &opt_process, .metavar = "NAME|PID",
	 .help = "Report only these processes of the run."},
	{"checkpoint", 0, OPT_DURATION, .to = &opt_checkpoint, .metavar = "SECONDS",
	 .help = "Save a copy so often while the program runs; 0 = never (10)."},
	{"every", 0, OPT_DURATION, .to = &opt_every, .metavar = "SECONDS",
	 .help = "Look for growth so often at first; 0 = never (0.25)."},
	{"max-size", 0, OPT_SIZE, .to = &opt_max_size, .metavar = "N",
	 .help = "Most that the recording of one process may take, at least 2M (8G, a "
		 "quarter of memory)."},
	{"no-children", 0, OPT_NONE, .to = &opt_no_children,
	 .help = "Record only the program itself, not what it starts."},
	{"mmap", 0, OPT_NONE, .to = &opt_mmap,
	 .help = "Also record mmap and brk, apart from malloc."},
	{"no-names", 0, OPT_NONE, .to = &opt_no_names,
	 .help = "Save without names: smaller and sooner done."},
	{0},
};

struct run {
	char **argv;
	struct inspect program;
	struct rundir dir;
	struct ticker ticker;
	struct progress progress;
	char *libseep;
	char *folder; /* absolute; where the recording goes */
	char *output; /* absolute */
	int pid;
	sigset_t mask;	   /* as it was, and as the program has it */
	bool xfsz_ignored; /* by us: a file too large is an error to tell, not our end */
	FILE *log;	   /* where report and remarks go once the program has ended */
	unsigned living;   /* processes of the run that go on */
	struct rundir_names saved; /* recordings that were read at the end */
};

/* ---- before ---- */

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Where the recording will be saved, made sure of before anything is started. */
static int
check_output(struct run *r, struct err *e)
{
	char *folder = xstrdup(opt_dir != NULL ? opt_dir : ".");
	struct stat st;
	int ret = 0;

	if (opt_output != NULL) {
		const char *slash;

		free(folder);
		slash = strrchr(opt_output, '/');
		folder = slash == NULL ? xstrdup(".")
				       : xmemdup0(opt_output,
						  slash == opt_output
							  ? 1
							  : (size_t)(slash - opt_output));
		if (base_name(opt_output)[0] == '\0' ||
		    (stat(opt_output, &st) == 0 && S_ISDIR(st.st_mode)))
			ret = err_set(e, -EISDIR, "%s: a folder; use --dir for that",
				      opt_output);
		else if (stat(opt_output, &st) == 0 &&
			 (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
			ret = err_set(e, -EINVAL,
				      "%s: a pipe or socket; a recording needs a file",
				      opt_output);
	}
	r->folder = realpath(*folder != '\0' ? folder : ".", NULL);
	if (ret == 0 && r->folder == NULL)
		ret = err_sys(e, -errno, "%s: cannot save the recording there", folder);
	if (ret == 0 && access(r->folder, W_OK | X_OK) < 0)
		ret = err_set(e, -errno,
			      "%s: cannot save the recording there (%s); use -o or --dir",
			      r->folder, strerror(errno));
	if (ret == 0 && opt_output != NULL)
		r->output = xasprintf("%s/%s", r->folder, base_name(opt_output));
	free(folder);
	return ret;
}

static char *
command_text(char **argv)
{
	struct buf b = {0};

	for (char **at = argv; *at != NULL; at++)
		buf_printf(&b, "%s%s", at > argv ? " " : "", *at);
	return buf_take(&b);
}

/* Respects the memory limit, and leaves half of the file system to others. */
static uint64_t
max_size(const struct run *r)
{
	uint64_t n = procfs_memory_limit_bytes() / 4,
		 room = rundir_room_bytes(&r->dir) / 2;

	if (opt_max_size != UINT64_MAX)
		return opt_max_size < MAX_SIZE_LEAST ? MAX_SIZE_LEAST : opt_max_size;
	if (n > MAX_SIZE_DEFAULT)
		n = MAX_SIZE_DEFAULT;
	if (room > 0 && n > room)
		n = room;
	return n < MAX_SIZE_LEAST ? MAX_SIZE_LEAST : n;
}

static uint64_t
rate(void)
{
	if (!opt_sample.given)
		return 0;
	return opt_sample.has_value && opt_sample.value > 0 ? opt_sample.value
							    : RATE_DEFAULT;
}

/* Everything up to the running program. Returns 0 or the exit status. */
static int
start(struct run *r)
{
	struct err e = {0};
	char *command;
	int status = CMD_FAILED, ret;

	if (inspect_program(r->argv[0], &r->program, &e) < 0) {
		cmd_fail(&e);
		return r->program.exit_status;
	}
	if (check_output(r, &e) < 0 || libseep_find(&r->libseep, &e) < 0)
		return cmd_fail(&e);
	command = command_text(r->argv);
	ret = rundir_new(command, &r->dir, &e);
	free(command);
	if (ret < 0)
		return cmd_fail(&e);
	ticker_signals(&r->mask);
	ret = launch_start(
		&(struct launch){
			.program = &r->program,
			.argv = r->argv,
			.libseep = r->libseep,
			.dir = r->dir.path,
			.run_id = r->dir.run_id,
			.rate_bytes = rate(),
			.max_bytes = max_size(r),
			.no_children = opt_no_children,
			.mmap = opt_mmap,
			.mask = &r->mask,
			.xfsz_ignored = r->xfsz_ignored,
		},
		&r->pid, &status, &e);
	if (ret < 0) {
		rundir_remove(&r->dir, NULL, NULL);
		cmd_fail(&e);
		return status;
	}
	signal(SIGPIPE,
	       SIG_IGN); /* the reader of our stderr may leave before the program */
	if (r->output == NULL)
		r->output = xasprintf("%s/seep.%s.%d.rec", r->folder,
				      base_name(r->argv[0]), r->pid);
	rundir_set_output(&r->dir, r->output, NULL);
	return 0;
}

/* ---- meanwhile ---- */

/* What was seen of the processes while they ran. */
static void
add_looks(const struct run *r, struct prof *p)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct ticker_file *f = ticker_find(&r->ticker, p->processes[i].pid,
							  p->processes[i].start_ns);

		if (f != NULL)
			save_looks(p, i, &f->looks);
	}
}

/* In a forked child: what there is up to now, without names. */
static int
checkpoint(void *ctx)
{
	struct run *r = ctx;
	struct prof *p = prof_new();

	if (save_load(&r->dir, p, NULL) == 0)
		return 0;
	add_looks(r, p);
	return pack_save(p, r->output, NULL) < 0 ? 1 : 0;
}

static void
show_progress(void *ctx, struct ticker *t)
{
	struct run *r = ctx;

	progress_show(&r->progress, r->argv[0], t);
}

/* ---- afterwards ---- */

/* What only the tool saw of a process: memory, and for our child how it ended. */
static void
annotate(struct run *r, struct prof_process *pr)
{
	const struct ticker_file *f = ticker_find(&r->ticker, pr->pid, pr->start_ns);
	int status = r->ticker.wait_status;

	if (f != NULL) {
		pr->rss_kib = f->rss_kib;
		pr->rss_peak_kib = f->rss_peak_kib;
		if (f->anon_kib >
		    pr->anon_kib) /* else it knew better itself, at its end */
			pr->anon_kib = f->anon_kib;
	}
	if (pr->pid != (uint32_t)r->pid || pr->end == PROF_END_EXEC)
		return;
	if (f != NULL && r->ticker.end_ns > f->start_mono_ns)
		pr->duration_ms = (r->ticker.end_ns - f->start_mono_ns) / 1000000;
	if (WIFSIGNALED(status)) {
		pr->end = PROF_END_SIGNAL;
		pr->status = WTERMSIG(status);
	} else {
		pr->end = PROF_END_EXITED;
		pr->status = WEXITSTATUS(status);
	}
}

/* What stood in the way of a recording, as far as it can be seen from here. To be freed. */
static char *
no_recording(const struct run *r)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < MAX_SIZE_LEAST)
		return xasprintf(
			"the file size limit (ulimit -f) of %s leaves no room for "
			"a recording, which takes 2 MiB",
			fmt_size(limit.rlim_cur).s);
	for (size_t i = 0; i < r->ticker.files.len; i++) {
		if (r->ticker.files.data[i].pid == r->pid)
			return xstrdup("somebody truncated its recording while it ran");
	}
	if (access(r->dir.path, F_OK) < 0)
		return xasprintf("its run folder %s was deleted while it ran",
				 r->dir.path);
	if (rundir_room_bytes(&r->dir) < MAX_SIZE_LEAST)
		return xasprintf("no room is left in %s", r->dir.path);
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return xasprintf("it allocated nothing, or the address space limit "
				 "(ulimit -v) of %s left no room for a recording",
				 fmt_size(limit.rlim_cur).s);
	return xstrdup("it ended before it allocated, or did not load libseep.so");
}

/* Why our child has no recording of its end, or NULL when it has one. To be freed. */
static char *
missing(const struct run *r, const struct prof *p)
{
	bool became = false;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].pid != (uint32_t)r->pid)
			continue;
		if (p->processes[i].end != PROF_END_EXEC)
			return NULL;
		became = true;
	}
	return became ? xstrdup("it became another program by exec, which was not recorded")
		      : no_recording(r);
}

/* A row for the program when it left no recording, so that no report is silently
 * empty. */
static void
add_missing(struct run *r, struct prof *p)
{
	char *why = missing(r, p);
	struct prof_process *pr;
	char *command;
	uint32_t row;

	if (why == NULL)
		return;
	command = command_text(r->argv);
	row = prof_add_process(p);
	pr = &p->processes[row];
	pr->pid = (uint32_t)r->pid;
	pr->ppid = (uint32_t)getpid();
	pr->uid = getuid();
	pr->mode = opt_sample.given ? PROF_SAMPLED : PROF_EXACT;
	pr->run_id = r->dir.run_id;
	pr->exe = prof_str(p, r->program.path);
	pr->cmdline = prof_str(p, command);
	pr->not_recorded = prof_str(p, why);
	free(command);
	free(why);
}

/* Recordings that somebody deleted under us are still there through our descriptors. */
static void
load_deleted(struct run *r, struct prof *p)
{
	for (size_t i = 0; i < r->ticker.files.len; i++) {
		const struct livefile *f = &r->ticker.files.data[i].live;
		struct err e = {0};

		if (livefile_deleted(f) && save_load_file(f, p, &e) < 0)
			prof_add_damage(p, e.msg, 1);
	}
}

static struct prof *
collect(struct run *r)
{
	struct prof *p = prof_new();

	save_load(&r->dir, p, &r->saved);
	load_deleted(r, p);
	add_looks(r, p);
	add_missing(r, p);
	for (uint32_t i = 1; i < p->nprocesses; i++)
		annotate(r, &p->processes[i]);
	save_coverage(p);
	return p;
}

/* Writes the report. Trouble with it is told, but is not the program's. */
static void
report(const struct run *r, struct prof *p, bool saved)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8()};
	bool *chosen = xcalloc(p->nprocesses, sizeof *chosen);
	struct buf b = {0};
	struct err e = {0};
	struct term term;

	term_init(&term, STDERR_FILENO);
	if (r->log == NULL)
		o.term = &term;
	if (saved) {
		/* In the current folder, unless the user said otherwise. */
		o.saved = opt_dir == NULL && opt_output == NULL ? base_name(r->output)
								: r->output;
		o.saved_names = !opt_no_names;
		o.next = "seep report";
	}
	if (opt_process != NULL) {
		if (choose_processes(p, opt_process, chosen, &e) == 0)
			o.chosen = chosen;
		else
			cmd_fail(&e);
	}
	if (opt_json)
		report_json(&b, p, &o);
	else
		report_text(&b, p, &o);
	if (r->living > 0 && !opt_json)
		buf_printf(&b, "still running: %u (seep ps)\n", r->living);
	fputs(buf_str(&b), r->log != NULL ? r->log : stderr);
	if (r->log != NULL)
		fflush(r->log); /* orphans are saved in children, which say so there too */
	buf_done(&b);
	free(chosen);
}

/* From here on nothing of ours goes to the program's stderr, if the user wants it so. */
static void
log_open(struct run *r)
{
	if (opt_log_file == NULL)
		return;
	r->log = fopen(opt_log_file, "we");
	if (r->log == NULL)
		cmd_note("%s: %s", opt_log_file, strerror(errno));
	if (!opt_json) /* remarks would spoil it */
		cmd_say_to(r->log);
}

static void
log_close(struct run *r)
{
	bool failed = r->log != NULL && (fflush(r->log) != 0 || ferror(r->log));

	if (r->log == NULL)
		return;
	cmd_say_to(NULL);
	if (fclose(r->log) != 0 || failed)
		cmd_note("%s: cannot write the report", opt_log_file);
}

/* Processes that go on. One that is between its fork and its recording is only seen as forked,
 * so that is asked for in between: nobody can have changed sides unless the living differ. */
static unsigned
count_living(const struct run *r)
{
	unsigned living = rundir_living(&r->dir, NULL, 0), before, forked;

	for (unsigned i = 0;; i++) {
		before = living;
		forked = rundir_forked(&r->dir, r->pid);
		living = rundir_living(&r->dir, NULL, 0);
		if (living == before || i == 3)
			return living + forked;
	}
}

/* Saves and reports. True when the recording was saved. */
static bool
finish(struct run *r)
{
	struct prof *p = collect(r);
	struct err e = {0};
	bool saved;

	if (!opt_no_names)
		names_resolve(p, NULL);
	saved = pack_save(p, r->output, &e) == 0;
	if (saved)
		last_write(r->output, NULL);
	if (opt_no_names) /* the report has them in any case */
		names_resolve(p, NULL);
	r->living = count_living(r);
	report(r, p, saved);
	if (!saved && r->saved.len == 0)
		cmd_note("%s", e.msg);
	else if (!saved)
		cmd_note("%s; the recording stays in %s", e.msg, r->dir.path);
	prof_free(p);
	/* One that came after the look above keeps the folder as well. */
	if ((!saved && r->saved.len > 0) || r->living > 0 ||
	    rundir_remove(&r->dir, &r->saved, NULL) < 0)
		rundir_close(&r->dir);
	return saved;
}

/* Options that do not go together, or make no sense. */
static int
check_options(void)
{
	if (opt_exact && opt_sample.given)
		return cmd_usage(&cmd_run, "--exact and --sample exclude each other");
	if (rate() > RATE_MAX)
		return cmd_usage(&cmd_run, "--sample: at most 1G");
	if (opt_sample.has_value && opt_sample.value == 0)
		return cmd_usage(&cmd_run, "--sample: at least 1");
	if (opt_max_size == 0)
		return cmd_usage(&cmd_run, "--max-size: at least 2M");
	if (opt_output != NULL && opt_dir != NULL)
		return cmd_usage(&cmd_run, "-o and --dir exclude each other");
	return 0;
}

static int
run_run(int argc, char **argv)
{
	struct run r = {.argv = argv, .dir = RUNDIR_NONE};
	struct err e = {0};
	bool saved;
	int status;

	(void)argc;
	status = check_options();
	if (status != 0)
		return status;
	r.xfsz_ignored = signal(SIGXFSZ, SIG_IGN) != SIG_IGN;
	status = start(&r);
	if (status == 0) {
		progress_init(&r.progress);
		r.ticker = (struct ticker){
			.dir = &r.dir,
			.child = r.pid,
			.sampled = opt_sample.given,
			.looks_ms = (opt_every + 999999) / 1000000,
			.checkpoint_ns = opt_checkpoint,
			.checkpoint = checkpoint,
			.progress = opt_log_file == NULL && progress_wanted(&r.progress)
					    ? show_progress
					    : NULL,
			.ctx = &r,
		};
		if (ticker_wait(&r.ticker, &e) < 0)
			cmd_fail(&e);
		ticker_signals_end(&r.mask);
		progress_done(&r.progress);
		log_open(&r);
		status = WIFSIGNALED(r.ticker.wait_status)
				 ? 128 + WTERMSIG(r.ticker.wait_status)
				 : WEXITSTATUS(r.ticker.wait_status);
		saved = finish(&r);
		/* Orphans are no reason to forget which recording is the last. Said in the
		 * middle of JSON, nobody could read it. */
		if (save_orphans(!opt_json) > 0 && saved)
			last_write(r.output, NULL);
		log_close(&r);
		ticker_done(&r.ticker);
	}
	rundir_close(&r.dir);
	rundir_names_done(&r.saved);
	inspect_done(&r.program);
	free(r.libseep);
	free(r.folder);
	free(r.output);
	return status;
}

const struct cmd cmd_run = {
	.name = "run",
	.args = "[--] PROGRAM [ARG...]",
	.help = "start a program and tell at its end what it did not free",
	.man = "seep-run",
	.opts = run_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.options_first = true,
	.run = run_run,
};
