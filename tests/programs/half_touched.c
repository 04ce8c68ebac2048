/* SPDX-License-Identifier: MIT */
/* half_touched.c -- a process with 40 MiB that keeps blocks of 40,000 bytes, half of which it touches, 200 a second by
 * the clock: 458 MiB a minute are asked for, and 234 become resident (20,000 bytes are 5 pages). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile held[1 << 16];
static char *start;

__attribute__((noinline)) static void *
keep(void)
{
	char *p = malloc(40000);

	memset(p, 1, 20000);
	return p;
}

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(void)
{
	double began;

	start = malloc(40 << 20);
	memset(start, 1, 40 << 20);
	puts("ready");
	fflush(stdout);
	began = seconds();
	for (uint32_t n = 0; n < 1 << 16;) {
		struct timespec nap = {.tv_nsec = 5000000};

		for (; n < 1 << 16 && n < (seconds() - began) * 200; n++)
			held[n] = keep();
		nanosleep(&nap, NULL);
	}
	return 0;
}
