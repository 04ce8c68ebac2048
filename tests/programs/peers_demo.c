/* SPDX-License-Identifier: MIT */
/* peers_demo.c -- what jeprof and google-pprof are compared on: every place has a count and a size of
 * its own, so that no two rows of a table are equal.
 *
 * peers_demo [MORE]: MORE further blocks of 1000 bytes from grow(). */
/* cflags: -O1 -g -fno-optimize-sibling-calls */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *volatile keep[1000];
static int used;

#define NOINLINE __attribute__((noinline))

NOINLINE void
do_something(size_t i)
{
	keep[used++] = malloc(i * 1024);
}

NOINLINE void
do_something_else(size_t i)
{
	keep[used++] = malloc(i * 4096);
}

static inline __attribute__((always_inline)) void
inlined_one(size_t i)
{
	keep[used++] = calloc(i, 64);
}

NOINLINE void
recurse(int depth)
{
	if (depth > 0) {
		recurse(depth - 1);
		keep[999] = (void *)(size_t)depth;
		return;
	}
	keep[used++] = malloc(7777);
}

NOINLINE void
grow(void)
{
	keep[used++] = malloc(1000);
}

int
main(int argc, char **argv)
{
	int more = argc > 1 ? atoi(argv[1]) : 0;

	for (size_t i = 1; i <= 79; i++)
		do_something(i);
	for (size_t i = 1; i <= 41; i++)
		do_something_else(i);
	for (int i = 0; i < 7; i++)
		inlined_one(300);
	for (int i = 0; i < 5; i++)
		recurse(4);
	for (int i = 0; i < 3; i++)
		keep[used++] = strdup("three of these");
	for (int i = 0; i < 13 + more; i++)
		grow();
	return used == 0;
}
