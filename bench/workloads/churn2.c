/* SPDX-License-Identifier: MIT */
/* churn2.c -- two threads, 100,000 live blocks, random replacement, frees across threads.
 *
 * Each thread owns 50,000 slots. A step picks a random slot and puts a new block of 16 to
 * 512 bytes there, from one of three sites. One old block in four goes over a ring to the
 * other thread and is freed there, the rest are freed where they were made.
 *
 * Usage: churn2 ALLOCATIONS
 * The 100,000 blocks stay live, reachable from a static table. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SLOTS = 50000,
	RING = 1024, /* power of two; a full ring means the block is freed at home */
};

struct block {
	uint32_t bytes;
};

struct ring {
	_Alignas(64) atomic_uint head; /* written by the producer */
	_Alignas(64) atomic_uint tail; /* written by the consumer */
	_Alignas(64) struct block *slot[RING];
};

struct worker {
	pthread_t thread;
	unsigned index;
	uint64_t steps, allocs, frees;
	int64_t live_bytes; /* made here less freed here, so only the sum has a meaning */
	struct block *slot[SLOTS];
	struct ring in;
};

static struct worker workers[2];

static struct block *
block_made(struct block *b, size_t bytes)
{
	if (b == NULL)
		abort();
	b->bytes = (uint32_t)bytes;
	return b;
}

__attribute__((noinline)) static struct block *
make_small(size_t bytes)
{
	return block_made(malloc(bytes), bytes);
}

__attribute__((noinline)) static struct block *
make_middle(size_t bytes)
{
	return block_made(malloc(bytes), bytes);
}

__attribute__((noinline)) static struct block *
make_zeroed(size_t bytes)
{
	return block_made(calloc(1, bytes), bytes);
}

__attribute__((noinline)) static struct block *
block_make(struct worker *w, uint64_t x)
{
	unsigned site = (x >> 60) % 3;
	size_t bytes = 16 + ((x >> 32) & 63);

	w->allocs++;
	if (site == 1)
		bytes = 64 + ((x >> 32) & 127);
	else if (site == 2)
		bytes = 16 + ((x >> 32) % 497);
	w->live_bytes += (int64_t)bytes;
	if (site == 0)
		return make_small(bytes);
	return site == 1 ? make_middle(bytes) : make_zeroed(bytes);
}

static void
block_drop(struct worker *w, struct block *b)
{
	w->frees++;
	w->live_bytes -= b->bytes;
	free(b);
}

/* 1 when the other thread will free it, 0 when the ring is full. */
static int
ring_push(struct ring *r, struct block *b)
{
	unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&r->tail, memory_order_acquire) == RING)
		return 0;
	r->slot[head % RING] = b;
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return 1;
}

static void
ring_drain(struct worker *w)
{
	unsigned tail = atomic_load_explicit(&w->in.tail, memory_order_relaxed);

	while (tail != atomic_load_explicit(&w->in.head, memory_order_acquire)) {
		block_drop(w, w->in.slot[tail % RING]);
		atomic_store_explicit(&w->in.tail, ++tail, memory_order_release);
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct worker *other = &workers[1 - w->index];
	uint64_t x = 0x9e3779b97f4a7c15 + w->index;

	for (uint64_t i = 0; i < w->steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* The first round through fills the table, later ones replace at
		 * random. */
		size_t at = i < SLOTS ? i : (x & 0xffffffff) % SLOTS;
		struct block *old = w->slot[at];

		w->slot[at] = block_make(w, x * 0x2545f4914f6cdd1d);
		if (old != NULL && ((x >> 40) % 4 != 0 || !ring_push(&other->in, old)))
			block_drop(w, old);
		if (i % 8 == 0)
			ring_drain(w);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

	for (unsigned i = 0; i < 2; i++) {
		workers[i].index = i;
		workers[i].steps = steps / 2;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(workers[i].thread, NULL);
	/* What was sent to a thread that had ended. Not waited for there: turning in a
	 * loop until the other ends would put the scheduler's moods into the CPU time. */
	ring_drain(&workers[0]);
	ring_drain(&workers[1]);

	uint64_t allocs = workers[0].allocs + workers[1].allocs;
	uint64_t frees = workers[0].frees + workers[1].frees;
	printf("count allocs=%llu frees=%llu live_blocks=%llu live_bytes=%lld\n",
	       (unsigned long long)allocs, (unsigned long long)frees,
	       (unsigned long long)(allocs - frees),
	       (long long)(workers[0].live_bytes + workers[1].live_bytes));
	return 0;
}
