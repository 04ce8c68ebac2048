/* SPDX-License-Identifier: MIT */
/* arenas_kept.c -- more memory from malloc than was ever live at one time.
 *
 *	arenas_kept arenas|padding|mapped|caches
 *
 * arenas: 8 threads one after the other allocate 25 MiB in blocks of 1,000 bytes and free all but the last, which keeps an
 * arena from shrinking. padding: 10,000 blocks of 64 bytes at the beginning of a page each. mapped: 8 arenas of 3 MiB, and
 * 150 MiB that did not come from malloc. caches: 4 threads that free what they allocate, 2 of which wait; until the end of
 * the input. */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 8, BYTES = 1000, PADDED = 10000, BLOCKS_MAX = 25 << 10, MIXED = 3000 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static unsigned blocks;
void *pins[THREADS], *padded[PADDED], *held[300];

static void *
in_turn(void *arg)
{
	static void *v[BLOCKS_MAX];

	free(malloc(10)); /* its arena, while no other is free */
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&turn);
	for (unsigned i = 0; i < blocks; i++)
		v[i] = memset(malloc(BYTES), 1, BYTES);
	for (unsigned i = 0; i + 1 < blocks; i++)
		free(v[i]);
	*(void **)arg = v[blocks - 1];
	pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&all);
	return NULL;
}

static void
arenas(unsigned kib)
{
	pthread_t t[THREADS];

	blocks = kib;
	pthread_barrier_init(&all, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&t[i], NULL, in_turn, &pins[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void
mixed(void)
{
	void *v[MIXED];

	for (unsigned i = 0; i < MIXED; i++)
		v[i] = memset(malloc(i * 13 % 1500 + 1), 1, i * 13 % 1500 + 1);
	for (unsigned i = 0; i < MIXED; i++)
		free(v[i]);
	memset(v, 0, sizeof v);
}

static void *
mixes(void *arg)
{
	mixed();
	if (arg != NULL) {
		pthread_barrier_wait(arg);
		pause();
	}
	return NULL;
}

static void
caches(void)
{
	pthread_t t;
	char c;

	pthread_barrier_init(&all, NULL, 3);
	for (unsigned i = 0; i < 4; i++) {
		if (pthread_create(&t, NULL, mixes, i < 2 ? &all : NULL) != 0)
			abort();
		if (i >= 2)
			pthread_join(t, NULL);
	}
	mixed();
	for (unsigned i = 0; i < 300; i++)
		held[i] = malloc(i * 10);
	pthread_barrier_wait(&all);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "arenas") == 0)
		arenas(BLOCKS_MAX);
	for (unsigned i = 0; strcmp(what, "padding") == 0 && i < PADDED; i++)
		padded[i] = memset(aligned_alloc(4096, 64), 1, 64);
	if (strcmp(what, "mapped") == 0) {
		arenas(3 << 10);
		memset(mmap(NULL, 150 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		       1, 150 << 20);
	}
	if (strcmp(what, "caches") == 0)
		caches();
	return 0;
}
