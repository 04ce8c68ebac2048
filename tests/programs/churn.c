/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* churn.c -- threads that hold one block each, at most, and never stop.
 *
 *	churn THREADS [MILLISECONDS]
 *
 * Each makes a block of 61 bytes, resizes it to 67 and frees it, over and over, in three depths of
 * stack; so whenever the process is killed, no more blocks are there than threads, and no more than
 * 67 bytes a thread. With a time main then calls exit while they go on. Says `ready` when all run and
 * main has made 101 blocks. */
#define _GNU_SOURCE
#include "truth.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static unsigned running;

static TRUTH_NOINLINE void
make_churn(unsigned depth)
{
	if (depth > 0) {
		make_churn(depth - 1);
		__asm__ volatile("");
		return;
	}
	void *p = malloc(61);

	free(realloc(p, 67));
}

static void *
thread(void *arg)
{
	__atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0;; i++)
		make_churn(i % 3);
	return arg;
}

int
main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t id;

	for (unsigned i = 1; i < n; i++)
		if (pthread_create(&id, NULL, thread, NULL) != 0)
			return 1;
	while (__atomic_load_n(&running, __ATOMIC_RELAXED) < n - 1)
		usleep(100);
	for (unsigned i = 0; i < 101; i++)
		make_churn(i % 3);
	truth_say("ready %d\n", (int)getpid());
	if (argc <= 2)
		thread(NULL);
	usleep((useconds_t)atoi(argv[2]) * 1000);
	return 0;
}
