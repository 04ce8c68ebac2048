/* SPDX-License-Identifier: MIT */
/* attach_pairs.c -- nanoseconds of CPU time for a malloc(64) and free, now and again.
 *
 * For each line that it reads it measures eight batches of 20 ms and prints the lowest,
 * so that whoever attaches in between can compare. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 8, BATCH_NS = 20000000, PAIRS = 1000 };

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static double
batch(void)
{
	uint64_t start = now_ns(), end = start, pairs = 0;

	while (end - start < BATCH_NS) {
		for (int i = 0; i < PAIRS; i++) {
			void *volatile p = malloc(64);

			free(p);
		}
		pairs += PAIRS;
		end = now_ns();
	}
	return (double)(end - start) / (double)pairs;
}

int
main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		double least = batch();

		for (int i = 1; i < BATCHES; i++) {
			double n = batch();

			if (n < least)
				least = n;
		}
		printf("%.2f\n", least);
		fflush(stdout);
	}
	return 0;
}
