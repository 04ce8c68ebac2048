/* SPDX-License-Identifier: MIT */
/* own_heap.c -- a program whose memory comes from an allocator inside it, called je_malloc: 50 MB
 * in 50,021 blocks that are never freed, and one block of malloc's, which is. Linked with a
 * jemalloc whose symbols got that prefix; nothing in front of malloc can see it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *je_malloc(size_t n);

int
main(void)
{
	static void *volatile keep;
	void *p = malloc(61);

	for (int i = 0; i < 50021; i++) {
		keep = je_malloc(1009);
		memset(keep, 1, 1009);
	}
	free(p);
	puts("expect hidden bytes=50471189");
	return 0;
}
