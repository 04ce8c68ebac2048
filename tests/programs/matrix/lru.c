/* SPDX-License-Identifier: MIT */
/* A cache of 60 entries that is full after a tenth of the time; each new entry evicts the oldest. */
#include "matrix.h"

#define ENTRIES 60

static char *entries[ENTRIES];

SITE static char *
cache_entry(void)
{
	return fill(malloc(3000), 3000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "cache_entry", "healthy");
	for (unsigned i = 0; tick(matrix_length / 10 / ENTRIES * 1000); i++) {
		free(entries[i % ENTRIES]);
		entries[i % ENTRIES] = cache_entry();
	}
	return 0;
}
