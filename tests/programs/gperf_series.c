/* SPDX-License-Identifier: MIT */
/* gperf_series.c -- a heap that grows and shrinks by known steps, for profiles written as it
 * goes: 97 blocks of 1 MiB + 3 are allocated at one place, 48 of them freed, one of 100 is
 * resized to 1,009 bytes, and 53 of 31 bytes are freed at once. */
/* cflags: -O1 -g */
#include <stdlib.h>

static void *volatile keep[128];

__attribute__((noinline)) static void *
grow(size_t n)
{
	void *volatile p = malloc(n);

	return p;
}

int
main(void)
{
	for (int i = 0; i < 97; i++)
		keep[i] = grow((1 << 20) + 3);
	for (int i = 0; i < 48; i++)
		free(keep[i]);
	keep[0] = malloc(100);
	keep[0] = realloc(keep[0], 1009);
	for (int i = 0; i < 53; i++)
		free(grow(31));
	return 0;
}
