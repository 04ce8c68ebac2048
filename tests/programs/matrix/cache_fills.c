/* SPDX-License-Identifier: MIT */
/* A cache of 200 entries that is full after two fifths of the time and stays so. */
#include "matrix.h"

#define ENTRIES 200

static char *cache[ENTRIES];

SITE static char *
load_entry(void)
{
	return fill(malloc(4096), 4096);
}

int
main(int argc, char **argv)
{
	unsigned loaded = 0;

	matrix_begin(argc, argv, "load_entry", "healthy");
	while (tick(4)) {
		while (loaded < ENTRIES && loaded < passed() / 0.4 * ENTRIES)
			cache[loaded++] = load_entry();
		fill(cache[chance(loaded)], 64);
	}
	return 0;
}
