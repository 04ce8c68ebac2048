/* SPDX-License-Identifier: MIT */
/* jem_stall.c -- does a dump of 32,768 stacks make another thread's malloc wait?
 *
 * One thread dumps five times; another allocates at all of these stacks and frees all the while, and
 * takes the CPU time of each pair, which a spinning wait would show and being preempted does not. It
 * has been through all of them once before, so that tables that grow are not what is measured.
 * Prints how many blocks are live, the longest such time in microseconds, and the mean time of a
 * dump in milliseconds. */
/* cflags: -O1 -g -pthread -fno-optimize-sibling-calls */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LEVELS = 15 };

static int (*ctl)(const char *, void *, size_t *, void *, size_t);
static atomic_int stop, ready;
static void *last;

static double
now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void left(unsigned path, int level);
static void right(unsigned path, int level);

static void
turn(unsigned path, int level)
{
	if (level == 0)
		last = malloc(61);
	else if (path & 1)
		left(path >> 1, level - 1);
	else
		right(path >> 1, level - 1);
}

__attribute__((noinline)) static void
left(unsigned path, int level)
{
	turn(path, level);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
right(unsigned path, int level)
{
	turn(path, level);
	__asm__ volatile("");
}

static void *
busy(void *arg)
{
	double *longest = arg;
	unsigned n = 0;

	while (!stop) {
		double t = now(CLOCK_THREAD_CPUTIME_ID);

		turn(n++, LEVELS);
		free(last);
		t = now(CLOCK_THREAD_CPUTIME_ID) - t;
		ready = n >= 1u << LEVELS;
		if (ready && t > *longest)
			*longest = t;
	}
	return NULL;
}

int
main(void)
{
	const char *path = "stall.heap";
	double longest = 0, spent = 0;
	pthread_t t;
	int error = 0;

	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (ctl == NULL)
		return 1;
	for (unsigned i = 0; i < 1u << LEVELS; i++)
		turn(i, LEVELS);
	pthread_create(&t, NULL, busy, &longest);
	while (!ready)
		sched_yield();
	for (int i = 0; i < 5; i++) {
		double at = now(CLOCK_MONOTONIC);

		error |= ctl("prof.dump", NULL, NULL, &path, sizeof(path));
		spent += now(CLOCK_MONOTONIC) - at;
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("stacks=%u error=%d longest_us=%.0f dump_ms=%.1f\n", 1u << LEVELS, error,
	       longest, spent / 5e3);
	return error;
}
