/* SPDX-License-Identifier: MIT */
/* attach_busy.c -- threads that allocate all the time, and see to it that they get what they asked
 * for: every block is filled and looked at before it is freed.
 *
 *	attach_busy THREADS
 *
 * On SIGUSR1 it says how many rounds it has done; on SIGTERM it leaves with 0. */
/* cflags: -O2 -g -pthread */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 512 };

static unsigned long rounds;

static void
broken(const char *what)
{
	fprintf(stderr, "broken: %s\n", what);
	_exit(91);
}

static void *
work(void *arg)
{
	static _Thread_local unsigned char *at[SLOTS];
	static _Thread_local size_t bytes[SLOTS];
	unsigned seed = (unsigned)(size_t)arg * 2654435761u + 1;

	for (;;) {
		unsigned i;
		size_t n;

		seed = seed * 1103515245 + 12345;
		i = seed >> 8 & (SLOTS - 1);
		n = (seed >> 18) % 2500 + 1;
		if (at[i] != NULL && (at[i][0] != (unsigned char)i ||
				      at[i][bytes[i] - 1] != (unsigned char)i))
			broken("a block was written by somebody else");
		switch (seed >> 29) {
		case 0:
		case 1:
			at[i] = realloc(at[i], n);
			break;
		case 2:
			free(at[i]);
			at[i] = calloc(1, n);
			if (at[i] != NULL && at[i][n - 1] != 0)
				broken("calloc gave what is not zero");
			break;
		case 3:
			free(at[i]);
			at[i] = aligned_alloc(64, (n + 63) / 64 * 64);
			break;
		default:
			free(at[i]);
			at[i] = malloc(n);
		}
		if (at[i] == NULL)
			broken("no memory");
		bytes[i] = n;
		at[i][0] = at[i][n - 1] = (unsigned char)i;
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 6, sig;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < threads; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, work, (void *)(size_t)(i + 1)) != 0)
			return 92;
	}
	printf("ready\n");
	fflush(stdout);
	while (sigwait(&set, &sig) == 0 && sig != SIGTERM) {
		printf("%lu\n", __atomic_load_n(&rounds, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	_exit(0);
}
