/* SPDX-License-Identifier: MIT */
/* cmd_detach.c -- `seep detach`: take the recorder out of a process and report what it
 * saw.
 *
 * Works whoever attached, and also if that one was killed half-way: what has to be undone
 * is written down in the process itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/format/pack/pack.h"
#include "tool/render/report/report.h"
#include "tool/render/watch/attach_foot.h"
#include "tool/session/attach/attached.h"
#include "tool/session/attach/attached_check.h"
#include "tool/session/last.h"
#include "tool/session/names/names_confined.h"
#include "tool/session/out_file.h"
#include "tool/session/run/save.h"
#include "tool/target/attach/armed.h"
#include "tool/target/trace/tracee_nice.h"
#include "tool/util/file.h"
#include "tool/util/term.h"
#include "tool/util/x.h"

struct detach_args {
	bool json, quiet;
	const char *output;
	uint64_t max_stop_ns;
};

#define AT(member) .at = offsetof(struct detach_args, member)

static const struct opt detach_opts[] = {
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Save the recording as FILE."},
	{"json", 0, OPT_NONE, AT(json), .help = "Print the report as JSON."},
	{"max-stop", 0, OPT_DURATION, AT(max_stop_ns), .metavar = "TIME",
	 .help = "Skip the leak check if it would stop the process for longer than "
		 "TIME (10ms, 0 = no check)."},
	CMD_COLOR_OPT,
	{"quiet", 'q', OPT_NONE, AT(quiet),
	 .help = "Remove the recorder without a report."},
	{0},
};

static void
print(const struct detach_args *o, const struct session *s, struct prof *p,
      const struct report_opts *opts)
{
	struct buf b = {0};
	struct term term;
	struct report_opts ro = *opts;

	term_init(&term, STDOUT_FILENO);
	if (term.tty)
		ro.term = &term;
	if (o->json)
		report_json(&b, p, &ro);
	else
		report_text(&b, p, &ro);
	if (!o->json && !s->armed)
		attach_account(&b, s);
	fputs(buf_str(&b), stdout);
	buf_done(&b);
}

/* What the recorder saw; its file is gone from the process, but not from us. What cannot
 * be saved is at least reported: nobody else has it any more. */
static int
report(const struct detach_args *o, struct session *s, struct attached_check *c,
       struct err *e)
{
	struct report_opts ro = {.ascii = !report_locale_is_utf8()};
	struct prof *p = prof_new();
	int r = attached_load_one(s, p, e), saved = 0;

	if (r == 0) {
		attached_check_save(c, p, p->nprocesses - 1);
		save_coverage(p);
		names_resolve_confined(&p, &(struct names_opts){.pid = s->pid}, s->uid,
				       s->gid);
	}
	if (r == 0 && o->output != NULL) {
		saved = pack_save(p, o->output, e);
		ro.saved = saved == 0 ? o->output : NULL;
		ro.saved_names = saved == 0;
	}
	if (r == 0 && (!o->quiet || saved < 0))
		print(o, s, p, &ro);
	prof_free(p);
	return r < 0 ? r : saved;
}

/* Opens the recording, before anything is undone: what cannot be read is lost with its
 * mapping. That there is none is no error yet. */
static int
open_recording(const struct detach_args *o, struct session *s, bool *ret_readable,
	       struct err *e)
{
	struct err why = {0};
	int r = detach_recording(s->pid, &s->attach.live, &why);

	*ret_readable = r == 0;
	if (r == 0 || r == -ENOENT)
		return 0;
	if (o->output != NULL)
		return err_set(
			e, r,
			"%s; nothing was changed; to remove the recorder without a "
			"report: seep detach -q %d",
			why.msg, s->pid);
	return o->quiet ? 0 : err_set(e, r, "%s", why.msg);
}

