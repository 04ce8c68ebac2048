/* SPDX-License-Identifier: MIT */
/* cmd_run.c -- `seep run`: start a program recorded, wait for it, save, report.
 *
 * Everything that can fail is tried before the program starts; from then on nothing of
 * ours may end it or change its exit status. The report goes to stderr, or to --log-file,
 * and so does every remark: stdout belongs to the program. */
#include "tool/cli/cmd_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/choose.h"
#include "tool/cli/commands.h"
#include "tool/cli/term/progress.h"
#include "tool/compat/leaks/leak_report.h"
#include "tool/format/pack/pack.h"
#include "tool/render/report/report.h"
#include "tool/session/last.h"
#include "tool/session/log_name.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/session/run/run_output.h"
#include "tool/session/run/save.h"
#include "tool/session/watch/outside.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/launch.h"
#include "tool/target/run/libseep.h"
#include "tool/util/buf.h"
#include "tool/util/clean.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

#define RATE_MAX (UINT64_C(1) << 30)
#define REDZONE_MAX 4096
#define QUARANTINE_MAX (UINT64_C(1) << 40)
#define CHECK_LEAST_NS UINT64_C(100000000)

#define AT(member) .at = offsetof(struct run_args, run.member)

static const struct opt run_opts[] = {
	{"exact", 0, OPT_NONE, AT(exact),
	 .help = "Record every allocation (the default)."},
	{"sample", 0, OPT_SIZE_OPTIONAL, AT(sample), .metavar = "N",
	 .help = "Record one allocation per N bytes on average (512K)."},
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Save the recording as FILE (seep.PROG.PID.rec)."},
	{"dir", 0, OPT_STRING, AT(dir), .metavar = "DIR",
	 .help = "Save the recording in DIR instead of the current folder."},
	{"log-file", 0, OPT_STRING, AT(log_file), .metavar = "FILE",
	 .help = "Write the report to FILE instead of stderr."},
	{"json", 0, OPT_NONE, AT(json),
	 .help = "Print the report as JSON to stderr, or to --log-file."},
	LEAK_OPTS(offsetof(struct run_args, leak)),
	{"process", 0, OPT_STRING, AT(process), .metavar = "NAME|PID|all",
	 .help = "Report only these processes of the run; all: every program."},
	{"checkpoint", 0, OPT_DURATION, AT(checkpoint_ns), .metavar = "TIME",
	 .help = "Interval between saved copies of the recording while the program "
		 "runs (10s, 0 = off)."},
	{"growth-interval", 0, OPT_DURATION, AT(growth_ns), .metavar = "TIME",
	 .help = "Interval between growth snapshots; doubles as the run gets longer "
		 "(0.25s, 0 = off)."},
	{"max-size", 0, OPT_SIZE, AT(max_bytes), .metavar = "N",
	 .help = "Limit the recording of each process to N bytes, at least 2M (8G, "
		 "or a quarter of the memory if that is less)."},
	{"no-children", 0, OPT_NONE, AT(no_children),
	 .help = "Record only the program itself, not its child processes."},
	{"mmap", 0, OPT_NONE, AT(mmap),
	 .help = "Also record mmap and brk, counted separately from malloc."},
	{"no-leak-check", 0, OPT_NONE, AT(no_check),
	 .help = "Skip the leak check at exit."},
	{"check-every", 0, OPT_DURATION, AT(check_ns), .metavar = "TIME",
	 .help = "Also check for leaks at this interval while the program runs, to "
		 "report when blocks were lost (0 = off)."},
	{"max-stop", 0, OPT_DURATION, AT(max_stop_ns), .metavar = "TIME",
	 .help = "With --check-every, leave out a check that would stop the program "
		 "for longer than TIME (100ms, 0 = no limit)."},
	{"free-stacks", 0, OPT_NONE, AT(free_stacks),
	 .help = "Record the stacks of frees, too, to show the first free of a "
		 "double free."},
	{"redzone", 0, OPT_SIZE_OPTIONAL, AT(redzone), .metavar = "N",
	 .help = "Put N guard bytes (16) before and after each block; report blocks "
		 "whose guard bytes changed."},
	{"quarantine", 0, OPT_SIZE, AT(quarantine), .metavar = "N",
	 .help = "Delay the reuse of up to N bytes of freed blocks; report writes "
		 "to them."},
	{"guard", 0, OPT_U64, AT(guard), .metavar = "N",
	 .help = "Give one block in about N pages of its own, to catch reads and "
		 "writes past its end or after its free."},
	{"check-copy", 0, OPT_NONE, AT(check_copy),
	 .help = "Report calls of memcpy, strcpy and similar whose source and "
		 "destination overlap."},
	{"keep-going", 0, OPT_NONE, AT(keep_going),
	 .help = "Skip an invalid free instead of passing it to the allocator."},
	{"no-save", 0, OPT_NONE, AT(no_save),
	 .help = "Print the report, but save no recording."},
	CMD_COLOR_OPT,
	{"no-names", 0, OPT_NONE, AT(no_names),
	 .help = "Save no function names: faster, and a smaller file."},
	NAMES_OPT_DEBUGINFOD(offsetof(struct run_args, run.names)),
	{0},
};

