/* SPDX-License-Identifier: MIT */
/* massif_steps.c -- memory that rises, falls and rises again, from stacks that share
 * their innermost frames: what massif takes snapshots of.
 *
 * At the peak, which is exact because nothing is freed before it:
 *	grow <- keep <- main     211 blocks of 1009 bytes
 *	grow <- main             103 blocks of 523 bytes
 *	table <- main              1 block of 60013 bytes, by calloc
 *	down <- down ... <- main   7 blocks of 2011 bytes, recursion
 *	small <- main             97 blocks of 3 bytes: less than massif's threshold
 * Then all of keep's are freed, and 40 of 1511 bytes come from late. */
/* cflags: -g -O1 -fno-optimize-sibling-calls */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *kept[211], *direct[103], *deep[7], *smalls[97], *lates[40], *wide;

static inline __attribute__((always_inline)) char *
inner(size_t n)
{
	char *p = malloc(n);

	if (p == NULL)
		abort();
	p[n - 1] = 1;
	return p;
}

__attribute__((noinline, noclone)) static char *
grow(size_t n)
{
	return inner(n);
}

__attribute__((noinline, noclone)) static char *
keep(size_t n)
{
	return grow(n) + 0;
}

__attribute__((noinline, noclone)) static char *
table(size_t n)
{
	char *p = calloc(1, n);

	if (p == NULL)
		abort();
	return p;
}

__attribute__((noinline, noclone)) static char *
down(int n)
{
	char room[512];
	char *p;

	memset(room, n, sizeof room);
	p = n == 0 ? inner(2011) : down(n - 1);
	p[0] = room[n];
	return p;
}

__attribute__((noinline, noclone)) static char *
small(void)
{
	return inner(3);
}

__attribute__((noinline, noclone)) static char *
late(void)
{
	return inner(1511);
}

int
main(void)
{
	for (int i = 0; i < 211; i++) {
		kept[i] = keep(1009);
		if (i < 103)
			direct[i] = grow(523);
		if (i < 97)
			smalls[i] = small();
		if (i % 30 == 0 && i / 30 < 7)
			deep[i / 30] = down(i / 30 + 1);
	}
	wide = table(60013);
	for (int i = 0; i < 211; i++)
		free(kept[i]);
	for (int i = 0; i < 40; i++)
		lates[i] = late();
	puts("expect peak bytes=341149 blocks=419");
	return 0;
}
