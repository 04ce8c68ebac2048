/* SPDX-License-Identifier: MIT */
/* sampled_cases.c -- for sampled recordings: a ring of blocks that are replaced, so that the peak is known, and everything is
 * freed. Arguments: blocks, their size, how often each is replaced. */
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048;
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 1024;
	size_t turns = argc > 3 ? strtoul(argv[3], NULL, 10) : 200;
	char *volatile *ring = calloc(blocks, sizeof *ring);

	for (size_t i = 0; i < blocks * turns; i++) {
		free(ring[i % blocks]);
		ring[i % blocks] = malloc(bytes);
		ring[i % blocks][0] = 1;
	}
	for (size_t i = 0; i < blocks; i++)
		free(ring[i]);
	free((void *)ring);
	printf("peak %zu\n", blocks * (bytes + sizeof *ring));
	return 0;
}
