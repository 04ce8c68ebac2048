/* SPDX-License-Identifier: MIT */
/* jem_ends.c -- ways to end, each with 17 blocks of 1,009 bytes live (17,153 bytes).
 *
 *	exit _exit quick abort   and so it does; status 3
 *	wait      says `ready` and waits for a signal at its default
 *	handled   the same with a handler of its own, which leaves by exit(4)
 *	ignored   SIGTERM is ignored; it sends itself one and exits with 5
 *	asks      what sigaction and signal say of SIGTERM; sets a handler, takes it back; exits with 6
 *	fork      a child allocates 5 more blocks of 2,003 bytes and frees 4 of the 17; both exit. Child:
 *	          18 blocks, 23,132 bytes
 *	daemon    becomes a daemon, that goes on as that child does: 18 blocks, 23,132 bytes
 *	pty       the same in a child of forkpty
 *	threads   fork, while four threads allocate, 23 times; children allocate and _exit
 *	late      a destructor that is registered early frees 7 of the blocks: 10 are left */
/* cflags: -O1 -g */
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[64];
static atomic_int stop;

__attribute__((noinline)) static void
keep(int from, int n, size_t bytes)
{
	for (int i = from; i < from + n; i++)
		kept[i] = malloc(bytes);
}

static void
ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void
on_term(int sig)
{
	(void)sig;
	exit(4);
}

static void
asks(void)
{
	struct sigaction sa = {.sa_handler = on_term}, old;

	sigaction(SIGTERM, NULL, &old);
	printf("%s ",
	       old.sa_handler == SIG_DFL && old.sa_flags == 0 ? "default" : "handled");
	sigaction(SIGTERM, &sa, &old);
	printf("%s ", old.sa_handler == SIG_DFL ? "default" : "handled");
	printf("%s ", signal(SIGTERM, SIG_DFL) == on_term ? "mine" : "other");
	printf("%s\n", signal(SIGTERM, SIG_DFL) == SIG_DFL ? "default" : "handled");
	fflush(stdout);
	exit(6);
}

static void
goes_on(void)
{
	keep(17, 5, 2003);
	for (int i = 0; i < 4; i++)
		free(kept[i]);
}

static void
forks(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		goes_on();
		printf("child %d\n", (int)getpid());
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void
forks_in_libc(const char *how)
{
	int fd;
	pid_t pid = strcmp(how, "daemon") == 0 ? daemon(1, 1)
					       : forkpty(&fd, NULL, NULL, NULL);

	if (pid == 0) {
		goes_on();
		exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void *
churn(void *arg)
{
	while (!stop)
		free(malloc(100 + (size_t)(rand() & 1023)));
	return arg;
}

static int
forks_with_threads(void)
{
	pthread_t t[4];
	int bad = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < 23; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			alarm(20);
			keep(17, 5, 2003);
			for (int k = 0; k < 22; k++)
				free(kept[k]);
			_exit(9);
		}
		waitpid(pid, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 9;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("bad children %d\n", bad);
	return bad;
}

static void
let_go(void)
{
	for (int i = 0; i < 7; i++)
		free(kept[i]);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IONBF, 0);
	keep(0, 17, 1009);
	if (strcmp(how, "exit") == 0)
		exit(3);
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "quick") == 0)
		quick_exit(3);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "handled") == 0)
		signal(SIGTERM, on_term);
	if (strcmp(how, "handled") == 0 || strcmp(how, "wait") == 0) {
		ready();
		for (;;)
			pause();
	}
	if (strcmp(how, "ignored") == 0) {
		signal(SIGTERM, SIG_IGN);
		raise(SIGTERM);
		exit(5);
	}
	if (strcmp(how, "asks") == 0)
		asks();
	if (strcmp(how, "fork") == 0)
		forks();
	if (strcmp(how, "daemon") == 0 || strcmp(how, "pty") == 0)
		forks_in_libc(how);
	if (strcmp(how, "threads") == 0)
		return forks_with_threads();
	if (strcmp(how, "late") == 0)
		atexit(let_go);
	return 0;
}
