/* SPDX-License-Identifier: MIT */
/* lost_pairs.c -- a process that runs, and loses 1,000 pairs a second: blocks of 2,000 bytes, each with the only pointer to
 * one of 500. "ready" is printed first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct head {
	char *text;
	char rest[2000 - sizeof(char *)];
};

__attribute__((noinline)) static void
lose(void)
{
	struct head *volatile h = malloc(sizeof *h);

	memset(h, 1, sizeof *h);
	h->text = malloc(500);
	memset(h->text, 2, 500);
	h = NULL;
}

int
main(void)
{
	struct timespec nap = {.tv_nsec = 4000000};

	puts("ready");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 4; i++)
			lose();
		nanosleep(&nap, NULL);
	}
}
