/* SPDX-License-Identifier: MIT */
/* churn1.c -- a tight loop of malloc and free, 16 to 256 bytes, three frames deep.
 *
 * The worst case for anything that does work per event: nearly all of the time is the
 * allocator's own. Up to a cache line of each block is filled, and it is freed at once.
 *
 * Usage: churn1 PAIRS
 * Will not keep anything: live bytes at the end are 0. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rng = 0x9e3779b97f4a7c15;

/* The asm keeps the compiler from seeing that the block is not needed at all. */
__attribute__((noinline)) static void
churn_one(size_t bytes)
{
	char *p = malloc(bytes);

	if (p == NULL)
		abort();
	memset(p, 1, bytes < 64 ? bytes : 64);
	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
	__asm__ volatile("" : : : "memory"); /* no tail jump: the frame stays */
}

__attribute__((noinline)) static void
churn_all(uint64_t pairs)
{
	uint64_t x = rng;

	for (uint64_t i = 0; i < pairs; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		churn_one(16 + (((x & 0xffff) * 241) >> 16));
	}
	rng = x;
}

int
main(int argc, char **argv)
{
	uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

	churn_all(pairs);
	printf("count allocs=%llu frees=%llu live_blocks=0 live_bytes=0\n",
	       (unsigned long long)pairs, (unsigned long long)pairs);
	return 0;
}
