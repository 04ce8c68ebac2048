/* SPDX-License-Identifier: MIT */
/* work.c -- a program that does something with its memory: about 130 ns of hashing for
 * each malloc and free.
 *
 * Blocks of 16 to 271 bytes in 4,096 slots, each replaced at random; what is hashed is
 * the block's own bytes, round and round. 23 blocks of 211 bytes are lost on the way, so
 * that a leak check has something to find.
 *
 * Usage: work PAIRS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096, HASHED = 352, LOST = 23, LOST_BYTES = 211 };

static unsigned char *slots[SLOTS];
static uint64_t sum;

__attribute__((noinline)) static uint64_t
work_hash(const unsigned char *p, size_t bytes)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0, k = 0; i < HASHED; i += 4) {
		h = (h ^ p[k]) * 0x100000001b3;
		k = k + 4 < bytes ? k + 4 : 0;
	}
	return h;
}

__attribute__((noinline)) static void
work_lose(void)
{
	for (int i = 0; i < LOST; i++) {
		void *p = calloc(1, LOST_BYTES);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
}

__attribute__((noinline)) static void
work_all(uint64_t pairs)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	for (uint64_t i = 0; i < pairs; i++) {
		size_t bytes, slot;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes = 16 + (x & 255);
		slot = x >> 32 & (SLOTS - 1);
		free(slots[slot]);
		slots[slot] = malloc(bytes);
		if (slots[slot] == NULL)
			abort();
		memset(slots[slot], (int)i, bytes);
		sum += work_hash(slots[slot], bytes);
	}
}

int
main(int argc, char **argv)
{
	uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

	work_lose();
	work_all(pairs);
	fprintf(stderr, "%llx\n", (unsigned long long)sum);
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
	printf("count allocs=%llu frees=%llu live_blocks=%d live_bytes=%d\n",
	       (unsigned long long)pairs + LOST, (unsigned long long)pairs, LOST,
	       LOST * LOST_BYTES);
	return 0;
}
