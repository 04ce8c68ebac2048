/* SPDX-License-Identifier: MIT */
/* cmd_detach.c -- `seep detach`: take the recorder out of a process and report what it saw.
 *
 * Works whoever attached, and also if that one was killed half-way: what has to be undone is written
 * down in the process itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/attached.h"
#include "cli/attached_account.h"
#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/names_confined.h"
#include "cli/save.h"
#include "format/pack.h"
#include "render/report.h"
#include "target/armed.h"
#include "util/term.h"
#include "util/x.h"

static struct {
	bool json, quiet;
	const char *output;
} args;

static const struct opt detach_opts[] = {
	{"output", 'o', OPT_STRING, .to = &args.output, .metavar = "FILE",
	 .help = "Save the recording there."},
	{"json", 0, OPT_NONE, .to = &args.json, .help = "Report as JSON."},
	{"quiet", 'q', OPT_NONE, .to = &args.quiet,
	 .help = "Only take it out: no report."},
	{0},
};

/* What the recorder saw; its file is gone from the process, but not from us. */
static int
report(struct session *s, struct err *e)
{
	struct report_opts o = {.ascii = !report_locale_is_utf8()};
	struct prof *p = prof_new();
	struct buf b = {0};
	struct term term;
	int r = attached_load_one(s, p, e);

	if (r == 0) {
		save_coverage(p);
		names_resolve_confined(&p, &(struct names_opts){.pid = s->pid}, s->uid,
				       s->gid);
	}
	if (r == 0 && args.output != NULL) {
		r = pack_save(p, args.output, e);
		o.saved = args.output;
		o.saved_names = true;
	}
	term_init(&term, STDOUT_FILENO);
	if (term.tty)
		o.term = &term;
	if (r == 0 && args.json)
		report_json(&b, p, &o);
	else if (r == 0)
		report_text(&b, p, &o);
	if (r == 0 && !args.json && !s->armed)
		attached_account(&b, s, p);
	fputs(buf_str(&b), stdout);
	buf_done(&b);
	prof_free(p);
	return r;
}

static int
detach_one(int pid, struct err *e)
{
	struct session s = SESSION_NONE;
	struct buf b = {0};
	bool readable;
	int r;

	s.pid = pid;
	r = procfs_stat(pid, &s.stat, NULL);
	if (r < 0)
		return err_set(e, -ESRCH, "%d: no such process", pid);
	readable = detach_recording(pid, &s.attach.live, NULL) == 0;
	procfs_ids(pid, &s.uid, &s.gid);
	s.armed = readable && armed_loaded(pid);
	s.late = readable;
	if (readable && !s.armed)
		session_read_old(&s);
	if (s.armed)
		r = session_detach(&s, e);
	else
		r = detach_patches(pid, &s.detached, e);
	if (r == 0 && !s.armed)
		r = detach_unmap(pid, &s.detached, e);
	if (r == 0 && !s.detached.found && !s.armed)
		r = err_set(e, -ENOENT, "%d (%s): nothing of seep's is in it", pid,
			    s.stat.comm);
	if (r == 0 && readable && !args.quiet)
		r = report(&s, e);
	if (r == 0 && !args.json) {
		buf_printf(&b, "pid %d (%s): ", pid, s.stat.comm);
		if (s.armed)
			buf_add_str(&b,
				    "recording is paused, libseep.so stays as it was");
		else
			attached_left(&b, &s.detached);
		printf("%s\n", buf_str(&b));
	}
	buf_done(&b);
	session_close(&s);
	return r;
}

static int
detach_run(int argc, char **argv)
{
	struct procfs_pids pids = {0};
	struct err e = {0};
	int status = CMD_OK;

	for (int i = 0; i < argc; i++) {
		if (attached_pids(argv[i], &pids, &e) < 0)
			status = cmd_fail(&e);
	}
	if (args.output != NULL && pids.len > 1)
		status = cmd_usage(&cmd_detach, "-o: one process at a time");
	for (size_t i = 0; status != CMD_USAGE && i < pids.len; i++) {
		if (detach_one(pids.data[i], &e) < 0)
			status = cmd_fail(&e);
	}
	vec_done(&pids);
	return status;
}

const struct cmd cmd_detach = {
	.name = "detach",
	.args = "PID|NAME...",
	.help = "take the recorder out of a process, and report what it saw",
	.man = "seep-detach",
	.opts = detach_opts,
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.run = detach_run,
};
