/* SPDX-License-Identifier: MIT */
/* freed_many.c -- frees many small blocks, which malloc keeps in one long list.
 *
 *	freed_many N BYTES [wait]     N blocks; wait: says so and waits until its input ends */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	void **blocks = malloc(n * sizeof *blocks + 1);

	if (blocks == NULL)
		return 1;
	for (size_t i = 0; i < n; i++)
		blocks[i] = malloc(bytes);
	for (size_t i = 0; i < n; i++)
		free(blocks[i]);
	free(blocks);
	if (argc > 3 && strcmp(argv[3], "wait") == 0) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	return 0;
}
