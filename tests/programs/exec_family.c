/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* exec_family.c -- every function that starts a program, in every way that works or
 * fails.
 *
 *	exec_family DIR      runs all of them on what DIR holds and prints what came of it
 *	exec_family show …   prints its arguments and a variable: what is started
 *
 * Then the same with arguments and environments that cannot be read, which the kernel
 * refuses.
 *
 * DIR has `good` (this program), `script` (no #!), `shebang` (#! naming good), `plain`
 * (not executable), `folder`. The lines must be the same with and without seep. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum how {
	EXECV,
	EXECVE,
	EXECVP,
	EXECVPE,
	EXECL,
	EXECLP,
	EXECLE,
	FEXECVE,
	SPAWN,
	SPAWNP,
	HOWS,
};

static const char *const names[] = {"execv",	   "execve",	  "execvp", "execvpe",
				    "execl",	   "execlp",	  "execle", "fexecve",
				    "posix_spawn", "posix_spawnp"};

static char *own_env[64];
static char **env = own_env; /* what is passed on */

static void
make_env(void)
{
	unsigned n = 0;

	/* A chosen environment: what seep needs is kept, as a careful program keeps what it got. */
	for (char **e = environ; *e != NULL && n < 60; e++)
		if (strncmp(*e, "VARIABLE=", 9) != 0)
			own_env[n++] = *e;
	own_env[n++] = "VARIABLE=chosen";
}

static int
spawn(enum how how, const char *file, char **argv)
{
	pid_t pid;
	int status, r;

	r = how == SPAWN ? posix_spawn(&pid, file, NULL, NULL, argv, env)
			 : posix_spawnp(&pid, file, NULL, NULL, argv, env);
	if (r != 0) {
		errno = r;
		return -1;
	}
	waitpid(pid, &status, 0);
	_exit(WEXITSTATUS(status));
}

static int
start(enum how how, const char *file, char **argv)
{
	switch (how) {
	case EXECV:
		return execv(file, argv);
	case EXECVE:
		return execve(file, argv, env);
	case EXECVP:
		return execvp(file, argv);
	case EXECVPE:
		return execvpe(file, argv, env);
	case EXECL:
		return execl(file, argv[0], argv[1], argv[2], (char *)NULL);
	case EXECLP:
		return execlp(file, argv[0], argv[1], argv[2], (char *)NULL);
	case EXECLE:
		return execle(file, argv[0], argv[1], argv[2], (char *)NULL, own_env);
	case FEXECVE:
		return fexecve(open(file, O_RDONLY | O_CLOEXEC), argv, env);
	default:
		return spawn(how, file, argv);
	}
}

static char *good_argv[] = {"zero", "show", "two words", NULL};

static void
attempt_with(enum how how, const char *file, const char *what, int by_vfork, char **argv)
{
	volatile int code = 0;
	int status = -1;
	pid_t pid;

	printf("%s %s%s%s: ", names[how], file, what, by_vfork ? " after vfork" : "");
	fflush(stdout);
	pid = by_vfork ? vfork() : fork();
	if (pid == 0) {
		start(how, file, argv);
		code = errno;
		if (by_vfork)
			_exit(101);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	printf(" status %d errno %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -status,
	       code);
	fflush(stdout);
}

static void
attempt(enum how how, const char *file, int by_vfork)
{
	attempt_with(how, file, "", by_vfork, good_argv);
}

/* Lists and texts that end in memory which is not there. */
static void
attempt_unreadable(void)
{
	static const enum how hows[] = {EXECV,	 EXECVE, EXECVP, EXECVPE,
					FEXECVE, SPAWN,	 SPAWNP};
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *end = memset(page, 'x', 4096);
	char **list = (char **)(page + 4096 - sizeof(char *));
	char *bad_text[] = {"zero", (char *)16, NULL};
	char *cut_text[] = {"zero", end, NULL};
	char **lists[] = {(char **)16, list, bad_text, cut_text};
	static const char *const of[] = {" nowhere", " cut", " text nowhere",
					 " text cut"};

	munmap(page + 4096, 4096);
	*list = "zero";
	for (size_t h = 0; h < sizeof(hows) / sizeof(hows[0]); h++) {
		for (size_t i = 0; i < 4; i++) {
			if (i == 3)
				memset(list, 'x', sizeof(char *));
			else
				*list = "zero";
			attempt_with(hows[h], "./good", of[i], 0, lists[i]);
			env = lists[i];
			if (hows[h] != EXECV && hows[h] != EXECVP)
				attempt_with(hows[h], "./good", of[i], 1, good_argv);
			env = own_env;
		}
	}
	errno = 0;
	printf("execveat nowhere: %d ",
	       execveat(AT_FDCWD, (char *)16, good_argv, env, 0));
	printf("errno %d\n", errno);
}

int
main(int argc, char **argv)
{
	static const char *const files[] = {
		"./good",  "good",	"./script", "script",	 "./shebang",
		"./plain", "plain",	"./folder", "./missing", "missing",
		"",	   "/dev/null", "./good/x", "/bin/echo", "echo"};

	if (argc > 1 && strcmp(argv[1], "show") == 0) {
		free(malloc(4711));
		printf("[%s %s %d %s]", argv[0], argv[argc - 1], argc,
		       getenv("VARIABLE"));
		return 23;
	}
	if (argc < 2 || chdir(argv[1]) != 0)
		return 2;
	setenv("VARIABLE", "inherited", 1);
	setenv("PATH", "/nonexistent:.:/bin", 1);
	make_env();
	for (enum how how = 0; how < HOWS; how++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			attempt(how, files[i], 0);
			if (how < FEXECVE && i % 3 == 0)
				attempt(how, files[i], 1);
		}
	}
	attempt_unreadable();
	errno = 0;
	execv("./missing", argv);
	printf("errno %d in this very process\n", errno);
	return 0;
}
