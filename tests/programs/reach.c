/* SPDX-License-Identifier: MIT */
/* reach.c -- a process that runs, and keeps or loses what it allocates.
 *
 *	reach WHAT PER-SECOND
 *
 * WHAT names what it does, one letter each: k, a list keeps entries of 1,000 bytes; l, blocks of 1,000 bytes are lost;
 * c, blocks come and go. PER-SECOND of each, by the clock. "ready" is printed first. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct entry {
	struct entry *next;
	char text[992];
};

static struct {
	struct entry *first;
	uint64_t entries;
} cache;

__attribute__((noinline)) static void
cache_put(void)
{
	struct entry *e = malloc(sizeof *e);

	memset(e, 1, sizeof *e);
	e->next = cache.first;
	cache.first = e;
	cache.entries++;
}

__attribute__((noinline)) static void
lose(void)
{
	char *volatile p = malloc(1000);

	memset(p, 2, 1000);
	p = NULL;
}

__attribute__((noinline)) static void
come_and_go(void)
{
	char *volatile p = malloc(3000);

	memset(p, 3, 3000);
	free(p);
}

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double rate = argc > 2 ? atof(argv[2]) : 1000, start = seconds();

	puts("ready");
	fflush(stdout);
	for (uint64_t n = 0;;) {
		struct timespec nap = {.tv_nsec = 4000000};

		for (; (double)n < (seconds() - start) * rate; n++) {
			if (strchr(what, 'k') != NULL)
				cache_put();
			if (strchr(what, 'l') != NULL)
				lose();
			if (strchr(what, 'c') != NULL)
				come_and_go();
		}
		nanosleep(&nap, NULL);
	}
}
