/* SPDX-License-Identifier: MIT */
/* Loads 2 MB in the first fifth of the time and keeps them; afterwards short-lived requests only. */
#include "matrix.h"

#define TABLES 500

static char *tables[TABLES];

SITE static char *
load_table(void)
{
	return fill(malloc(4096), 4096);
}

SITE static void
serve(void)
{
	free(fill(malloc(1000), 1000));
}

int
main(int argc, char **argv)
{
	unsigned loaded = 0;

	matrix_begin(argc, argv, "load_table", "healthy");
	while (tick(3)) {
		while (loaded < TABLES && loaded < passed() / 0.2 * TABLES)
			tables[loaded++] = load_table();
		fill(tables[chance(loaded)], 64);
		serve();
	}
	return 0;
}
