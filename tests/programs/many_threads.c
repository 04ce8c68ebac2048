/* SPDX-License-Identifier: MIT */
/* many_threads.c -- threads that sleep, and some memory that is used.
 *
 *	many_threads THREADS MIB
 *
 * Ends with its input. */
/* cflags: -O2 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **blocks;

static void *
sleeps(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

int
main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, mib = argc > 2 ? atoi(argv[2]) : 1;
	pthread_attr_t small;
	pthread_t t;
	char c;

	blocks = calloc((size_t)mib + 1, sizeof *blocks);
	for (int i = 0; i < mib; i++) {
		blocks[i] = malloc(1 << 20);
		if (blocks[i] == NULL)
			return 92;
		memset(blocks[i], i, 1 << 20);
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (int i = 0; i < threads; i++) {
		if (pthread_create(&t, &small, sleeps, NULL) != 0)
			return 93;
	}
	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
