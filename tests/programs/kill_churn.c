/* SPDX-License-Identifier: MIT */
/* kill_churn.c -- four threads that allocate without end, to be killed at any moment.
 *
 *	kill_churn FILE [CALLS]    run; with CALLS each thread ends after that many calls and
 *	                           another goes on in its place
 *	kill_churn --truth FILE    what should have been recorded, afterwards
 *
 * What a thread calls next follows from the number of calls it has made, nothing else, and that
 * number is all it writes to FILE: one store after each call. So the truth at the moment of death
 * is known exactly but for one call a thread. Each thread allocates in a function of its own,
 * worker_0 to worker_3; --truth prints for each
 *
 *	worker_0 CALLS ALLOCS FREES BYTES LIVE_BLOCKS LIVE_BYTES   as many again with the next call */
/* cflags: -O1 -g -fno-inline -fno-optimize-sibling-calls -pthread */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	THREADS = 4,
	SLOTS = 61,
};

/* One thread's account, the same for doing it and for adding it up later. */
struct account {
	unsigned number;
	uint64_t calls;
	uint64_t random;
	uint64_t allocs, frees, bytes, live_blocks, live_bytes;
	size_t size[SLOTS];
	void *block[SLOTS];
};

static volatile uint64_t *done; /* in FILE: calls completed, by thread, 64 bytes apart */
static uint64_t calls_each;
static struct account accounts[THREADS];

enum what { WHAT_MALLOC, WHAT_FREE, WHAT_REALLOC };

struct next_call {
	enum what what;
	unsigned slot;
	size_t bytes;
};

static struct next_call
next_call(struct account *a)
{
	struct next_call c;
	uint64_t x;

	a->random =
		a->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	x = a->random >> 20;
	c.slot = (unsigned)(x % SLOTS);
	c.bytes = 1 + (x >> 8) % ((x >> 32) % 16 == 0 ? 20011 : 613);
	c.what = a->size[c.slot] == 0 ? WHAT_MALLOC
		 : (x >> 36) % 3 == 0 ? WHAT_REALLOC
				      : WHAT_FREE;
	return c;
}

static void
count(struct account *a, struct next_call c)
{
	if (c.what != WHAT_MALLOC) {
		a->frees++;
		a->live_blocks--;
		a->live_bytes -= a->size[c.slot];
		a->size[c.slot] = 0;
	}
	if (c.what != WHAT_FREE) {
		a->allocs++;
		a->bytes += c.bytes;
		a->live_blocks++;
		a->live_bytes += c.bytes;
		a->size[c.slot] = c.bytes;
	}
	a->calls++;
}

#define WORKER(n)                                                                        \
	static void worker_##n(struct account *a, struct next_call c)                    \
	{                                                                                \
		if (c.what == WHAT_MALLOC)                                               \
			a->block[c.slot] = malloc(c.bytes);                              \
		else if (c.what == WHAT_REALLOC)                                         \
			a->block[c.slot] = realloc(a->block[c.slot], c.bytes);           \
		else                                                                     \
			free(a->block[c.slot]);                                          \
	}

WORKER(0)
WORKER(1)
WORKER(2)
WORKER(3)

static void (*const workers[THREADS])(struct account *, struct next_call) = {
	worker_0,
	worker_1,
	worker_2,
	worker_3,
};

static void *
work(void *arg)
{
	struct account *a = arg;
	uint64_t until = calls_each == 0 ? UINT64_MAX : a->calls + calls_each;

	while (a->calls < until) {
		struct next_call c = next_call(a);

		workers[a->number](a, c);
		count(a, c);
		done[a->number * 8] = a->calls;
	}
	return NULL;
}

static void
open_done(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0 || ((flags & O_CREAT) != 0 && ftruncate(fd, 4096) < 0))
		exit(3);
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (done == MAP_FAILED)
		exit(3);
	close(fd);
}

static void
print_truth(unsigned i)
{
	struct account *a = &accounts[i];
	uint64_t n = done[i * 8];

	printf("worker_%u", i);
	while (a->calls < n)
		count(a, next_call(a));
	for (int k = 0; k < 2; k++) {
		printf(" %lu %lu %lu %lu %lu %lu", a->calls, a->allocs, a->frees,
		       a->bytes, a->live_blocks, a->live_bytes);
		count(a, next_call(a));
	}
	putchar('\n');
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int truth = argc > 2 && strcmp(argv[1], "--truth") == 0;

	if (argc < 2)
		return 2;
	for (unsigned i = 0; i < THREADS; i++)
		accounts[i] = (struct account){.number = i, .random = 7919 * (i + 1)};
	open_done(argv[1 + truth], truth ? O_RDWR : O_RDWR | O_CREAT);
	for (unsigned i = 0; truth && i < THREADS; i++)
		print_truth(i);
	if (truth)
		return 0;
	calls_each = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &accounts[i]);
	for (unsigned i = 0;; i = (i + 1) % THREADS) {
		pthread_join(threads[i], NULL);
		pthread_create(&threads[i], NULL, work, &accounts[i]);
	}
}
