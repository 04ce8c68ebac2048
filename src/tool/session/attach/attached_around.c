/* SPDX-License-Identifier: MIT */
/* attached_around.c -- see attached_around.h.
 *
 * The command has our stdin, stdout and stderr, and the signals that we block. */
#include "tool/session/attach/attached_around.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/session/last.h"
#include "tool/session/loop.h"
#include "tool/target/run/control.h"
#include "tool/util/x.h"

enum { SHELL_SIGNALED = 128 };

static int
mark(struct attached_sessions *ss, const char *name, struct err *e)
{
	struct session *s = ss->data[0];
	struct control_marked m;

	session_tick(s);
	if (s->replaced)
		return err_set(e, -ESRCH,
			       "process %d became another program while the command ran",
			       s->pid);
	if (s->ended)
		return err_set(e, -ESRCH, "process %d ended while the command ran",
			       s->pid);
	return control_mark(&s->attach.live, name, &m, e);
}

static int
start(const char *command, struct err *e)
{
	sigset_t none;
	int pid = fork();

	if (pid < 0)
		return err_sys(e, -errno, "cannot start the command");
	if (pid > 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

struct command {
	struct attached_sessions *ss;
	int pid, status;
};

static int
command_step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct command *a = ctx;
	int got;

	(void)l;
	if (ev->sig != 0)
		kill(a->pid, SIGTERM);
	attached_tick(a->ss);
	got = waitpid(a->pid, &a->status, WNOHANG);
	if (got < 0)
		return err_sys(e, -errno, "cannot wait for the command");
	return got == 0 ? LOOP_GO_ON : LOOP_END;
}

int
around_run(struct attached_sessions *ss, const char *command, int *ret_status,
	   struct err *e)
{
	struct command a = {.ss = ss};
	sigset_t ending;
	struct loop l = {.tick_ns = ATTACHED_TICK_NS,
			 .signals = &ending,
			 .step = command_step,
			 .ctx = &a};
	int pid, r = mark(ss, AROUND_BEFORE, e);

	if (r < 0)
		return r;
	pid = start(command, e);
	if (pid < 0)
		return pid;
	loop_ending(&ending);
	a.pid = pid;
	r = loop_run(&l, e);
	if (r < 0)
		return r;
	*ret_status = WIFSIGNALED(a.status) ? SHELL_SIGNALED + WTERMSIG(a.status)
					    : WEXITSTATUS(a.status);
	return mark(ss, AROUND_AFTER, e);
}

int
around_output(int pid, char **ret_path, struct err *e)
{
	char *folder = NULL;
	int r = last_folder(&folder, e);

	if (r == 0)
		*ret_path = xasprintf("%s/around.%d.rec", folder, pid);
	free(folder);
	return r;
}
