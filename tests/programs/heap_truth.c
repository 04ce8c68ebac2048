/* SPDX-License-Identifier: MIT */
/* heap_truth.c -- blocks of many sizes in several threads, and a list of those that are left.
 *
 *	heap_truth BLOCKS THREADS ENDED
 *
 * Every thread makes BLOCKS blocks, frees a fifth of its own, and a tenth of its neighbour's; ENDED of the
 * threads end. Then a line "ADDRESS BYTES" for every block that is left, with its usable size, a line "ready",
 * and the program waits
 * for the end of its input. */
/* cflags: -O1 -g -pthread */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNED_EVERY = 997, HUGE_BYTES = 80 << 20 };

static long blocks, threads, ended;
static void **table; /* threads * blocks */
static unsigned char *freed;
static pthread_barrier_t barrier;

static uint64_t
next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static size_t
random_size(uint64_t *s)
{
	uint64_t r = next_random(s) % 1000;

	if (r < 900)
		return 1 + next_random(s) % 1024;
	if (r < 990)
		return 1 + next_random(s) % 16384;
	return 1 + next_random(s) % (r < 999 ? 262144 : 3000000);
}

static void
make(long t)
{
	uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)t * 7919;

	for (long i = 0; i < blocks; i++) {
		size_t bytes = random_size(&seed);
		void *p = i % ALIGNED_EVERY == 0
				  ? aligned_alloc(256, (bytes + 255) & ~(size_t)255)
				  : malloc(bytes);

		memset(p, 'A', bytes < 64 ? bytes : 64);
		table[t * blocks + i] = p;
	}
	if (t == 0) {
		free(table[0]);
		table[0] = malloc(HUGE_BYTES);
		*(char *)table[0] = 1;
	}
}

static void
release(long t, unsigned from, unsigned to)
{
	for (long i = 1; i < blocks; i++) {
		unsigned share = (unsigned)((uint64_t)i * 2654435761u % 100);

		if (share < from || share >= to)
			continue;
		free(table[t * blocks + i]);
		freed[t * blocks + i] = 1;
	}
}

static void *
work(void *arg)
{
	long t = (long)arg;

	make(t);
	pthread_barrier_wait(&barrier);
	release(t, 0, 20);
	pthread_barrier_wait(&barrier);
	release((t + 1) % threads, 20, 30);
	pthread_barrier_wait(&barrier);
	while (t > 0 && t < threads - ended)
		pause();
	return NULL;
}

static void *
room(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}

static void
say(const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done <= 0)
			_exit(1);
		text += done;
		n -= (size_t)done;
	}
}

int
main(int argc, char **argv)
{
	static char text[1 << 16];
	pthread_t ids[64];
	size_t n = 0;

	if (argc != 4)
		return 2;
	blocks = atol(argv[1]);
	threads = atol(argv[2]);
	ended = atol(argv[3]);
	table = room(sizeof *table * (size_t)(blocks * threads));
	freed = room((size_t)(blocks * threads));
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (long t = 1; t < threads; t++)
		pthread_create(&ids[t], NULL, work, (void *)t);
	work(NULL);
	for (long t = threads - ended; t < threads; t++)
		pthread_join(ids[t], NULL);
	for (long i = 0; i < blocks * threads; i++) {
		if (freed[i])
			continue;
		n += (size_t)snprintf(text + n, sizeof text - n, "%lx %zu\n",
				      (unsigned long)table[i],
				      malloc_usable_size(table[i]));
		if (n > sizeof text - 64) {
			say(text, n);
			n = 0;
		}
	}
	say(text, n);
	say("ready\n", 6);
	while (read(STDIN_FILENO, text, sizeof text) > 0)
		;
	_exit(0);
}
