/* SPDX-License-Identifier: MIT */
/* many_blocks.c -- 300,000 blocks of 1000 bytes. All of them are lost at the end; with an argument they are reachable, each
 * through another one far away. */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 300000, BYTES = 1000, LISTS = 1000 };

void *volatile last;
void *lists[LISTS];

int
main(int argc, char **argv)
{
	(void)argv;
	for (size_t i = 0; i < BLOCKS; i++) {
		last = malloc(BYTES);
		memset(last, 1, BYTES);
		if (argc > 1) {
			*(void **)last = lists[i % LISTS];
			lists[i % LISTS] = last;
		}
	}
	last = NULL;
	return 0;
}
