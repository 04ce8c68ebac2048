/* SPDX-License-Identifier: MIT */
/* address_limit.c -- runs into a limit on its address space, and goes on because there is just enough
 * for it alone.
 *
 *	address_limit [BYTES]
 *
 * 200,002 blocks of 40 bytes, three of four freed at once, all by one function. With BYTES it limits
 * its address space to what it has now and BYTES more after the first 1,009 blocks. Aborts when it
 * gets none. */
/* cflags: -O1 -g -fno-builtin */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCKS = 200002, BEFORE = 1009 };

struct node {
	struct node *next;
	char bytes[32];
} *volatile head;

static void
limit(unsigned long more)
{
	struct rlimit r = {0, 0};
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%lu", &pages) != 1)
		abort();
	fclose(f);
	r.rlim_cur = r.rlim_max = pages * 4096 + more;
	if (setrlimit(RLIMIT_AS, &r) != 0)
		abort();
}

__attribute__((noinline)) static void
make(int i)
{
	struct node *n = malloc(sizeof *n);

	if (n == NULL)
		abort();
	if (i % 4 == 0) {
		n->next = head;
		head = n;
	} else {
		free(n);
	}
}

int
main(int argc, char **argv)
{
	for (int i = 0; i < BLOCKS; i++) {
		if (i == BEFORE && argc > 1)
			limit(strtoul(argv[1], NULL, 10));
		make(i);
	}
	puts("expect in=make allocs=200002");
	return 0;
}
