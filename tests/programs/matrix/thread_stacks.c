/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -pthread */
/* Threads that wait for something that never comes: their stacks grow the process, not malloc. The
 * main thread lets go and joins them at the end. */
#include "matrix.h"

#include <pthread.h>

#define THREADS 60

static pthread_t threads[THREADS];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

SITE static void *
blocked(void *unused)
{
	char scratch[65536];

	fill(scratch, sizeof(scratch));
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return unused;
}

int
main(int argc, char **argv)
{
	unsigned count = 0;

	matrix_begin(argc, argv, "blocked", "healthy");
	pthread_mutex_lock(&gate);
	while (tick(5))
		while (count < THREADS && count < passed() * THREADS)
			pthread_create(&threads[count++], NULL, blocked, NULL);
	pthread_mutex_unlock(&gate);
	while (count > 0)
		pthread_join(threads[--count], NULL);
	return 0;
}
