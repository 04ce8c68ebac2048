/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin -pthread */
/* children.c -- starts programs with an environment of its own, in every way that there is.
 *
 *	children all PROGRAM    each way, PROGRAM shown what it is given; a line for each
 *	children WAY PROGRAM    replaces itself by PROGRAM: execle, clearenv, syscall, …
 *	children leak           loses 23 blocks of 4,711 bytes
 *	children show           loses as many, and prints its environment
 *	children many PROGRAM N starts PROGRAM N times, and one that does not exist
 *	children threads COMMAND  clears the environment, starts a thread, then system(COMMAND)
 *	children fork PROGRAM N forks N times; each child becomes PROGRAM without having allocated
 *
 *	children quick N K      forks N children that end at once, and K that lose 23 blocks first
 *	children blind          forks one that loses as much, and cannot be recorded
 *	children again          holds 100 blocks of 1,000 bytes, then executes itself with a variable
 *	                        set, and loses 23 blocks of 4,711 bytes
 *
 * The lines are the same with and without seep. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MANY = 500, WIDE = 20 };

static char *own[] = {"FIRST=1", "SECOND=two words", NULL};
static char *preloads[] = {"LD_PRELOAD=libm.so.6", "FIRST=1", NULL};
static char *large[MANY + 1];
static char entries[MANY][WIDE];
static char *program;
static char *arguments[] = {"started", "show", NULL};

static void
by_execle(void)
{
	execle(program, "started", arguments[1], (char *)NULL, own);
}

static void
by_execve(void)
{
	execve(program, arguments, own);
}

static void
by_execvpe(void)
{
	execvpe(program, arguments, own);
}

static void
by_fexecve(void)
{
	fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, own);
}

static void
by_execveat(void)
{
	execveat(AT_FDCWD, program, arguments, own, 0);
}

static void
by_syscall(void)
{
	syscall(SYS_execve, program, arguments, own);
}

static void
by_clearenv(void)
{
	clearenv();
	execv(program, arguments);
}

static void
with_preload(void)
{
	execve(program, arguments, preloads);
}

static void
with_many(void)
{
	execve(program, arguments, large);
}

static void
with_nothing(void)
{
	char *none[] = {NULL};

	execve(program, arguments, none);
}

static void
waited(pid_t pid)
{
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void
by_spawn(void)
{
	pid_t pid = 0;

	posix_spawn(&pid, program, NULL, NULL, arguments, own);
	waited(pid);
}

static void
by_spawnp(void)
{
	pid_t pid = 0;

	posix_spawnp(&pid, program, NULL, NULL, arguments, large);
	waited(pid);
}

static void
by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve(program, arguments, large);
		_exit(1);
	}
	waited(pid);
}

static void
in_handler(int sig)
{
	(void)sig;
	by_execve();
}

static void
by_signal(void)
{
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
}

static void
by_system(void)
{
	char command[4096];

	snprintf(command, sizeof command, "unset PWD OLDPWD SHLVL _; exec %s show",
		 program);
	clearenv();
	_exit(system(command) != 0 || (environ != NULL && environ[0] != NULL));
}

static void
by_popen(void)
{
	char command[4096];

	snprintf(command, sizeof command, "unset PWD OLDPWD SHLVL _; exec %s show",
		 program);
	clearenv();
	_exit(pclose(popen(command, "w")) != 0 ||
	      (environ != NULL && environ[0] != NULL));
}

static const struct {
	const char *name;
	void (*start)(void);
} ways[] = {
	{"execle", by_execle},	   {"execve", by_execve},
	{"execvpe", by_execvpe},   {"fexecve", by_fexecve},
	{"execveat", by_execveat}, {"syscall", by_syscall},
	{"clearenv", by_clearenv}, {"LD_PRELOAD", with_preload},
	{"500", with_many},	   {"nothing", with_nothing},
	{"posix_spawn", by_spawn}, {"posix_spawnp", by_spawnp},
	{"vfork", by_vfork},	   {"handler", by_signal},
	{"system", by_system},	   {"popen", by_popen},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static void *volatile lost;

static void
lose(void)
{
	for (int i = 0; i < 23; i++)
		lost = malloc(4711);
	lost = NULL;
}

static void
show(char **envp)
{
	unsigned n = 0;

	lose();
	for (char **e = environ; e != NULL && *e != NULL; e++, n++)
		if (n < 3)
			printf(" %s", *e);
	printf(" (%u, %s)", n, envp == environ || environ == NULL ? "main's" : "another");
	fflush(stdout);
}

static int
all(void)
{
	for (unsigned i = 0; i < WAYS; i++) {
		int status = -1;
		pid_t pid;

		printf("%s:", ways[i].name);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			ways[i].start();
			_exit(99);
		}
		waitpid(pid, &status, 0);
		printf(" status %d\n", status);
	}
	return 0;
}

static int
many(int n)
{
	char *argv[] = {program, NULL}, *none[] = {"/nowhere/to/be/found", NULL};

	for (int i = 0; i <= n; i++) {
		char **what = i < n ? argv : none;
		pid_t pid = 0;

		if (posix_spawn(&pid, what[0], NULL, NULL, what, own) == 0)
			waitpid(pid, NULL, 0);
	}
	return 0;
}

static int
forks(int n)
{
	char *argv[] = {program, NULL};

	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			execve(program, argv, own);
			execve("/nowhere/to/be/found", argv, own);
			_exit(1);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static int
quick(int n, int k)
{
	for (int i = 0; i < n + k; i++) {
		if (fork() == 0) {
			if (i >= n)
				lose();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	free(malloc(17));
	return 0;
}

static void *
rest(void *nothing)
{
	pause();
	return nothing;
}

static int
threads(const char *command)
{
	pthread_t t;

	clearenv();
	pthread_create(&t, NULL, rest, NULL);
	return system(command);
}

static int
again(char **argv)
{
	static void *volatile held[100];

	if (getenv("AGAIN") == NULL) {
		for (int i = 0; i < 100; i++)
			held[i] = malloc(1000);
		setenv("AGAIN", "1", 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	lose();
	return 0;
}

/* The child has no room for a recording. */
static int
blind(void)
{
	struct rlimit limit = {1 << 20, 1 << 20};
	int status = -1;

	free(malloc(17));
	setrlimit(RLIMIT_FSIZE, &limit);
	if (fork() == 0) {
		lose();
		_exit(0);
	}
	return wait(&status) < 0 || status != 0;
}

int
main(int argc, char **argv, char **envp)
{
	if (argc > 1 && strcmp(argv[1], "blind") == 0)
		return blind();
	if (argc > 1 && strcmp(argv[1], "again") == 0)
		return again(argv);
	if (argc > 1 && strcmp(argv[1], "show") == 0) {
		show(envp);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "leak") == 0) {
		lose();
		return 0;
	}
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "quick") == 0 && argc > 3)
		return quick(atoi(argv[2]), atoi(argv[3]));
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(entries[i], WIDE, "ENTRY%u=%u", i, i);
		large[i] = entries[i];
	}
	program = argv[2];
	if (strcmp(argv[1], "all") == 0)
		return all();
	if (strcmp(argv[1], "threads") == 0)
		return threads(argv[2]);
	if (strcmp(argv[1], "many") == 0 && argc > 3)
		return many(atoi(argv[3]));
	if (strcmp(argv[1], "fork") == 0 && argc > 3)
		return forks(atoi(argv[3]));
	arguments[1] = "leak";
	for (unsigned i = 0; i < WAYS; i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].start();
	return 2;
}
