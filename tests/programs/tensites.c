/* SPDX-License-Identifier: MIT */
/* tensites.c -- ten places that each keep at least 1.6 MB, in blocks from 24 bytes to 24 KiB, some of
 * what they allocated freed again: the truth that a sampled recording is measured against.
 *
 * Prints for each place: its function, bytes and blocks that stay, bytes and calls in all. */
/* cflags: -O1 -g -fno-inline -fno-optimize-sibling-calls */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 7919;

static uint64_t
number(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

struct place {
	void *(*make)(size_t n);
	const char *name;
	size_t least, most; /* size of a block */
	uint64_t live_bytes, live_blocks, bytes, calls;
};

#define PLACE(n)                                                                         \
	static void *site_##n(size_t bytes)                                              \
	{                                                                                \
		void *p = malloc(bytes);                                                 \
		__asm__ volatile("" : "+r"(p));                                          \
		return p;                                                                \
	}

PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)
PLACE(8)
PLACE(9)

static struct place places[] = {
	{site_0, "site_0", 24, 24, 0, 0, 0, 0},
	{site_1, "site_1", 32, 128, 0, 0, 0, 0},
	{site_2, "site_2", 24, 1021, 0, 0, 0, 0},
	{site_3, "site_3", 499, 503, 0, 0, 0, 0},
	{site_4, "site_4", 1009, 1013, 0, 0, 0, 0},
	{site_5, "site_5", 24, 8191, 0, 0, 0, 0},
	{site_6, "site_6", 4093, 4099, 0, 0, 0, 0},
	{site_7, "site_7", 16381, 16411, 0, 0, 0, 0},
	{site_8, "site_8", 1, 24571, 0, 0, 0, 0},
	{site_9, "site_9", 61, 67, 0, 0, 0, 0},
};

enum { PLACES = sizeof places / sizeof places[0], KEEP_BYTES = 1600000 };

/* One block, kept; before it as often as not one that is freed at once or a little later. Both
 * from the same line, so that they are one place. */
static void
one(struct place *p)
{
	static void *late[PLACES];
	void **old = &late[p - places];

	for (unsigned keep = number(2); keep < 2; keep++) {
		size_t n = p->least + number(p->most - p->least + 1);
		void *block = p->make(n);

		p->bytes += n;
		p->calls++;
		free(*old);
		*old = NULL;
		if (keep == 1) {
			p->live_bytes += n;
			p->live_blocks++;
		} else if (number(3) == 0) {
			free(block);
		} else {
			*old = block;
		}
	}
}

int
main(void)
{
	unsigned open = PLACES;

	while (open >
	       0) { /* all places in turn, so that they share the samples' stream */
		open = 0;
		for (unsigned i = 0; i < PLACES; i++) {
			if (places[i].live_bytes < KEEP_BYTES) {
				one(&places[i]);
				open++;
			}
		}
	}
	for (unsigned i = 0; i < PLACES; i++)
		printf("%s %lu %lu %lu %lu\n", places[i].name, places[i].live_bytes,
		       places[i].live_blocks, places[i].bytes, places[i].calls);
	return 0;
}
