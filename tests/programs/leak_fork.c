/* SPDX-License-Identifier: MIT */
/* leak_fork.c -- processes that fork and execute others, each with losses of its own.
 *
 * What a child has from its parent is the parent's to report; but it is memory like any other, and may hold the only
 * pointer to something of the child's. Prints for each process `expect` and what is lost and reachable in it. */
/* cflags: -O1 -g */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void **root; /* from the parent: 163 bytes */
static void *volatile kept;

__attribute__((noinline)) static void
lose(int n, size_t bytes)
{
	while (n-- > 0) {
		void *p = calloc(1, bytes);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
}

__attribute__((noinline)) static void
wipe(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

static void
say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(99);
}

static int
grandchild(void)
{
	say("expect definite=151/1 reachable=0/0\n");
	lose(1, 151);
	wipe();
	return 4;
}

/* Ends by _exit; the second of its blocks is held by one of its parent's. */
static int
child(void)
{
	pid_t pid;

	say("expect definite=393/3 reachable=316/2\n");
	lose(3, 131);
	root[3] = calloc(1, 149);
	kept = calloc(1, 167);
	wipe();
	pid = fork();
	if (pid == 0)
		return grandchild();
	waitpid(pid, NULL, 0);
	wipe();
	_exit(3);
}

int
main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1) {
		say("expect definite=785/5 reachable=0/0\n");
		lose(5, 157);
		wipe();
		return 0;
	}
	say("expect definite=274/2 reachable=163/1\n");
	root = calloc(1, 163);
	lose(2, 137);
	wipe();
	pid = fork();
	if (pid == 0)
		return child();
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		execl(argv[0], argv[0], "again", (char *)NULL);
		_exit(98);
	}
	waitpid(pid, NULL, 0);
	wipe();
	return 0;
}
