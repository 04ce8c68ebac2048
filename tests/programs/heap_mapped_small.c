/* SPDX-License-Identifier: MIT */
/* heap_mapped_small.c -- 10 blocks of 60,000 bytes that are held and as many that are lost as the first word says, among
 * them one that is held, all with mappings of their own if malloc's threshold is 16 KiB. "mallopt" sets that; "broken"
 * overwrites the header of one lost block. The kernel makes one mapping of them all. */
/* cflags: -O1 -g */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 10, BYTES = 60000 };

void *held[HELD + 1];

__attribute__((noinline)) static void *
block(void)
{
	void *p = malloc(BYTES);

	memset(p, 1, BYTES);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

__attribute__((noinline)) static void
fill(int lost, int broken)
{
	size_t *p = NULL;

	for (int i = 0; i < HELD; i++)
		held[i] = block();
	for (int i = 0; i < lost; i++) {
		p = block();
		if (i == lost / 2)
			held[HELD] = block();
	}
	if (broken)
		p[-2] = 1; /* what was before: nothing, says malloc */
}

__attribute__((noinline)) static void
clear_stack(void)
{
	volatile char x[4000];

	memset((void *)x, 0, sizeof x);
}

int
main(int argc, char **argv)
{
	char c;

	if (argc < 2)
		return 2;
	if (argc > 2 && strcmp(argv[2], "mallopt") == 0)
		mallopt(M_MMAP_THRESHOLD, 16384);
	fill(atoi(argv[1]), argc > 2 && strcmp(argv[2], "broken") == 0);
	clear_stack();
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