/* One run, and how its leaks are told. */
struct job {
	struct run run;
	struct leak_opts *leak;
	const struct run_args *args;
};

/* ---- before ---- */

/* Once the program runs. */
static void
name_output(struct job *j)
{
	struct run *r = &j->run;

	signal(SIGPIPE,
	       SIG_IGN); /* the reader of our stderr may leave before the program */
	if (r->output == NULL && !r->o->no_save)
		r->output = run_output_name(r->folder, file_base(r->argv[0]), r->pid);
	j->leak->program = (const char *const *)r->argv;
	j->leak->program_pid = (uint32_t)r->pid;
}

static int start_inject(struct job *j);

/* Everything up to the running program. Returns 0 or the exit status. */
static int
start(struct job *j)
{
	struct run *r = &j->run;
	struct err e = {0};
	struct launch l;
	char *command;
	int status = CMD_FAILED, ret;

	if (inspect_program(r->argv[0], &r->program, &e) < 0) {
		cmd_fail(&e);
		return r->program.exit_status;
	}
	if (!r->o->no_save &&
	    run_output(r->o->output, r->o->dir, &r->folder, &r->output, &e) < 0)
		return cmd_fail_output(&e);
	if (r->program.inject)
		return start_inject(j);
	if (libseep_find(&r->libseep, &e) < 0)
		return cmd_fail(&e);
	command = run_command(r->argv);
	ret = rundir_new(command, &r->dir, &e);
	free(command);
	if (ret < 0)
		return cmd_fail(&e);
	ticker_signals(&r->mask);
	l = run_launch(r, j->leak->format == LEAK_LSAN);
	ret = launch_start(&l, &r->pid, &status, &e);
	if (ret < 0) {
		rundir_remove(&r->dir, NULL, NULL);
		cmd_fail(&e);
		return status;
	}
	name_output(j);
	if (r->output != NULL) {
		rundir_set_output(&r->dir, r->output, NULL);
		last_begin(r->output);
	}
	return 0;
}

/* What is asked for and cannot be had without libseep.so. */
static void
tell_without_effect(const struct run *r)
{
	const struct {
		bool given;
		const char *name;
	} opts[] = {
		{r->o->mmap, "--mmap"},
		{r->o->checkpoint_ns != RUN_CHECKPOINT_NS, "--checkpoint"},
		{r->o->check_ns > 0, "--check-every"},
		{r->o->free_stacks, "--free-stacks"},
		{r->o->redzone.given, "--redzone"},
		{r->o->quarantine > 0, "--quarantine"},
		{r->o->guard > 0, "--guard"},
		{r->o->check_copy, "--check-copy"},
		{r->o->keep_going, "--keep-going"},
	};

	for (size_t i = 0; i < ARRAY_LEN(opts); i++) {
		if (opts[i].given)
			cmd_tell(&cmd_run,
				 "%s: its malloc is one that only attaching sees: %s has "
				 "no effect",
				 r->argv[0], opts[i].name);
	}
}

