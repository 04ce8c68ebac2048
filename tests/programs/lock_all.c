/* SPDX-License-Identifier: MIT */
/* lock_all.c -- locks all of its memory, present and future, then needs so much that a recording has to grow.
 *
 * Prints what mlockall returned and how much is locked (`locked KIB`); 131,071 blocks of 24 bytes stay allocated
 * until the end and are freed then, but for 23. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 131071, KEPT = 23 };

static void *blocks[BLOCKS];

static void
say_locked(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		sscanf(line, "VmLck: %ld", &kib);
	if (f != NULL)
		fclose(f);
	printf("locked %ld\n", kib);
}

int
main(void)
{
	printf("mlockall %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	say_locked();
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(24);
	say_locked();
	for (int i = 0; i < BLOCKS; i++) {
		if (i >= KEPT)
			free(blocks[i]);
		blocks[i] = NULL;
	}
	printf("expect definite bytes=%d blocks=%d in=main\n", KEPT * 24, KEPT);
	return 0;
}
