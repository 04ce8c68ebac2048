/* SPDX-License-Identifier: MIT */
/* leak_many.c -- loses 10,000 blocks of many sizes and keeps 100, beside freed blocks that held the addresses of
 * the lost ones: an allocator's tables and free memory are full of pointers to them. */
/* cflags: -O1 -g */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOST = 10000, KEPT = 100 };

void *kept[KEPT];
static void *volatile last;

static __attribute__((noinline)) size_t
lose(void)
{
	unsigned s = 1;
	size_t sum = 0;

	for (int i = 0; i < LOST; i++) {
		size_t bytes;
		void **stale;

		s = s * 1103515245 + 12345;
		bytes = 16 + (s >> 16) % 2000;
		if (i % 100 == 0)
			bytes *= 200;
		last = malloc(bytes);
		memset(last, 0, bytes);
		sum += bytes;
		stale = malloc(64 + (s >> 8) % 900);
		stale[2] = i % 5 == 0 ? last : NULL;
		free(stale);
	}
	last = NULL;
	return sum;
}

/* What is left of the calls below the stack pointer. */
static __attribute__((noinline)) void
wipe(void)
{
	volatile char below[30000];

	for (size_t i = 0; i < sizeof below; i++)
		below[i] = 0;
}

int
main(void)
{
	size_t reachable = 0, lost;

	for (int i = 0; i < KEPT; i++) {
		kept[i] = calloc(1, 100 + (size_t)i * 50);
		reachable += 100 + (size_t)i * 50;
	}
	lost = lose();
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("expect definite=%zu/%d reachable=%zu/%d\n", lost, LOST, reachable, KEPT);
	printf("ready\n");
	wipe();
	while (read(STDIN_FILENO, &lost, sizeof lost) > 0)
		;
	return 0;
}
