/* SPDX-License-Identifier: MIT */
/* high.c -- N blocks of 10,007 bytes at once, all of them freed again.
 *
 *	high N */
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1000, BYTES = 10007 };

static void *volatile blocks[MOST];

static __attribute__((noinline)) void
fill(int n)
{
	for (int i = 0; i < n; i++)
		blocks[i] = malloc(BYTES);
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	if (n < 0 || n > MOST)
		return 2;
	fill(n);
	for (int i = 0; i < n; i++)
		free(blocks[i]);
	fprintf(stderr, "expect peak bytes=%d blocks=%d in=fill\n", n * BYTES, n);
	return 0;
}
