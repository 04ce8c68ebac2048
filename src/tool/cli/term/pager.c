/* SPDX-License-Identifier: MIT */
/* pager.c -- see pager.h. */
#include "tool/cli/term/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/util/clean.h"

enum { PAGER_NOT_FOUND = 127 };

/* Writes to standard output; a closed pipe is the reader's choice and no failure. */
static int
pager_plain(const struct buf *out, struct err *e)
{
	if (fwrite(buf_str(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0)
		return 0;
	return errno == EPIPE ? 0 : err_sys(e, -errno, "standard output: cannot write");
}

static const char *
pager_command(void)
{
	const char *pager = getenv("PAGER");

	return pager != NULL ? pager : "less";
}

static void
pager_exec(const char *command, int from)
{
	signal(SIGPIPE, SIG_DFL);
	dup2(from, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(PAGER_NOT_FOUND);
}

/* Status of the pager; *ret_sent: it took something. */
static int
pager_through(const char *command, const struct buf *out, bool *ret_sent)
{
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	struct buf text = {0};
	size_t done = 0;
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		pager_exec(command, ends[0]);
	close(ends[0]);
	clean_add(&text, buf_str(out), out->len);
	while (pid > 0 && done < text.len) {
		ssize_t n = write(ends[1], text.data + done, text.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(ends[1]);
	buf_done(&text);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGPIPE, old);
	*ret_sent = done > 0;
	return pid > 0 ? status : -1;
}

int
pager_print(const struct buf *out, bool off, struct err *e)
{
	const char *command = pager_command();
	bool sent = false;
	int status;

	if (off || !isatty(STDOUT_FILENO) || command[0] == '\0' ||
	    strcmp(command, "cat") == 0 || out->len == 0)
		return pager_plain(out, e);
	status = pager_through(command, out, &sent);
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == PAGER_NOT_FOUND))
		return pager_plain(out, e);
	return 0;
}
