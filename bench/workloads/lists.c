/* SPDX-License-Identifier: MIT */
/* lists.c -- N live blocks of 16 to 271 bytes in 1,024 lists, in no order: what a leak
 * check has to follow.
 *
 * Every hundredth is lost. Nothing is freed.
 *
 * Usage: lists BLOCKS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LISTS = 1024 };

struct link {
	struct link *next;
};

static struct link *lists[LISTS];

int
main(int argc, char **argv)
{
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t x = 0x9e3779b97f4a7c15, bytes = 0;

	for (uint64_t i = 0; i < blocks; i++) {
		struct link *l;
		size_t n;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		n = 16 + (x >> 40) % 256;
		l = calloc(1, n);
		if (l == NULL)
			abort();
		bytes += n;
		if (i % 100 == 99)
			continue;
		l->next = lists[x % LISTS];
		lists[x % LISTS] = l;
	}
	printf("count allocs=%llu frees=0 live_blocks=%llu live_bytes=%llu\n",
	       (unsigned long long)blocks, (unsigned long long)blocks,
	       (unsigned long long)bytes);
	return 0;
}
