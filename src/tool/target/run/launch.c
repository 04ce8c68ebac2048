/* SPDX-License-Identifier: MIT */
/* launch.c -- see launch.h.
 *
 * A pipe that closes itself on exec tells whether the program was started: end of file
 * means yes, four bytes are the errno. Everything is prepared before fork; between fork
 * and exec the child only restores its signal mask. */
#include "tool/target/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/target/run/held.h"
#include "tool/util/buf.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

extern char **environ;

struct strings VEC_BODY(char *);

/* The variable of our own: all that libseep.so has to know. */
static char *
settings(const struct launch *l)
{
	struct buf b = {0};

	buf_add_str(&b, "SEEP=");
	if (l->rate_bytes > 0)
		buf_printf(&b, "mode=sample,rate=%" PRIu64, l->rate_bytes);
	else
		buf_add_str(&b, "mode=exact");
	buf_printf(&b, ",dir=%s,run=%016" PRIx64 ",max=%" PRIu64, l->dir, l->run_id,
		   l->max_bytes);
	if (l->no_children)
		buf_printf(&b, ",children=0,parent=%d", (int)getpid());
	if (l->mmap)
		buf_add_str(&b, ",mmap=1");
	if (l->free_stacks)
		buf_add_str(&b, ",free-stacks=1");
	if (l->redzone > 0)
		buf_printf(&b, ",redzone=%" PRIu64, l->redzone);
	if (l->quarantine > 0)
		buf_printf(&b, ",quarantine=%" PRIu64, l->quarantine);
	if (l->guard > 0)
		buf_printf(&b, ",guard=%" PRIu64, l->guard);
	if (l->keep_going)
		buf_add_str(&b, ",keep-going=1");
	if (l->hold)
		buf_printf(&b, ",hold=%d", (int)getpid());
	if (l->lsan)
		buf_add_str(&b, ",lsan=1");
	return buf_take(&b);
}

/* Ours first: it wraps whatever allocator the user preloads. */
static char *
preload(const struct launch *l)
{
	const char *had = getenv("LD_PRELOAD"), *slash = strrchr(l->libseep, '/');
	struct buf b = {0};

	buf_printf(&b, "LD_PRELOAD=%s", l->libseep);
	if (l->check_copy && slash != NULL)
		buf_printf(&b, ":%.*s/libseep_copy.so", (int)(slash - l->libseep),
			   l->libseep);
	if (had != NULL && *had != '\0')
		buf_printf(&b, ":%s", had);
	return buf_take(&b);
}

static void
environment(const struct launch *l, struct strings *ret_env)
{
	for (char **at = environ; *at != NULL; at++) {
		if (l->libseep == NULL || (strncmp(*at, "LD_PRELOAD=", 11) != 0 &&
					   strncmp(*at, "SEEP=", 5) != 0))
			vec_push(ret_env, *at);
	}
	if (l->libseep != NULL) {
		vec_push(ret_env, preload(l));
		vec_push(ret_env, settings(l));
	}
	vec_push(ret_env, NULL);
}

/* What to execute: the program, or the shell with the script put in as its first
 * argument. */
static void
arguments(const struct launch *l, struct strings *ret_argv)
{
	if (l->program->by_shell) {
		vec_push(ret_argv, "/bin/sh");
		vec_push(ret_argv, l->program->path);
	} else {
		vec_push(ret_argv, l->argv[0]);
	}
	for (char *const *at = l->argv + 1; *at != NULL; at++)
		vec_push(ret_argv, *at);
	vec_push(ret_argv, NULL);
}

static void
run_child(const struct launch *l, char **argv, char **env, int told, bool chld_ignored)
{
	const char *path = l->program->by_shell ? "/bin/sh" : l->program->path;
	int code;

	if (chld_ignored)
		signal(SIGCHLD, SIG_IGN);
	if (l->xfsz_ignored)
		signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, l->mask, NULL);
	code = l->at_entry ? -held_prepare() : 0;
	if (code == 0) {
		execve(path, argv, env);
		code = errno;
	}
	if (write(told, &code, sizeof code) < 0)
		_exit(126);
	_exit(127);
}

/* Waits until the child has executed or failed to; returns its errno, 0 for success. */
static int
exec_result(int fd)
{
	int code = 0;
	ssize_t got;

	do {
		got = read(fd, &code, sizeof code);
	} while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof code ? code : 0;
}

/* Whoever started us may have left SIGCHLD ignored. Then the kernel would not keep the
 * program's exit status for us; the program itself shall find it as it was. */
static bool
take_back_sigchld(void)
{
	struct sigaction sa;

	if (sigaction(SIGCHLD, NULL, &sa) < 0 || sa.sa_handler != SIG_IGN)
		return false;
	signal(SIGCHLD, SIG_DFL);
	return true;
}

int
launch_start(const struct launch *l, int *ret_pid, int *ret_status, struct err *e)
{
	struct strings argv = {0}, env = {0};
	int pipe_fd[2], pid, code;
	bool chld_ignored;

	*ret_status = INSPECT_FAILED;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return err_sys(e, -errno, "cannot make a pipe");
	arguments(l, &argv);
	environment(l, &env);
	chld_ignored = take_back_sigchld();
	pid = fork();
	if (pid == 0)
		run_child(l, argv.data, env.data, pipe_fd[1], chld_ignored);
	code = pid < 0 ? errno : 0;
	close(pipe_fd[1]);
	if (pid > 0) {
		code = exec_result(pipe_fd[0]);
		if (code != 0) {
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
				;
			*ret_status = code == ENOENT ? INSPECT_NOT_FOUND
						     : INSPECT_NOT_EXECUTABLE;
		}
	}
	close(pipe_fd[0]);
	if (l->libseep != NULL) {
		free(env.data[env.len - 2]);
		free(env.data[env.len - 3]);
	}
	vec_done(&env);
	vec_done(&argv);
	if (code != 0)
		return err_sys(e, -code, "%s: cannot start it", l->argv[0]);
	*ret_pid = pid;
	return 0;
}