/* The same for a program that the recorder is put into. */
static int
start_inject(struct job *j)
{
	struct run *r = &j->run;
	struct launch l = {.program = &r->program,
			   .argv = r->argv,
			   .mask = &r->mask,
			   .xfsz_ignored = r->xfsz_ignored,
			   .at_entry = true};
	struct err e = {0};
	int status = CMD_FAILED;

	if (leak_opts_need_check(j->leak)) {
		err_set(&e, -ENOTSUP,
			"%s: its malloc is one that only attaching sees, which has no leak "
			"check; leave %s out",
			r->argv[0],
			j->leak->fail_on != NULL
				? "--fail-on"
				: "--format, --leak-kinds and --error-exitcode");
		return cmd_fail(&e);
	}
	tell_without_effect(r);
	r->inject.settings = (struct session_settings){
		.attach = {.mode = r->o->sample.given ? REC_MODE_SAMPLE : REC_MODE_EXACT,
			   .rate_bytes = run_rate(r->o),
			   .max_bytes = run_max_size(r)},
		.looks_ms = (r->o->growth_ns + 999999) / 1000000,
		.from_start = true,
	};
	r->inject.children = !r->o->no_children;
	ticker_signals(&r->mask);
	if (run_inject_start(&r->inject, &l, &status, &e) < 0) {
		sigprocmask(SIG_SETMASK, &r->mask, NULL);
		err_wrap(&e, e.code, "%s: not started", r->argv[0]);
		cmd_fail(&e);
		return status;
	}
	r->pid = r->inject.pid;
	name_output(j);
	return 0;
}

/* ---- meanwhile ---- */

static void
look_for_leaks(void *ctx, struct ticker_file *f)
{
	struct run *r = ctx;
	uint64_t now = livefile_head(&f->live).clock_ms;

	if (f->seen_here && r->o->growth_ns > 0)
		outside_last((struct outside **)&f->ctx, &f->live, now, f->anon_kib,
			     true);
	run_leaks_look(&r->leaks, f, &r->ticker.files, &r->how,
		       run_checks_last(&r->checks, f));
}

/* In a forked child: what there is up to now, without names. */
static int
checkpoint(void *ctx)
{
	struct run *r = ctx;
	struct prof *p = prof_new();

	if (save_load(&r->dir, p, NULL) == 0)
		return 0;
	run_looks(r, p);
	run_checks_save(&r->checks, p);
	return pack_save(p, r->output, NULL) < 0 ? 1 : 0;
}

/* Of a process that has lived for a moment: short ones have no trend. */
static void
look_outside(struct ticker_file *f, uint64_t ms)
{
	if (f->looks.kept.len >= OUTSIDE_LOOKS)
		outside_look((struct outside **)&f->ctx, &f->live, ms);
}

static void
show_progress(void *ctx, struct ticker *t)
{
	struct run *r = ctx;

	progress_show(r->progress, r->argv[0], t);
}

/* ---- afterwards ---- */

/* Writes the report. Trouble with it is told, but is not the program's. */
static void
report(struct job *j, struct leak_report *leaks, struct prof *p, bool saved)
{
	struct run *r = &j->run;
	struct report_opts o = {.ascii = !report_locale_is_utf8(),
				.leak_kinds = j->leak->show_kinds};
	bool *chosen = xcalloc(p->nprocesses, sizeof *chosen);
	struct buf b = {0};
	struct err e = {0};
	struct term term;

	term_init(&term, STDERR_FILENO);
	if (r->log == NULL)
		o.term = &term;
	if (saved) {
		/* In the current folder, unless the user said otherwise. */
		o.saved = r->o->dir == NULL && r->o->output == NULL ? file_base(r->output)
								    : r->output;
		o.saved_names = !r->o->no_names;
		o.next = "seep report";
	}
	if (r->o->process != NULL) {
		if (choose_processes(p, r->o->process, chosen, &e) == 0)
			o.chosen = chosen, o.everyone = r->o->process != NULL;
		else
			cmd_fail(&e);
	} else if (leak_report_choose(j->leak, p, chosen)) {
		o.chosen = chosen;
	}
	leak_report_judge(leaks, p, &o);
	if (j->leak->silent)
		;
	else if (r->o->json)
		report_json(&b, p, &o);
	else if (leak_report_foreign(j->leak))
		leak_report_text(leaks, &b, p, r->log != NULL ? r->o->log_file : NULL);
	else {
		report_text(&b, p, &o);
		leak_report_more(leaks, &b, p);
	}
	if (r->living > 0 && !r->o->json && !leak_report_foreign(j->leak))
		buf_printf(&b, "still running: %u (seep ps)\n", r->living);
	fputs(buf_str(&b), r->log != NULL ? r->log : stderr);
	/* orphans are saved in children, which say so there too */
	/* orphans are saved in children, which say so there too */
	if (r->log != NULL)
		fflush(r->log);
	r->status = leak_report_end(leaks, p, o.chosen, r->status,
				    !r->o->json || r->log != NULL);
	buf_done(&b);
	free(chosen);
}

