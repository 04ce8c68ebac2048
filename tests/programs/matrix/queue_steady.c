/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -pthread */
/* A producer and a consumer with a queue between them that is now long, now short. All is freed. */
#include "matrix.h"

#include <pthread.h>

#define ROOM 64

static char *queue[ROOM];
static unsigned head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

SITE static char *
make_item(void)
{
	return fill(malloc(3500), 3500);
}

static void *
consumer(void *unused)
{
	for (unsigned i = 0; tick(3); i++) {
		if (i % 40 < 20)
			continue; /* a pause, then two at a time */
		pthread_mutex_lock(&lock);
		for (int k = 0; k < 2 && tail != head; k++) {
			free(queue[tail % ROOM]);
			queue[tail++ % ROOM] = NULL;
		}
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	matrix_begin(argc, argv, "make_item", "healthy");
	pthread_create(&thread, NULL, consumer, NULL);
	while (tick(3)) {
		pthread_mutex_lock(&lock);
		if (head - tail < ROOM)
			queue[head++ % ROOM] = make_item();
		pthread_mutex_unlock(&lock);
	}
	pthread_join(thread, NULL);
	return 0;
}
