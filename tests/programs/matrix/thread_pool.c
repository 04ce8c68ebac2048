/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -pthread */
/* Six threads, each with a scratch buffer of its own, that make and free the parts of their jobs. */
#include "matrix.h"

#include <pthread.h>

#define THREADS 6

SITE static char *
make_part(void)
{
	return fill(malloc(2500), 2500);
}

static void *
worker(void *unused)
{
	char *scratch = fill(malloc(30000), 30000), *parts[8] = {NULL};

	for (unsigned i = 0; tick(10); i++) {
		free(parts[i % 8]);
		parts[i % 8] = make_part();
	}
	for (unsigned i = 0; i < 8; i++)
		free(parts[i]);
	free(scratch);
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	matrix_begin(argc, argv, "make_part", "healthy");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
