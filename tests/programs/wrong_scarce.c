/* SPDX-License-Identifier: MIT */
/* wrong_scarce.c -- frees 23 MiB, gets no more from the kernel, and asks for 16 MiB:
 *
 *	wrong_scarce malloc|calloc|memalign|aligned_alloc|posix_memalign|valloc|realloc
 *
 * It must be had, and errno stay as it was: what is held back for a look is the program's still. */
/* cflags: -O1 -g */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PIECES = 400, PIECE = 60011, LARGE = 16 << 20 };

static void *pieces[PIECES];

static void
fill_and_free(void)
{
	for (int i = 0; i < PIECES; i++) {
		pieces[i] = malloc(PIECE);
		memset(pieces[i], i, PIECE);
	}
	for (int i = 0; i < PIECES; i++)
		free(pieces[i]);
}

static void *
large(const char *how, void *small)
{
	void *p = NULL;

	if (strcmp(how, "malloc") == 0)
		return malloc(LARGE);
	if (strcmp(how, "calloc") == 0)
		return calloc(4, LARGE / 4);
	if (strcmp(how, "memalign") == 0)
		return memalign(256, LARGE);
	if (strcmp(how, "aligned_alloc") == 0)
		return aligned_alloc(256, LARGE);
	if (strcmp(how, "posix_memalign") == 0)
		return posix_memalign(&p, 256, LARGE) == 0 ? p : NULL;
	if (strcmp(how, "valloc") == 0)
		return valloc(LARGE);
	return realloc(small, LARGE);
}

int
main(int argc, char **argv)
{
	const struct rlimit none = {4096, RLIM_INFINITY};
	static char room[4096];
	void *small, *p;

	setvbuf(stdout, room, _IOFBF, sizeof room);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	small = malloc(100);
	fill_and_free();
	/* The heap does not grow from here on, and no private memory is mapped. */
	if (argc < 2 || setrlimit(RLIMIT_DATA, &none) != 0)
		return 1;
	errno = 0;
	p = large(argv[1], small);
	printf("%s, errno %d\n", p != NULL ? "had" : "refused", errno);
	if (strcmp(argv[1], "realloc") != 0)
		free(small);
	free(p);
	return 0;
}
