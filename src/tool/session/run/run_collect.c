/* SPDX-License-Identifier: MIT */
/* run_collect.c -- the wait for a program's end, and what the run has left then: the
 * recordings of its processes, what the tool saw of them, and why one is missing. */
#include "tool/session/run/run_impl.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/session/loop.h"
#include "tool/session/run/save.h"
#include "tool/session/watch/outside.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

char *
run_command(char **argv)
{
	struct buf b = {0};

	for (char **at = argv; *at != NULL; at++)
		buf_printf(&b, "%s%s", at > argv ? " " : "", *at);
	return buf_take(&b);
}

static int
run_step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct run *r = ctx;
	bool ended = ticker_step(&r->ticker, ev->sig, &ev->info, ev->now_ns, &l->tick_ns);

	(void)e;
	if (!ended && run_checks_step(&r->checks, &r->ticker, ev->now_ns))
		ended = ticker_step(&r->ticker, SIGCHLD, &ev->info,
				    clock_ns(CLOCK_MONOTONIC), &l->tick_ns);
	return ended ? LOOP_END : LOOP_GO_ON;
}

int
run_wait(struct run *r, struct err *e)
{
	sigset_t set;
	struct loop l = {.signals = &set, .step = run_step, .ctx = r};
	int ret;

	if (r->program.inject)
		return run_inject_wait(&r->inject, e);
	ticker_handled(&set);
	ticker_start(&r->ticker, &l.tick_ns);
	ret = loop_run(&l, e);
	ticker_end(&r->ticker);
	return ret;
}

void
run_looks(const struct run *r, struct prof *p)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct ticker_file *f = ticker_find(&r->ticker, p->processes[i].pid,
							  p->processes[i].start_ns);

		if (f == NULL)
			continue;
		save_looks(p, i, &f->looks);
		outside_save(f->ctx, p, i, &f->covered,
			     p->processes[i].inherited_blocks == 0);
	}
}

/* What only the tool saw of a process: memory, and for our child how it ended. */
static void
annotate(struct run *r, struct prof_process *pr)
{
	const struct ticker_file *f = ticker_find(&r->ticker, pr->pid, pr->start_ns);
	int status = r->program.inject ? r->inject.wait_status : r->ticker.wait_status;

	struct oom oom = {0};

	if (f != NULL) {
		oom = f->oom;
		pr->rss_kib = f->rss_kib;
		pr->rss_peak_kib = f->rss_peak_kib;
		if (f->anon_kib >
		    pr->anon_kib) /* else it knew better itself, at its end */
			pr->anon_kib = f->anon_kib;
		pr->stack_kib = f->parts.stack_kib;
		pr->static_kib = f->parts.static_kib;
	}
	if (pr->pid != (uint32_t)r->pid || pr->end == PROF_END_EXEC) {
		if (pr->end == PROF_END_UNKNOWN)
			oom_judge(f != NULL ? &oom : NULL, pr);
		return;
	}
	if (f != NULL && f->stood_ns != 0)
		pr->duration_ms = (f->stood_ns - f->start_mono_ns + 999999) / 1000000;
	else if (f != NULL && r->ticker.end_ns > f->start_mono_ns)
		pr->duration_ms = (r->ticker.end_ns - f->start_mono_ns) / 1000000;
	if (WIFSIGNALED(status)) {
		pr->end = PROF_END_SIGNAL;
		pr->status = WTERMSIG(status);
		oom_judge(f != NULL ? &oom : NULL, pr);
	} else {
		pr->end = PROF_END_EXITED;
		pr->status = WEXITSTATUS(status);
	}
}

/* What stood in the way of a recording, as far as it can be seen from here. To be
 * freed. */
static char *
no_recording(const struct run *r)
{
	struct rlimit limit;

	if (r->program.inject) /* it has no run folder */
		return xstrdup("it ended before its first instruction");
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < RUN_SIZE_LEAST)
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
	if (rundir_room_bytes(&r->dir) < RUN_SIZE_LEAST)
		return xasprintf("%s is full", r->dir.path);
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
	command = run_command(r->argv);
	row = prof_add_process(p);
	pr = &p->processes[row];
	pr->pid = (uint32_t)r->pid;
	pr->ppid = (uint32_t)getpid();
	pr->uid = getuid();
	pr->mode = r->o->sample.given ? PROF_SAMPLED : PROF_EXACT;
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

void
run_unchecked(struct prof *p, const char *why)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		uint32_t c;

		if (p->processes[i].not_recorded != 0)
			continue;
		c = prof_add_check(p);
		p->checks[c].process = i;
		p->checks[c].why = prof_str(p, why);
	}
}

struct prof *
run_collect(struct run *r)
{
	struct prof *p;

	if (r->program.inject) {
		p = run_inject_load(&r->inject);
		run_unchecked(p,
			      "the program's allocator is linked into it, so seep cannot "
			      "stop it at exit; use seep leaks PID while it runs");
	} else {
		p = prof_new();
		save_load(&r->dir, p, &r->saved);
		load_deleted(r, p);
		prof_forget_index(p);
		run_looks(r, p);
		for (size_t i = 0; i < r->ticker.files.len; i++) /* it has them now */
			looks_done(&r->ticker.files.data[i].looks);
		run_leaks_add(&r->leaks, p);
		run_checks_save(&r->checks, p);
	}
	add_missing(r, p);
	for (uint32_t i = 1; i < p->nprocesses; i++)
		annotate(r, &p->processes[i]);
	save_coverage(p);
	return p;
}
