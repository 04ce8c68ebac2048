/* SPDX-License-Identifier: MIT */
/* shared_memory.c -- shared memory that fills up, or grows.
 *
 *	shared_memory fill|grow
 *
 * 256 KiB more are touched every 20 ms: of one mapping of 1 GiB that was there before "ready" is printed, as
 * PostgreSQL's buffers are; or of new mappings of that size. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { STEP = 256 << 10, ALL = 1 << 30 };

int
main(int argc, char **argv)
{
	int fill = argc > 1 && strcmp(argv[1], "fill") == 0;
	char *at = NULL;

	if (fill)
		at = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0; i < ALL / STEP; i++) {
		struct timespec nap = {.tv_nsec = 20000000};

		if (!fill)
			at = mmap(NULL, STEP, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return 1;
		memset(at, 1, STEP);
		at += fill ? STEP : 0;
		nanosleep(&nap, NULL);
	}
	return 0;
}
