/* SPDX-License-Identifier: MIT */
/* threads_joined.c -- four threads with thread-local data that have ended and were joined: libc keeps their
 * stacks and tables for the next ones. Nothing is lost. */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4 };

static __thread char own[100];

static void *
run(void *arg)
{
	own[0] = 1;
	free(malloc(100));
	return arg;
}

int
main(void)
{
	pthread_t t[THREADS];
	char c;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
