/* SPDX-License-Identifier: MIT */
/* fragmented.c -- memory that malloc keeps although the program has freed it.
 *
 *	fragmented grow|flat SECONDS
 *
 * grow: eight times a second 8 blocks of about 120 KiB, all but the first 24 bytes of each given back; the next ones are
 * larger by 128 bytes and fit into none of the holes. So 8 MiB a second are kept by malloc, and 1.5 KiB a second are live.
 * flat: 90 MiB in blocks of 1,000 bytes at the start, all but every 64th freed; then one block comes and goes. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCKS = 8,
	BYTES = 120 << 10,
	MORE = 128,
	LEFT = 24,
	SMALL = 1000,
	MANY = 92 << 10
};

static char *pins[BLOCKS],
	*many[MANY], *volatile list; /* of pins, each with the one before */

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
punch(size_t bytes)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		pins[i] = malloc(bytes);
		memset(pins[i], 1, bytes);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		char *before = list;

		pins[i] = realloc(pins[i], LEFT);
		memcpy(pins[i], &before, sizeof before);
		list = pins[i];
	}
}

static void
fill(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = malloc(SMALL);
		memset(many[i], 1, SMALL);
	}
	for (unsigned i = 0; i < MANY; i++) {
		if (i % 64 != 63) {
			free(many[i]);
			many[i] = NULL;
		}
	}
}

int
main(int argc, char **argv)
{
	int grow = argc > 1 && strcmp(argv[1], "grow") == 0;
	double until = argc > 2 ? atof(argv[2]) : 5, start = seconds();

	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	if (!grow)
		fill();
	puts("ready");
	fflush(stdout);
	for (unsigned n = 0; seconds() - start < until;) {
		for (; grow && n < (seconds() - start) * 8; n++)
			punch(BYTES + n * MORE);
		if (!grow) {
			char *volatile p = malloc(SMALL);

			free(p);
		}
		usleep(5000);
	}
	_exit(0);
}
