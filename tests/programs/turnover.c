/* SPDX-License-Identifier: MIT */
/* turnover.c -- a cache that is full, and whose entries live longer than anybody looks on; a leak.
 *
 *	turnover ENTRY-BYTES LEAK-BYTES SECONDS
 *
 * The cache is a ring: every entry that comes takes the place of the oldest, which is freed. It is full when
 * "ready" is printed, and an entry lives for 30 s: 250 of them come in a second, by the clock, so that the
 * rates are those also on a machine under load. ENTRY-BYTES 0: no cache. Of as many blocks of LEAK-BYTES every
 * second one is lost, and the others are freed at once. Beside both, blocks of many sizes come and go at once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PER_SECOND = 250, LIFETIME = 30, ENTRIES = PER_SECOND * LIFETIME };

static void *ring[ENTRIES];
void *volatile sink;

__attribute__((noinline)) static void *
cache_put(size_t bytes)
{
	void *p = malloc(bytes);

	memset(p, 1, bytes);
	return p;
}

__attribute__((noinline)) static void
lose(size_t bytes, int keep)
{
	void *p = malloc(bytes);

	memset(p, 2, bytes);
	sink = p;
	if (!keep)
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
	size_t entry = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	size_t leak = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double until = argc > 3 ? atof(argv[3]) : 0, start;

	for (unsigned i = 0; entry > 0 && i < ENTRIES; i++)
		ring[i] = cache_put(entry);
	puts("ready");
	fflush(stdout);
	start = seconds();
	for (uint64_t n = 0; seconds() - start < until;) {
		struct timespec nap = {.tv_nsec = 4000000};

		for (; (double)n < (seconds() - start) * PER_SECOND; n++) {
			void *brief = malloc(16 + n * 37 % 3000);

			if (entry > 0) {
				free(ring[n % ENTRIES]);
				ring[n % ENTRIES] = cache_put(entry);
			}
			if (leak > 0)
				lose(leak, n % 2 == 0);
			sink = brief;
			free(brief);
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}
