/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -w */
/* wrong_pages.c -- blocks whose pages the program has closed, or never touched: with room around them, and held back when
 * freed, the program does as it does without.
 *
 *	wrong_pages CASE
 *
 * Prints `end` last; `untouched` says before how many MiB the process had at most. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096 };

static void *volatile kept;

static char *
page_down(char *p)
{
	return (char *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1));
}

/* The page that the block ends on, until the end of the process. */
static void
close_end(int prot)
{
	char *p = malloc(5 * PAGE + 100);

	memset(p, 1, 5 * PAGE + 100);
	kept = p;
	/* Nothing else is on the last page but what follows in the heap, which nobody uses. */
	mprotect(page_down(p + 5 * PAGE + 99), PAGE, prot);
}

/* A page in the middle, also while the block is freed. */
static void
close_middle(int prot)
{
	char *p = malloc(8 * PAGE), *page = page_down(p) + 3 * PAGE;

	memset(p, 1, 8 * PAGE);
	__asm__ volatile("" : : "r"(p) : "memory");
	mprotect(page, PAGE, prot);
	free(p);
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void
untouched(void)
{
	enum { BLOCKS = 20, BYTES = 16 << 20 };
	struct rusage used;

	for (int i = 0; i < BLOCKS; i++) {
		char *volatile p = malloc(BYTES + i * PAGE);

		p[5] = 1;
		free(p);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("most %ld MiB\n", used.ru_maxrss / 1024);
}

/* In the part of a large block that was touched, the first of it and the middle. */
static __attribute__((noinline)) void
write_later(long at)
{
	enum { BYTES = 16 << 20 };
	char *p = malloc(BYTES);

	memset(p, 1, 3 * PAGE);
	memset(p + BYTES / 2, 1, BYTES / 4);
	__asm__ volatile("" : "+r"(p) : : "memory"); /* it is not left out */
	free(p);
	((volatile char *)p)[at] = 'x';
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	static char buffer
		[512]; /* what follows a closed page in the heap is not to be used */

	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	if (strcmp(name, "end_closed") == 0)
		close_end(PROT_NONE);
	else if (strcmp(name, "end_readable") == 0)
		close_end(PROT_READ);
	else if (strcmp(name, "middle_closed") == 0)
		close_middle(PROT_NONE);
	else if (strcmp(name, "middle_readable") == 0)
		close_middle(PROT_READ);
	else if (strcmp(name, "untouched") == 0)
		untouched();
	else if (strcmp(name, "write_first") == 0)
		write_later(2 * PAGE);
	else if (strcmp(name, "write_middle") == 0)
		write_later((10 << 20) + 77);
	else
		return 2;
	puts("end");
	return 0;
}
