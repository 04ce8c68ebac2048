/* SPDX-License-Identifier: MIT */
/* mtrace_ops.c -- every function that mtrace logs, right and wrong, then muntrace(): what is
 * left after it is known. With an argument tracing begins a second time, into the same file,
 * and 77 bytes are kept. */
/* cflags: -g */
#include <malloc.h>
#include <mcheck.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile keep[16];

static void
leak(void)
{
	keep[0] = malloc(101);
}

int
main(int argc, char **argv)
{
	volatile size_t huge = SIZE_MAX - 1000;
	void *p;

	keep[15] = malloc(13); /* before: its free is one of something unknown */
	mtrace();
	leak();
	keep[1] = calloc(3, 7);
	keep[2] = realloc(NULL, 53);
	keep[2] = realloc(keep[2], 60013);
	keep[3] = realloc(keep[2], huge);
	keep[3] = malloc(huge);
	keep[4] = memalign(64, 103);
	if (posix_memalign(&p, 64, 33) == 0)
		keep[5] = p;
	keep[6] = strdup("hello");
	free(keep[1]);
	free(NULL);
	keep[7] = malloc(0);
	free(realloc(keep[7], 0));
	keep[8] = aligned_alloc(32, 96);
	keep[9] = valloc(107);
	keep[10] = fopen("/dev/null", "w");
	free(keep[15]);
	muntrace();
	keep[11] = malloc(109);
	if (argc > 1 && argv[1] != NULL) {
		mtrace();
		keep[12] = malloc(77);
	}
	return 0;
}
