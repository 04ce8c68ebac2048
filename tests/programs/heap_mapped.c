/* SPDX-License-Identifier: MIT */
/* heap_mapped.c -- 20 blocks of 1 MiB with mappings of their own, and then a mapping of the program's own of as many MiB
 * as it is told. The kernel makes one mapping of all of them, which begins with the program's. */
/* cflags: -O1 -g */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 20, BYTES = 1 << 20 };

void *blocks[BLOCKS + 1];

int
main(int argc, char **argv)
{
	size_t bytes = (size_t)atoi(argc > 1 ? argv[1] : "1") << 20;
	char *own, c;

	blocks[BLOCKS] = malloc(10);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		memset(blocks[i], 1, BYTES);
	}
	own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	memset(own, 1, bytes);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
