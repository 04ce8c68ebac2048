/* SPDX-License-Identifier: MIT */
/* matrix.h -- what the programs of the verdict matrix share: a duration, a beat and their truth.
 *
 *	matrix_begin(argc, argv, "read_request", "LEAK");
 *	while (tick(4))
 *		handle();
 *
 * The first argument is the duration in seconds (2.5 without one). matrix_begin prints the line
 * `expect site=read_request verdict=LEAK`, which tests/e2e/matrix.sh compares with its table.
 * `healthy` stands for every word but LEAK, LEAK (minor) and LEAK likely. */
#ifndef MATRIX_H
#define MATRIX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function that must be on the stack under its own name. */
#define SITE __attribute__((__noinline__, __noclone__))

static double matrix_start, matrix_length;

static inline double
matrix_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void
matrix_begin(int argc, char **argv, const char *site, const char *verdict)
{
	char line[160];
	int n;

	matrix_length = argc > 1 ? strtod(argv[1], NULL) : 2.5;
	matrix_start = matrix_now();
	n = snprintf(line, sizeof(line), "expect site=%s verdict=%s\n", site, verdict);
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

/* The share of the duration that is over, 0 to 1. */
static inline double
passed(void)
{
	double share = (matrix_now() - matrix_start) / matrix_length;

	return share < 1 ? share : 1;
}

/* Sleeps until the next multiple of `ms` of this thread; false once the duration is over.
 * Deadlines are absolute: a thread that was held up makes up for it. */
static inline int
tick(double ms)
{
	static __thread double next;
	struct timespec until;

	if (next <= 0)
		next = matrix_now();
	next += ms / 1e3;
	until.tv_sec = (time_t)next;
	until.tv_nsec = (long)((next - (double)until.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		continue;
	return passed() < 1;
}

/* A number below n, the same sequence in every run. One thread at a time. */
static inline unsigned
chance(unsigned n)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

/* Writes all of a block, so that the compiler keeps it and the kernel gives it memory. */
static inline void *
fill(void *block, size_t bytes)
{
	if (block == NULL)
		abort();
	memset(block, 0x5a, bytes);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

#endif
