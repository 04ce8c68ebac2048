/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* many_forks.c -- a process with four threads that allocate forks so many children.
 *
 *	many_forks [FORKS [BLOCKS]]
 *
 * The first thread holds BLOCKS blocks (10,000) and forks; three others allocate and free all the
 * while. A child allocates and frees a little and ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, HELD = 64, OWN = 10 };

static volatile int stop;

static void *
busy(void *nothing)
{
	char *held[HELD] = {0};

	for (unsigned i = 0; !stop; i++) {
		free(held[i % HELD]);
		held[i % HELD] = malloc(16 + i % 200);
		if (i % 1000 == 0)
			usleep(100);
	}
	for (unsigned i = 0; i < HELD; i++)
		free(held[i]);
	return nothing;
}

static void
child(void)
{
	for (unsigned i = 0; i < OWN; i++)
		free(malloc(100 + i));
	exit(0);
}

int
main(int argc, char **argv)
{
	unsigned forks = argc > 1 ? (unsigned)atoi(argv[1]) : 300, bad = 0;
	unsigned blocks = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;
	char **held = malloc(blocks * sizeof *held);
	pthread_t threads[THREADS];
	int status;

	for (unsigned i = 0; i < blocks; i++)
		held[i] = malloc(16 + i % 500);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	for (unsigned i = 0; i < forks; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child();
		bad += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
	}
	stop = 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < blocks; i++)
		free(held[i]);
	free(held);
	printf("forks %u bad %u\n", forks, bad);
	return bad != 0;
}
