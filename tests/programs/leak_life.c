/* SPDX-License-Identifier: MIT */
/* leak_life.c -- the ways to end, and what is freed on the way. */
/* cflags: -O1 -g -pthread */
#include "leak_cases.h"

#include <dlfcn.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

static void *volatile root, *volatile late;

static void
leak(void)
{
	leak_hide(malloc(409));
	root = malloc(419);
}

LEAK_CASE(returns, "definite=409/1 reachable=419/1")
{
	leak();
}

LEAK_CASE(exits, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	exit(0);
}

LEAK_CASE(leaves, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	_exit(0);
}

LEAK_CASE(leaves_too, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	_Exit(0);
}

LEAK_CASE(exits_quickly, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	quick_exit(0);
}

static void
leak_quick_late(void)
{
	leak_hide(malloc(431));
	free(root);
	leak_wipe();
}

LEAK_CASE(exits_quickly_by_a_handler, "definite=840/2")
{
	at_quick_exit(leak_quick_late);
	leak();
	leak_wipe();
	quick_exit(0);
}

LEAK_CASE(aborts, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	abort();
}

LEAK_CASE(is_terminated, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	raise(SIGTERM);
}

LEAK_CASE(crashes, "definite=409/1 reachable=419/1")
{
	leak();
	leak_wipe();
	*(volatile int *)leak_hide(NULL) = 1;
}

LEAK_CASE(divides_by_zero, "definite=409/1 reachable=419/1")
{
	volatile int zero = 0;

	leak();
	leak_wipe();
	zero = 1 / zero;
}

static void
free_late(void)
{
	free(late);
}

LEAK_CASE(freed_by_atexit, "reachable=419/1 definite=409/1")
{
	late = malloc(421);
	atexit(free_late);
	leak();
}

static void *volatile freed_last;

__attribute__((destructor)) static void
destroy(void)
{
	free(freed_last);
}

LEAK_CASE(freed_by_destructor, "reachable=419/1 definite=409/1")
{
	freed_last = malloc(431);
	leak();
}

LEAK_CASE(freed_by_destructor_after_exit, "")
{
	freed_last = malloc(433);
	exit(0);
}

static void
leak_late(void)
{
	leak_hide(malloc(439));
}

LEAK_CASE(leaked_by_atexit, "definite=439/1")
{
	atexit(leak_late);
}

static void
drop(int sig)
{
	(void)sig;
	free(root);
	_exit(0);
}

LEAK_CASE(own_handler, "definite=409/1")
{
	signal(SIGTERM, drop);
	leak();
	raise(SIGTERM);
}

LEAK_CASE(ignored_signal, "definite=409/1 reachable=419/1")
{
	signal(SIGTERM, SIG_IGN);
	leak();
	raise(SIGTERM);
}

/* ---- what must not count ---- */

LEAK_CASE(nothing, "")
{
}

LEAK_CASE(stdio, "")
{
	printf("%d %s\n", 42, "printed");
	fprintf(stderr, " ");
}

LEAK_CASE(stdio_file_open, "reachable=472/1")
{
	root = fopen("/dev/null", "w");
}

LEAK_CASE(locale, "")
{
	setlocale(LC_ALL, "");
	setlocale(LC_ALL, "C");
}

LEAK_CASE(time_zone, "")
{
	time_t now = 0;

	localtime(&now);
}

LEAK_CASE(library_opened_and_closed, "")
{
	void *lib = dlopen("libz.so.1", RTLD_NOW);

	if (lib != NULL)
		dlclose(lib);
}

LEAK_CASE(started_a_process, "")
{
	int status;
	pid_t pid = vfork();

	if (pid == 0)
		execl("/bin/true", "true", (char *)NULL);
	waitpid(pid, &status, 0);
}

LEAK_CASE(many_exit_handlers, "")
{
	for (int i = 0; i < 100; i++)
		atexit(free_late);
}

LEAK_MAIN()
