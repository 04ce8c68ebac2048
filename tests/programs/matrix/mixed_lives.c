/* SPDX-License-Identifier: MIT */
/* Blocks of one site with lives from a few milliseconds to half a second; every one is freed. */
#include "matrix.h"

#define SLOTS 64

static char *slots[SLOTS];

SITE static char *
make_block(void)
{
	return fill(malloc(2000), 2000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "make_block", "healthy");
	while (tick(3)) {
		/* Low slots are taken far more often than high ones. */
		unsigned slot = chance(1 + chance(1 + chance(SLOTS)));

		free(slots[slot]);
		slots[slot] = make_block();
	}
	return 0;
}
