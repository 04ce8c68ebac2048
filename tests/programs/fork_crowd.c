/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* fork_crowd.c -- children of which many threads allocate at the same moment, before anything else was
 * recorded in them.
 *
 *	fork_crowd CHILDREN THREADS
 *
 * Each child starts its threads, which wait for each other and then allocate and free; it maps memory meanwhile and
 * looks whether it is still there. Says how many children did not end well. */
#define _GNU_SOURCE
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { BLOCKS = 100, MAPPED_BYTES = 1 << 20, MAPPINGS = 200 };

static pthread_barrier_t together;

static TRUTH_NOINLINE void
make_in_crowd(void)
{
	void *p[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++)
		p[i] = malloc(1000 + i);
	for (unsigned i = 0; i < BLOCKS; i++)
		free(p[i]);
}

static void *
thread(void *arg)
{
	unsigned char *maps[MAPPINGS];

	pthread_barrier_wait(&together);
	make_in_crowd();
	for (unsigned i = 0; arg != NULL && i < MAPPINGS; i++) {
		maps[i] = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		maps[i][i] = (unsigned char)i;
	}
	for (unsigned i = 0; arg != NULL && i < MAPPINGS; i++)
		if (maps[i][i] != (unsigned char)i)
			_exit(7);
	return NULL;
}

static void
child(unsigned n)
{
	pthread_t t[64];

	pthread_barrier_init(&together, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, thread, i == 0 ? &together : NULL) != 0)
			_exit(8);
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

int
main(int argc, char **argv)
{
	unsigned bad = 0, n, threads;

	if (argc < 3)
		return 2;
	n = (unsigned)atoi(argv[1]);
	threads = (unsigned)atoi(argv[2]) % 64;
	make_in_crowd();
	for (unsigned i = 0; i < n; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			child(threads);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
	}
	truth_say("children %u bad %u\n", n, bad);
	return 0;
}
