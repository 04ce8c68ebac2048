/* SPDX-License-Identifier: MIT */
/* Blocks of 64 KiB of which less than a third is ever written; every one is lost. */
#include "matrix.h"

static char *volatile last;

SITE static void
load_tile(void)
{
	char *tile = malloc(65536);

	fill(tile, 20000);
	last = tile;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "load_tile", "LEAK");
	while (tick(20))
		load_tile();
	return 0;
}
