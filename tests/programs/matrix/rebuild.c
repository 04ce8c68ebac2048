/* SPDX-License-Identifier: MIT */
/* An index is built anew fourteen times; the old one serves until the new one is whole, then it goes. */
#include "matrix.h"

#define PARTS 40

static char *index_now[PARTS], *index_next[PARTS];

SITE static char *
build_part(void)
{
	return fill(malloc(4000), 4000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "build_part", "healthy");
	for (unsigned i = 0; tick(matrix_length / 14 / PARTS * 1000); i++) {
		index_next[i % PARTS] = build_part();
		if (i % PARTS != PARTS - 1)
			continue;
		for (unsigned k = 0; k < PARTS; k++) {
			free(index_now[k]);
			index_now[k] = index_next[k];
			index_next[k] = NULL;
		}
	}
	return 0;
}
