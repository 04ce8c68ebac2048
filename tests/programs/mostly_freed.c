/* SPDX-License-Identifier: MIT */
/* mostly_freed.c -- 100,003 blocks of 200 bytes, all but the last freed again: malloc keeps 19 MiB. Then waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 100003, BYTES = 200 };

static char *volatile blocks[BLOCKS];

int
main(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		memset(blocks[i], 1, BYTES);
	}
	for (int i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