/* From here on nothing of ours goes to the program's stderr, if the user wants it so. */
static void
log_open(struct run *r)
{
	struct err e = {0};
	char *name = NULL;

	if (r->o->log_file == NULL)
		return;
	if (log_name(r->o->log_file, (uint32_t)r->pid, 0, &name, &e) < 0 ||
	    out_check_log(name, &e) < 0)
		cmd_fail(&e);
	else if ((r->log = clean_open(name)) == NULL)
		cmd_note("%s: %s", name, strerror(errno));
	free(name);
	if (!r->o->json) /* remarks would spoil it */
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
		cmd_note("%s: cannot write the report", r->o->log_file);
}

/* Saves and reports. True when the recording was saved. */
static bool
finish(struct job *j)
{
	struct run *r = &j->run;
	struct leak_report leaks = {.o = j->leak};
	struct prof *p = run_collect(r);
	struct err e = {0};
	bool saved;

	if (r->o->no_check && !r->o->sample.given && !r->program.inject)
		run_unchecked(p, "it was switched off; run it without --no-leak-check");
	if (!r->o->no_names)
		names_resolve(p, &r->o->names);
	r->living = r->program.inject ? 0 : run_living(r);
	if (p->nprocesses > 1)
		p->processes[1].going_on = r->living;
	saved = j->args->take != NULL
			? j->args->take(j->args->take_ctx, p, (uint32_t)r->pid, &e) == 0
			: r->o->no_save || pack_save(p, r->output, &e) == 0;
	if (saved && !r->o->no_save)
		last_write(r->output, NULL);
	if (r->o->no_names) /* the report has them in any case */
		names_resolve(p, &r->o->names);
	run_inherit_add(&r->leaks, p);
	leak_report_prepare(&leaks, p);
	report(j, &leaks, p, saved && !r->o->no_save);
	if (!saved && r->saved.len == 0)
		cmd_note("%s", e.msg);
	else if (!saved) {
		save_in_folder(&r->dir, p, NULL);
		cmd_note("%s; the recording stays in %s", e.msg, r->dir.path);
		cmd_note("read it: seep report %s; save or discard it: seep ps",
			 rundir_name(&r->dir));
	}
	prof_free(p);
	if (r->program.inject)
		return saved;
	/* One that came after the look above keeps the folder as well. */
	if ((!saved && r->saved.len > 0) || r->living > 0 ||
	    rundir_remove(&r->dir, &r->saved, NULL) < 0)
		rundir_close(&r->dir);
	return saved;
}

/* Options that do not go together, or make no sense. */
static int
check_options(struct run_args *a)
{
	struct run_opts *o = &a->run;
	struct err e = {0};
	char *name = NULL;
	int status;

	if (o->exact && o->sample.given)
		return cmd_usage(&cmd_run, "--exact and --sample exclude each other");
	if (run_rate(o) > RATE_MAX)
		return cmd_usage(&cmd_run, "--sample: at most 1G");
	if (o->sample.has_value && o->sample.value == 0)
		return cmd_usage(&cmd_run, "--sample: at least 1");
	if (o->max_bytes == 0)
		return cmd_usage(&cmd_run, "--max-size: at least 2M");
	if (run_redzone(o) > REDZONE_MAX || (o->redzone.given && run_redzone(o) == 0))
		return cmd_usage(&cmd_run, "--redzone: from 1 to %d bytes", REDZONE_MAX);
	if (o->guard > UINT32_MAX)
		return cmd_usage(&cmd_run, "--guard: at most %u", UINT32_MAX);
	if (o->quarantine > QUARANTINE_MAX)
		return cmd_usage(&cmd_run, "--quarantine: at most 1T");
	if (o->sample.given && (o->free_stacks || o->redzone.given || o->quarantine > 0 ||
				o->guard > 0 || o->check_copy || o->keep_going))
		return cmd_usage(
			&cmd_run,
			"invalid uses of the heap are detected in exact recordings "
			"only; remove --sample");
	if ((o->output != NULL) + (o->dir != NULL) + o->no_save > 1)
		return cmd_usage(&cmd_run, "-o, --dir and --no-save exclude each other");
	if (o->log_file != NULL && log_name(o->log_file, 1, 0, &name, &e) < 0)
		return cmd_usage(&cmd_run, "--log-file: %s", e.msg);
	free(name);
	if (out_is_same(o->output, o->log_file))
		return cmd_usage(&cmd_run, "-o and --log-file name the same file");
	if (o->log_file != NULL && !log_name_differs(o->log_file) &&
	    out_check_log(o->log_file, &e) < 0)
		return cmd_fail_output(&e);
	if (o->check_ns > 0 && o->check_ns < CHECK_LEAST_NS)
		return cmd_usage(&cmd_run, "--check-every: at least 100ms");
	if (o->check_ns > 0 && (o->no_check || o->sample.given))
		return cmd_usage(&cmd_run,
				 "--check-every needs the leak check, which only exact "
				 "recordings have; remove --no-leak-check and --sample");
	status = leak_opts_read(&cmd_run, &a->leak);
	if (status == 0 && (o->no_check || o->sample.given) &&
	    leak_opts_need_check(&a->leak))
		return cmd_usage(&cmd_run,
				 "options about leaks need the leak check, which "
				 "only exact recordings have");
	o->no_check = o->no_check || a->leak.level == MEMCHECK_NO;
	return status;
}

