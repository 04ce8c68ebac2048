/* SPDX-License-Identifier: MIT */
/* many_blocks.c -- 300,000 blocks of 1000 bytes, all of them lost at the end. */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 300000, BYTES = 1000 };

void *volatile last;

int
main(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		last = malloc(BYTES);
		memset(last, 1, BYTES);
	}
	last = NULL;
	return 0;
}
