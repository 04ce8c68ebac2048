/* SPDX-License-Identifier: MIT */
/* Waves of small blocks, of which every sixteenth stays until the next wave: live memory is flat, and
 * the allocator keeps pages that it cannot give back. */
#include "matrix.h"

#define BLOCKS 2048

static char *blocks[BLOCKS];
static size_t sizes[] = {96, 200, 424, 888};

SITE static char *
make_piece(unsigned wave)
{
	size_t bytes = sizes[wave % 4];

	return fill(malloc(bytes), bytes);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "make_piece", "healthy");
	for (unsigned wave = 0; tick(100); wave++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			free(blocks[i]);
			blocks[i] = make_piece(wave);
		}
		for (unsigned i = 0; i < BLOCKS; i++)
			if (i % 16 != 0) {
				free(blocks[i]);
				blocks[i] = NULL;
			}
	}
	return 0;
}