/* The program runs: until it has ended. */
static void
wait_for_end(struct job *j)
{
	struct run *r = &j->run;
	const struct run_opts *o = r->o;
	struct progress progress;
	struct err e = {0};

	r->progress = &progress;
	progress_init(&progress);
	r->how = leak_report_how(j->leak);
	r->checks.every_ns = o->check_ns;
	r->checks.max_stop_ns = o->max_stop_ns;
	r->ticker = (struct ticker){
		.dir = &r->dir,
		.child = r->pid,
		.sampled = o->sample.given,
		.looks_ms = (o->growth_ns + 999999) / 1000000,
		.checkpoint_ns = o->no_save ? 0 : o->checkpoint_ns,
		.checkpoint = checkpoint,
		.progress = o->log_file == NULL && !leak_report_foreign(j->leak) &&
					    progress_wanted(&progress)
				    ? show_progress
				    : NULL,
		.held = look_for_leaks,
		.looked = look_outside,
		.ctx = r,
	};
	if (run_wait(r, &e) < 0)
		cmd_fail(&e);
	ticker_signals_end(&r->mask);
	progress_done(&progress);
	r->progress = NULL;
	r->status = r->program.inject ? r->inject.wait_status : r->ticker.wait_status;
	r->status = WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status)
					   : WEXITSTATUS(r->status);
}

int
run_program(struct run_args *a, char **argv)
{
	struct job j = {.run = {.o = &a->run, .argv = argv, .dir = RUNDIR_NONE},
			.leak = &a->leak,
			.args = a};
	struct run *r = &j.run;
	bool saved;
	int status = check_options(a);

	if (status != 0)
		return status;
	r->xfsz_ignored = signal(SIGXFSZ, SIG_IGN) != SIG_IGN;
	status = start(&j);
	if (status == 0) {
		wait_for_end(&j);
		log_open(r);
		saved = finish(&j);
		/* What the program says comes first; but nobody may think that all went
		 * well. */
		if (r->status == 0 && !saved)
			r->status = CMD_FAILED;
		/* Orphans of other runs are no reason to forget which recording is the
		 * last, and nothing that this run has to talk about. */
		if (!r->o->no_save && save_orphans(false) > 0 && saved)
			last_write(r->output, NULL);
		log_close(r);
		status = r->status;
		for (size_t i = 0; i < r->ticker.files.len; i++)
			outside_free(r->ticker.files.data[i].ctx);
		ticker_done(&r->ticker);
	}
	run_inject_done(&r->inject);
	rundir_close(&r->dir);
	rundir_names_done(&r->saved);
	run_leaks_done(&r->leaks);
	run_checks_done(&r->checks);
	inspect_done(&r->program);
	free(r->libseep);
	free(r->folder);
	free(r->output);
	return status;
}

static int
run_run(void *opts, int argc, char **argv)
{
	(void)argc;
	return run_program(opts, argv);
}

static void
run_done(void *opts)
{
	struct run_args *a = opts;

	leak_opts_done(&a->leak);
}

const struct cmd cmd_run = {
	.name = "run",
	.args = "[--] PROGRAM [ARG...]",
	.help = "start a program and report the memory that it leaks",
	.man = "seep-run",
	.needs_proc = true,
	.opts = run_opts,
	.opts_bytes = sizeof(struct run_args),
	.defaults = &(const struct run_args){.run = RUN_OPTS_NONE},
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.options_first = true,
	.run = run_run,
	.done = run_done,
};
