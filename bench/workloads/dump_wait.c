/* SPDX-License-Identifier: MIT */
/* dump_wait.c -- how long another thread's malloc waits while a heap profile is dumped.
 *
 * Each of STACKS stacks holds a live block. One thread dumps ten times through
 * mallctl("prof.dump"), and between the dumps computes for as long as the last one took.
 * Another allocates at these stacks and frees, all the while, and times each pair. It has
 * been to all of them before, so that tables that grow are not what is measured.
 *
 * A pair's wait is its wall time; if the kernel took the processor away meanwhile, its
 * CPU time, which a spinning wait would show. The longest while dumping is `wait_us`, the
 * longest in between, the noise of the machine, `quiet_us`; `any_us` is the longest wall
 * time while dumping, whatever the reason.
 *
 * Usage: dump_wait STACKS FILE
 * STACKS is at most 32768. Will not see a wait of a thread that did not run at all: on
 * one core the two take turns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
	LEVELS = 15,
	DUMPS = 10,
	LONG_NS = 1000000,
};

enum phase { PHASE_WARM, PHASE_QUIET, PHASE_DUMP, PHASE_END };

/* What the pairs of one phase took. */
struct waits {
	uint64_t pairs, over;
	uint64_t wait_ns, wall_ns; /* longest of each */
};

static _Atomic enum phase phase;
static atomic_int warm;
static unsigned stacks;
static struct waits waits[PHASE_END];

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *wait_left(unsigned path, int level);
static void *wait_right(unsigned path, int level);

/* One block; the bits of `path` choose the functions on the way. */
static inline void *
wait_step(unsigned path, int level)
{
	if (level == 0)
		return malloc(61);
	return path & 1 ? wait_left(path >> 1, level - 1)
			: wait_right(path >> 1, level - 1);
}

/* The asm keeps the frame: no tail jump. */
__attribute__((noinline)) static void *
wait_left(unsigned path, int level)
{
	void *p = wait_step(path, level);

	__asm__ volatile("" : : : "memory");
	return p;
}

__attribute__((noinline)) static void *
wait_right(unsigned path, int level)
{
	void *p = wait_step(path, level);

	__asm__ volatile("" : : : "memory");
	return p;
}

static long
preempted(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw;
}

/* One malloc and free, timed. */
static void
wait_pair(unsigned path, struct waits *w)
{
	long switches = preempted();
	uint64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t wall = now_ns(CLOCK_MONOTONIC);

	free(wait_step(path, LEVELS));
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;

	uint64_t wait = preempted() != switches ? cpu : wall;

	w->pairs++;
	w->over += wait > LONG_NS;
	if (wait > w->wait_ns)
		w->wait_ns = wait;
	if (wall > w->wall_ns)
		w->wall_ns = wall;
}

static void *
wait_all(void *arg)
{
	enum phase now;

	(void)arg;
	for (unsigned n = 0; (now = phase) != PHASE_END; n++) {
		wait_pair(n % stacks, &waits[now]);
		if (n == stacks)
			warm = 1;
	}
	return NULL;
}

/* Dumps and computes in turns; returns the sum of the errors, and the time of all
 * dumps. */
static int
dump_all(const char *path, uint64_t *ret_ns)
{
	int (*ctl)(const char *, void *, size_t *, void *, size_t);
	uint64_t total = 0;
	int error = 0;

	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (ctl == NULL)
		return -1;
	for (int i = 0; i < DUMPS; i++) {
		uint64_t began = now_ns(CLOCK_MONOTONIC), took;

		phase = PHASE_DUMP;
		error |= ctl("prof.dump", NULL, NULL, &path, sizeof(path));
		took = now_ns(CLOCK_MONOTONIC) - began;
		total += took;
		phase = PHASE_QUIET;
		began = now_ns(CLOCK_MONOTONIC);
		while (now_ns(CLOCK_MONOTONIC) - began < took)
			;
	}
	*ret_ns = total;
	return error;
}

int
main(int argc, char **argv)
{
	uint64_t took = 0;
	pthread_t t;

	stacks = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	if (stacks == 0 || stacks > 1u << LEVELS) {
		fprintf(stderr, "usage: dump_wait STACKS FILE\n");
		return 2;
	}
	/* kept for good: what a dump has to write */
	void **kept = malloc(stacks * sizeof(*kept));
	if (kept == NULL)
		abort();
	for (unsigned i = 0; i < stacks; i++)
		kept[i] = wait_step(i, LEVELS);
	if (pthread_create(&t, NULL, wait_all, NULL) != 0)
		abort();
	while (!warm)
		sched_yield();
	int error = dump_all(argv[2], &took);
	phase = PHASE_END;
	pthread_join(t, NULL);

	const struct waits *d = &waits[PHASE_DUMP], *q = &waits[PHASE_QUIET];
	printf("count stacks=%u dumps=%d dump_us=%llu pairs=%llu wait_us=%llu over=%llu "
	       "any_us=%llu quiet_us=%llu\n",
	       stacks, DUMPS, (unsigned long long)took / DUMPS / 1000,
	       (unsigned long long)d->pairs, (unsigned long long)d->wait_ns / 1000,
	       (unsigned long long)d->over, (unsigned long long)d->wall_ns / 1000,
	       (unsigned long long)q->wait_ns / 1000);
	for (unsigned i = 0; i < stacks; i++)
		free(kept[i]);
	free(kept);
	return error != 0;
}
