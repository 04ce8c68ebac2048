/* SPDX-License-Identifier: MIT */
/* live_million.c -- N live blocks of 16 to 128 bytes at once: what a live block costs.
 *
 * Blocks come from eight sites in turn and are held in one table. At the peak it can
 * sleep, so that a slow look at its memory sees the peak. Then the oldest three quarters
 * are freed; the rest stay live.
 *
 * Usage: live BLOCKS [MILLISECONDS-AT-PEAK]
 * The table is one more allocation and counted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char **table;

/* Ends with a declaration, so that a use ends with a semicolon. */
#define SITE(n)                                                                          \
	__attribute__((noinline)) static char *live_site_##n(size_t bytes)               \
	{                                                                                \
		char *p = malloc(bytes);                                                 \
		if (p == NULL)                                                           \
			abort();                                                         \
		*p = (char)bytes; /* 16..128 fits: the count at the end reads it back */ \
		return p;                                                                \
	}                                                                                \
	static char *live_site_##n(size_t bytes)

SITE(0);
SITE(1);
SITE(2);
SITE(3);
SITE(4);
SITE(5);
SITE(6);
SITE(7);

static char *(*const sites[8])(size_t) = {
	live_site_0, live_site_1, live_site_2, live_site_3,
	live_site_4, live_site_5, live_site_6, live_site_7,
};

__attribute__((noinline)) static void
live_fill(uint64_t blocks)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	for (uint64_t i = 0; i < blocks; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		table[i] = sites[x >> 61](16 + (((x & 0xffff) * 113) >> 16));
	}
}

/* Frees the oldest three quarters. */
__attribute__((noinline)) static uint64_t
live_thin(uint64_t blocks)
{
	uint64_t frees = blocks / 4 * 3;

	for (uint64_t i = 0; i < frees; i++) {
		free(table[i]);
		table[i] = NULL;
	}
	return frees;
}

int
main(int argc, char **argv)
{
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	long hold_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	uint64_t live_bytes = blocks * sizeof(*table);

	table = malloc(blocks * sizeof(*table));
	if (table == NULL)
		abort();
	live_fill(blocks);

	struct timespec hold = {hold_ms / 1000, hold_ms % 1000 * 1000000};
	if (hold_ms > 0)
		nanosleep(&hold, NULL);

	uint64_t frees = live_thin(blocks);
	for (uint64_t i = 0; i < blocks; i++)
		live_bytes += table[i] != NULL ? (unsigned char)*table[i] : 0;
	printf("count allocs=%llu frees=%llu live_blocks=%llu live_bytes=%llu\n",
	       (unsigned long long)blocks + 1, (unsigned long long)frees,
	       (unsigned long long)(blocks + 1 - frees), (unsigned long long)live_bytes);
	return 0;
}