static int
take_out(struct session *s, struct err *e)
{
	bool undone = tracee_nice_undo(s->pid, e);
	int r;

	if (undone)
		cmd_note("%d (%s): a thread had been left at nice -20, and has its own "
			 "value again",
			 s->pid, s->stat.comm);
	if (s->armed)
		return session_detach(s, e);
	r = detach_patches(s->pid, &s->detached, e);
	if (r == 0)
		r = detach_unmap(s->pid, &s->detached, e);
	if (r == 0 && !s->detached.found && !undone)
		r = err_set(e, -ENOENT, "%d (%s): nothing of seep's is in it", s->pid,
			    s->stat.comm);
	return r;
}

static void
say_left(const struct session *s)
{
	struct buf b = {0};

	buf_printf(&b, "pid %d (%s): ", s->pid, s->stat.comm);
	if (s->armed)
		buf_add_str(&b, "recording is paused, libseep.so stays as it was");
	else
		attach_left(&b, &s->detached);
	printf("%s\n", buf_str(&b));
	buf_done(&b);
}

static int
detach_one(const struct detach_args *o, int pid, struct err *e)
{
	struct attached_check c = ATTACHED_CHECK_NONE;
	struct session s = SESSION_NONE;
	struct err unread = {0};
	bool readable;
	int r, seen;

	s.pid = pid;
	r = procfs_stat(pid, &s.stat, NULL);
	if (r < 0)
		return err_set(e, -ESRCH, "%d: no such process", pid);
	seen = open_recording(o, &s, &readable, &unread);
	if (seen < 0 && o->output != NULL) {
		*e = unread;
		return seen;
	}
	procfs_ids(pid, &s.uid, &s.gid);
	s.armed = readable && armed_loaded(pid);
	s.late = readable;
	if (readable && !s.armed)
		session_read_old(&s);
	if (readable && (!o->quiet || o->output != NULL))
		attached_check_run(&c, &s, o->max_stop_ns);
	r = take_out(&s, e);
	if (r == 0) {
		if (readable && (!o->quiet || o->output != NULL))
			seen = report(o, &s, &c, &unread);
		else if (seen == 0 && o->output != NULL)
			seen = err_set(&unread, -ENOENT, "%d: nothing was recorded", pid);
		if (!o->json)
			say_left(&s);
		if (seen < 0)
			*e = unread;
		r = seen;
	}
	attached_check_done(&c);
	session_close(&s);
	return r;
}

static int
detach_run(void *opts, int argc, char **argv)
{
	const struct detach_args *o = opts;
	struct procfs_pids pids = {0};
	struct err e = {0};
	int status = CMD_OK;

	attached_ignore_limits();
	for (int i = 0; i < argc; i++) {
		if (attached_pids(argv[i], &pids, &e) < 0)
			status = cmd_fail(&e);
	}
	if (o->output != NULL && pids.len > 1)
		status = cmd_usage(&cmd_detach, "-o: one process at a time");
	/* Once it is taken out there is no second try. */
	if (o->output != NULL && status == CMD_OK &&
	    (out_check(o->output, "rec", &e) < 0 || file_out_check(o->output, &e) < 0)) {
		vec_done(&pids);
		return cmd_fail_output(&e);
	}
	for (size_t i = 0; status != CMD_USAGE && i < pids.len; i++) {
		if (detach_one(o, pids.data[i], &e) < 0)
			status = cmd_fail(&e);
	}
	vec_done(&pids);
	return status;
}

const struct cmd cmd_detach = {
	.name = "detach",
	.args = "PID|NAME...",
	.help = "remove the recorder from a process and report what it saw",
	.man = "seep-detach",
	.needs_proc = true,
	.opts = detach_opts,
	.opts_bytes = sizeof(struct detach_args),
	.defaults = &(const struct detach_args){.max_stop_ns = ATTACHED_CHECK_STOP_NS},
	.min_args = 1,
	.max_args = CMD_ANY_ARGS,
	.run = detach_run,
};
