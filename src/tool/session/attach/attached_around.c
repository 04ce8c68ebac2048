/* SPDX-License-Identifier: MIT */
/* attached_around.c -- see attached_around.h.
 *
 * The command has our stdin, stdout and stderr, and the signals that we block. */
#include "tool/session/attach/attached_around.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/target/run/control.h"

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

int
around_run(struct attached_sessions *ss, const char *command, int *ret_status,
	   struct err *e)
{
	int pid, got, status = 0, r = mark(ss, AROUND_BEFORE, e);

	if (r < 0)
		return r;
	pid = start(command, e);
	if (pid < 0)
		return pid;
	while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
		attached_tick(ss);
		if (attached_wait())
			kill(pid, SIGTERM);
	}
	if (got < 0)
		return err_sys(e, -errno, "cannot wait for the command");
	*ret_status = WIFSIGNALED(status) ? SHELL_SIGNALED + WTERMSIG(status)
					  : WEXITSTATUS(status);
	return mark(ss, AROUND_AFTER, e);
}
