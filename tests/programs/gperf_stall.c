/* SPDX-License-Identifier: MIT */
/* gperf_stall.c -- 20,000 stacks, then ten profiles are written by one thread while another
 * allocates and frees without a pause and measures its longest call. Prints it in microseconds
 * of its own processor time, which does not count what other programs took, and the stacks. */
/* cflags: -O1 -g -pthread -fno-inline -fno-optimize-sibling-calls */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void HeapProfilerDump(const char *reason);

static void *volatile keep;
static volatile int done;

/* Each bit of `path` is another call site: as many stacks as there are paths. */
static void
descend(unsigned path, int bits)
{
	if (bits == 0)
		keep = malloc(31);
	else if (path & 1)
		descend(path >> 1, bits - 1);
	else
		descend(path >> 1, bits - 1);
}

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void *
measure(void *arg)
{
	int64_t longest = 0;

	while (!done) {
		int64_t before = cpu_ns(), took;
		void *volatile p = malloc(24);

		free(p);
		took = cpu_ns() - before;
		if (took > longest)
			longest = took;
	}
	*(int64_t *)arg = longest;
	return NULL;
}

int
main(void)
{
	int64_t longest = 0;
	pthread_t t;

	for (unsigned i = 0; i < 20000; i++)
		descend(i, 15);
	pthread_create(&t, NULL, measure, &longest);
	for (int i = 0; i < 10; i++)
		HeapProfilerDump("stall");
	done = 1;
	pthread_join(t, NULL);
	printf("longest %lld us\n", (long long)(longest / 1000));
	return 0;
}
