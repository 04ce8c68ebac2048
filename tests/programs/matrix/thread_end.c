/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -pthread */
/* Threads keep a buffer in a thread-local variable. Every other one ends without freeing it. */
#include "matrix.h"

#include <pthread.h>

static __thread char *buffer;

SITE static void
use_buffer(void)
{
	if (buffer == NULL)
		buffer = fill(malloc(8192), 8192);
	fill(buffer, 512);
}

static void *
worker(void *careful)
{
	use_buffer();
	if (careful != NULL)
		free(buffer);
	return NULL;
}

int
main(int argc, char **argv)
{
	static int careful;

	matrix_begin(argc, argv, "use_buffer", "LEAK");
	for (unsigned i = 0; tick(10); i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, worker, i % 2 ? &careful : NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
