/* SPDX-License-Identifier: MIT */
/* deep.c -- allocation under 60 frames, on 200 distinct paths, some blocks kept.
 *
 * A path is a number below 200. On the way down each of its bits chooses between two
 * functions; below that they take turns. Every frame does a little work, as frames of
 * real programs do, and goes all the way back up before the next allocation, so an
 * unwinder that remembers the last stack is helped little.
 *
 * Usage: deep ALLOCATIONS
 * Three in four blocks are freed by the caller, one in four replaces a random one of
 * 20,000 kept, which stay live at the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PATHS = 200,
	FRAMES = 58, /* with main and deep_all: 60 */
	KEPT = 20000,
	SIZES = 24, /* steps of 16 bytes: a place in a program asks for few sizes */
};

struct kept {
	void *block;
	size_t bytes;
};

static struct kept kept[KEPT];
static volatile uint64_t sink; /* what the frames compute must count as used */

static void *deep_left(unsigned depth, unsigned path, size_t bytes, uint64_t *mix);
static void *deep_right(unsigned depth, unsigned path, size_t bytes, uint64_t *mix);

static inline void *
deep_next(unsigned depth, unsigned path, size_t bytes, uint64_t *mix)
{
	if (depth == 0) {
		void *p = malloc(bytes);

		if (p == NULL)
			abort();
		*(char *)p = 1;
		return p;
	}
	unsigned right = depth > FRAMES - 8 ? path >> (FRAMES - depth) & 1 : depth & 1;

	if (right)
		return deep_right(depth - 1, path, bytes, mix);
	return deep_left(depth - 1, path, bytes, mix);
}

__attribute__((noinline)) static void *
deep_left(unsigned depth, unsigned path, size_t bytes, uint64_t *mix)
{
	uint64_t own[4] = {depth, path, bytes, *mix};

	for (int i = 0; i < 4; i++)
		*mix = (*mix ^ own[i]) * 0x9e3779b97f4a7c15;
	void *p = deep_next(depth, path, bytes, mix);
	*mix += own[depth & 3];
	return p;
}

__attribute__((noinline)) static void *
deep_right(unsigned depth, unsigned path, size_t bytes, uint64_t *mix)
{
	uint64_t own[6] = {depth, path, bytes, *mix, 3, 5};

	for (int i = 0; i < 6; i++)
		*mix = (*mix ^ own[i]) * 0x2545f4914f6cdd1d;
	void *p = deep_next(depth, path, bytes, mix);
	*mix ^= own[depth % 6];
	return p;
}

/* Walks down once per allocation; returns how many were freed. */
__attribute__((noinline)) static uint64_t
deep_all(uint64_t allocs)
{
	uint64_t x = 0x9e3779b97f4a7c15, mix = 1, frees = 0;

	for (uint64_t i = 0; i < allocs; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		size_t bytes = 16 * (1 + (x >> 20) % SIZES);
		void *p = deep_next(FRAMES, (x >> 8 & 0xfff) % PATHS, bytes, &mix);

		if ((x >> 40) % 4 == 0) {
			struct kept *k = &kept[(x >> 44) % KEPT];
			struct kept old = *k;

			k->block = p;
			k->bytes = bytes;
			p = old.block;
		}
		frees += p != NULL;
		free(p);
	}
	sink = mix;
	return frees;
}

int
main(int argc, char **argv)
{
	uint64_t allocs = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	uint64_t frees = deep_all(allocs);
	uint64_t live_bytes = 0;

	for (int i = 0; i < KEPT; i++)
		live_bytes += kept[i].bytes;
	printf("count allocs=%llu frees=%llu live_blocks=%llu live_bytes=%llu\n",
	       (unsigned long long)allocs, (unsigned long long)frees,
	       (unsigned long long)(allocs - frees), (unsigned long long)live_bytes);
	return 0;
}
