/* SPDX-License-Identifier: MIT */
/* peer_ends.c -- a process that keeps 7 blocks, 1,009 to 1,015 bytes, and ends in the way that
 * its argument says: return, _exit, quick, term (sent to itself), ignored (SIGTERM first
 * ignored, then at its default again, which it must look like), handled, kill, crash, fork
 * (the child keeps one of 5 bytes more and frees the first), failed (forked, and the child
 * leaves at once), vfork, daemon (as the child of fork, by daemon(3)), idle (sleeps for 3.6 seconds without allocating), closed (closes all
 * descriptors first), usr1 (raises SIGUSR1 before and after another 5 of 31 bytes). With
 * MALLOC_TRACE it calls mtrace(). */
/* cflags: -O1 -g */
#include <mcheck.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile keep[64];

static void
on_term(int sig)
{
	(void)sig;
	_exit(9);
}

static void
ignored(void)
{
	struct sigaction now;

	signal(SIGTERM, SIG_IGN);
	raise(SIGTERM);
	signal(SIGTERM, SIG_DFL);
	sigaction(SIGTERM, NULL, &now);
	if (now.sa_handler != SIG_DFL)
		_exit(8);
	raise(SIGTERM);
}

static void
as_daemon(void)
{
	if (daemon(1, 1) != 0)
		_exit(1);
	keep[8] = malloc(5);
	free(keep[0]);
	exit(0);
}

static void
forked(const char *how)
{
	pid_t pid = strcmp(how, "vfork") == 0 ? vfork() : fork();

	if (pid == 0) {
		if (strcmp(how, "fork") != 0)
			_exit(0);
		keep[8] = malloc(5);
		free(keep[0]);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	free(keep[1]);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	mtrace();
	for (int i = 0; i < 7; i++)
		keep[i] = malloc((size_t)(1009 + i));
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "quick") == 0)
		quick_exit(3);
	if (strcmp(how, "term") == 0)
		raise(SIGTERM);
	if (strcmp(how, "ignored") == 0)
		ignored();
	if (strcmp(how, "handled") == 0) {
		signal(SIGTERM, on_term);
		raise(SIGTERM);
	}
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "crash") == 0)
		raise(SIGSEGV);
	if (strstr(how, "fork") != NULL || strcmp(how, "failed") == 0)
		forked(how);
	if (strcmp(how, "daemon") == 0)
		as_daemon();
	if (strcmp(how, "idle") == 0)
		nanosleep(&(struct timespec){3, 600000000}, NULL);
	if (strcmp(how, "closed") == 0)
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (strcmp(how, "usr1") == 0) {
		raise(SIGUSR1);
		for (int i = 0; i < 5; i++)
			keep[20 + i] = malloc(31);
		raise(SIGUSR1);
	}
	return 0;
}
