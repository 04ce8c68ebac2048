/* SPDX-License-Identifier: MIT */
/* graphviz.c -- see graphviz.h. The graph lies in an anonymous file for dot to read, and
 * the picture comes back through a pipe, so neither side can wait for the other. */
#include "tool/session/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/util/clean.h"
#include "tool/util/file.h"

enum { GRAPHVIZ_NOT_FOUND = 127, GRAPHVIZ_MAX = 256 << 20 };

static int
graphviz_input(const struct buf *graph, struct err *e)
{
	int fd = memfd_create("seep-graph", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return err_sys(e, -errno, "graph: cannot make a file in memory");
	while (done < graph->len) {
		ssize_t n = write(fd, graph->data + done, graph->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = err_sys(e, -errno, "graph: cannot write");

			close(fd);
			return r;
		}
		done += (size_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void
graphviz_exec(const char *type, int in, int out)
{
	char option[16];

	signal(SIGPIPE, SIG_DFL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	snprintf(option, sizeof option, "-T%s", type);
	execlp("dot", "dot", option, (char *)NULL);
	_exit(GRAPHVIZ_NOT_FOUND);
}

static int
graphviz_status(const struct graphviz *g, int status, size_t got, struct err *e)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == GRAPHVIZ_NOT_FOUND)
		return err_set(
			e, -ENOENT,
			"%s needs dot of graphviz, which is not installed (Debian: "
			"graphviz); %s prints the graph as text",
			g->option, g->text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || got == 0)
		return err_set(e, -EIO, "%s: dot could not draw the graph", g->option);
	return 0;
}

static int
graphviz_run(int in, const struct graphviz *g, struct buf *ret_picture, struct err *e)
{
	int ends[2], status = 0, r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, -errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		graphviz_exec(g->type, in, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_sys(e, -errno, "cannot start dot");
	}
	r = buf_read_fd(ret_picture, ends[0], GRAPHVIZ_MAX, "dot", e);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r < 0 ? r : graphviz_status(g, status, ret_picture->len, e);
}

int
graphviz_draw(const struct buf *graph, const struct graphviz *g, struct err *e)
{
	struct buf picture = {0};
	int in = graphviz_input(graph, e);
	int r = in;

	if (in >= 0) {
		r = graphviz_run(in, g, &picture, e);
		close(in);
	}
	if (r == 0 && strcmp(g->path, "-") == 0) {
		if (fwrite(picture.data, 1, picture.len, clean_raw()) != picture.len ||
		    fflush(clean_raw()) != 0)
			r = err_sys(e, -errno, "standard output: cannot write");
	} else if (r == 0) {
		r = file_write(g->path, picture.data, picture.len, e);
	}
	buf_done(&picture);
	return r;
}
