/* SPDX-License-Identifier: MIT */
/* sites.c -- so many stacks, each with blocks of its own.
 *
 * 	sites [SITES [FRAMES]]
 *
 * A stack is a number in binary: left() for 0, right() for 1, each with a frame of
 * go_on() between, below FRAMES further frames (0). Each stack makes one to four blocks;
 * about half of them are freed. */
/* cflags: -O1 -g -fno-inline -fno-optimize-sibling-calls */
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 4 };

static char **blocks;
static unsigned long allocs, frees, bytes;

static void left(unsigned long number, int digits);
static void right(unsigned long number, int digits);

static void
leaf(unsigned long number)
{
	unsigned long mixed = number * 0x9e3779b97f4a7c15UL >> 20;
	unsigned long n = 1 + mixed % EACH;

	for (unsigned long i = 0; i < n; i++) {
		unsigned long size = 16 + (mixed >> 3) % 200 + i;
		char *block = malloc(size);

		allocs++;
		if ((mixed >> (12 + i) & 1) != 0) {
			free(block);
			frees++;
		} else {
			blocks[number * EACH + i] = block;
			bytes += size;
		}
	}
}

static void
go_on(unsigned long number, int digits)
{
	if (digits > 0)
		(number >> (digits - 1) & 1 ? right : left)(number, digits - 1);
	else
		leaf(number);
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

static void
below(unsigned long number, int digits, int frames)
{
	if (frames > 0)
		below(number, digits, frames - 1);
	else
		go_on(number, digits);
}

int
main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 264000;
	int frames = argc > 2 ? atoi(argv[2]) : 0;
	int digits = 0;

	while (n >> digits != 0)
		digits++;
	blocks = calloc(n * EACH, sizeof *blocks);
	for (unsigned long i = 0; i < n; i++)
		below(i, digits, frames);
	printf("count allocs=%lu frees=%lu live_blocks=%lu live_bytes=%lu\n", allocs + 1,
	       frees, allocs - frees + 1, bytes + n * EACH * sizeof *blocks);
	return 0;
}
