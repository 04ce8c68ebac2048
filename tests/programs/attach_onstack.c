/* SPDX-License-Identifier: MIT */
/* attach_onstack.c -- a malloc of its own in which a signal arrives, whose handler waits on a stack of its own: nothing on that
 * stack tells who has called malloc.
 *
 * It says "ready". With the first line it calls malloc, and says "inside" there; with the second one it comes back, says "back"
 * and leaves with 0. */
/* cflags: -O2 -g -fno-builtin */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static char heap[1 << 20], stack[1 << 16];
static size_t used;
static volatile size_t frees;
static volatile bool now;

static void
say(const char *what)
{
	if (write(1, what, strlen(what)) < 0)
		_exit(1);
}

static void
await_line(void)
{
	char c = 0;

	while (c != '\n') {
		if (read(0, &c, 1) != 1)
			_exit(2);
	}
}

static void
on_signal(int sig)
{
	(void)sig;
	say("inside\n");
	await_line();
}

void *
malloc(size_t n)
{
	size_t at = used;

	used += (n + 15) & ~(size_t)15;
	if (used > sizeof heap)
		return NULL;
	if (now) {
		now = false;
		/* Nor do the registers that the frame of the handler keeps. */
		__asm__ volatile("xor %%ebx, %%ebx\n\txor %%ebp, %%ebp\n\t"
				 "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\t"
				 "xor %%r10d, %%r10d\n\txor %%r12d, %%r12d\n\t"
				 "xor %%r13d, %%r13d\n\txor %%r14d, %%r14d\n\t"
				 "xor %%r15d, %%r15d\n\txor %%edx, %%edx\n\t"
				 "xor %%esi, %%esi"
				 :
				 :
				 : "rbx", "rbp", "r8", "r9", "r10", "r12", "r13", "r14",
				   "r15", "rdx", "rsi", "cc");
		raise(SIGUSR1);
	}
	return heap + at;
}

void
free(void *p)
{
	if (p != NULL) /* long enough for a jump */
		frees++;
}

int
main(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
	void *volatile p;

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	p = malloc(100);
	say("ready\n");
	await_line();
	now = true;
	p = malloc(200);
	say(p != NULL ? "back\n" : "no memory\n");
	return 0;
}
