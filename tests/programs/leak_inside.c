/* SPDX-License-Identifier: MIT */
/* leak_inside.c -- a program that asks for looks at its own memory, and says what is no leak.
 *
 *	leak_inside [dies|bare]
 *
 * Prints what each question is answered with: `NAME got N wanted N`. With `dies` it asks in the way that ends it when
 * something is lost; with `bare` it is run without seep, and all answers are -1. */
/* cflags: -O1 -g -pthread */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seep/seep.h>

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);
__attribute__((weak)) void __lsan_do_leak_check(void);
__attribute__((weak)) void __lsan_ignore_object(const void *p);
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);
__attribute__((weak)) void __lsan_register_root_region(const void *p, size_t n);
__attribute__((weak)) void __lsan_unregister_root_region(const void *p, size_t n);

static int bare;

static void
say(const char *name, int got, int wanted)
{
	printf("%s got %d wanted %d\n", name, got, bare ? -1 : wanted);
	fflush(stdout);
}

static void *
hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* Overwrites what calls have left on the stack, and in registers. */
__attribute__((noinline)) static void
wipe(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
	free(hide(calloc(1, 47)));
}

__attribute__((noinline)) static void
lose(int n, size_t bytes)
{
	while (n-- > 0)
		hide(calloc(1, bytes));
	wipe();
}

/* A block that is lost and spared, and one that only it leads to. */
__attribute__((noinline)) static void
lose_ignored(void)
{
	void **p = hide(calloc(1, 211));

	*p = hide(calloc(1, 223));
	__lsan_ignore_object((char *)p + 100);
}

__attribute__((noinline)) static void
lose_disabled(void)
{
	__lsan_disable();
	__lsan_disable();
	hide(calloc(1, 227));
	__lsan_enable();
	hide(malloc(229));
	__lsan_enable();
}

/* Lost itself, but what it leads to is not. Kept as a number: nothing points to it. */
static size_t region;

__attribute__((noinline)) static void
lose_region(void)
{
	void **p = hide(calloc(1, 233));

	*p = hide(calloc(1, 239));
	__lsan_register_root_region(p, 233);
	region = ~(size_t)p;
}

static void *
sleeps(void *arg)
{
	void *volatile held = calloc(1, 241);

	(void)arg;
	for (;;)
		pause();
	free(held);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	int status, before;

	bare = argc > 1 && strcmp(argv[1], "bare") == 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_create(&thread, NULL, sleeps, NULL);
	before = errno = 4711;
	say("nothing", SEEP_LEAK_CHECK(), 0);
	say("errno", errno == before ? -1 : 1, -1);
	if (bare)
		return 0;
	lose(5, 101);
	say("lost", SEEP_LEAK_CHECK(), 1);
	say("recoverable", __lsan_do_recoverable_leak_check(), 1);
	say("not new", SEEP_LEAK_CHECK_NEW(), 0);
	lose(3, 103);
	say("new", SEEP_LEAK_CHECK_NEW(), 1);
	lose(2, 107);
	say("forgotten", SEEP_LEAK_FORGET(), 0);
	say("no longer new", SEEP_LEAK_CHECK_NEW(), 0);
	lose_ignored();
	wipe();
	say("ignored", SEEP_LEAK_CHECK_NEW(), 0);
	lose_disabled();
	wipe();
	say("disabled", SEEP_LEAK_CHECK_NEW(), 0);
	lose_region();
	wipe();
	say("the region itself", SEEP_LEAK_CHECK_NEW(), 1);
	__lsan_unregister_root_region((void *)~region, 233);
	wipe();
	say("no region, and only indirectly", SEEP_LEAK_CHECK_NEW(), 0);
	say("no child", waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD ? -1 : 1,
	    -1);
	if (argc > 1 && strcmp(argv[1], "dies") == 0) {
		__lsan_do_leak_check();
		puts("still here");
	}
	return 0;
}
