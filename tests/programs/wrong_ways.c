/* SPDX-License-Identifier: MIT */
/* wrong_ways.c -- what is legal and must stay as it is while wrong uses are looked for:
 *
 *	wrong_ways empty      a million blocks of 0 bytes, freed: says by how many MiB the process has grown
 *	wrong_ways disabled   two million blocks between __lsan_disable and __lsan_enable, freed but for three: the same
 *	wrong_ways ignored    SIGSEGV is ignored, and sent: says that it goes on */
/* cflags: -O1 -g */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static long
most_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

__attribute__((noinline)) static void
many(int n, size_t bytes)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(bytes);

		__asm__ volatile("" : "+r"(p) : : "memory");
		free(p);
	}
}

__attribute__((noinline)) static void
lose(void)
{
	for (int i = 0; i < 3; i++) {
		void *p = malloc(173);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
}

int
main(int argc, char **argv)
{
	long before;

	many(100, 40);
	before = most_kib();
	if (argc > 1 && strcmp(argv[1], "ignored") == 0) {
		signal(SIGSEGV, SIG_IGN);
		raise(SIGSEGV);
		puts("goes on");
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "disabled") == 0 && __lsan_disable != NULL) {
		__lsan_disable();
		many(2000000, 40);
		lose();
		__lsan_enable();
	} else {
		many(1000000, 0);
	}
	printf("grown by %ld\n", (most_kib() - before) / 1024);
	return 0;
}
