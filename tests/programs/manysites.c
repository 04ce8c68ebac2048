/* SPDX-License-Identifier: MIT */
/* manysites.c -- 100,003 stacks, ten blocks from each: more than a small recording can hold.
 *
 *	manysites [STACKS]
 *
 * A stack is a number in binary, 17 digits: left() for 0, right() for 1. Of each ten blocks of 13
 * bytes three are freed. What it owes: the line it prints, and status 29. */
/* cflags: -O1 -g -fno-inline -fno-optimize-sibling-calls */
#include <stdio.h>
#include <stdlib.h>

enum { DIGITS = 17, EACH = 10, FREED = 3, BYTES = 13 };

static char **blocks;

static void left(unsigned long number, int digits);
static void right(unsigned long number, int digits);

static void
go_on(unsigned long number, int digits)
{
	if (digits > 0) {
		(number >> (digits - 1) & 1 ? right : left)(number, digits - 1);
		return;
	}
	for (int i = 0; i < EACH; i++)
		blocks[number * EACH + (unsigned long)i] = malloc(BYTES);
}

static void
left(unsigned long number, int digits)
{
	go_on(number, digits);
}

static void
right(unsigned long number, int digits)
{
	go_on(number, digits);
}

int
main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100003;

	blocks = calloc(n * EACH, sizeof *blocks);
	for (unsigned long i = 0; i < n; i++)
		go_on(i, DIGITS);
	for (unsigned long i = 0; i < n * EACH; i++)
		if (i % EACH < FREED)
			free(blocks[i]);
	printf("stacks=%lu allocs=%lu frees=%lu live=%lu\n", n, n * EACH, n * FREED,
	       n * (EACH - FREED) * BYTES);
	return 29;
}
