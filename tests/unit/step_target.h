/* SPDX-License-Identifier: MIT */
/* step_target.h -- the process that test_step.c single-steps: itself, started again with
 * STEP_TARGET=<case> and STEP_HOW=<flags> in the environment and libseep.so in front.
 *
 * It makes the same call ROUNDS times from one place and raises SIGUSR1 before and after
 * the last one. With HOW_COLD that one is also the first. Sizes are such that no sum of
 * others gives them. To be included once. */
#ifndef SEEP_TESTS_STEP_TARGET_H
#define SEEP_TESTS_STEP_TARGET_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 7 };

#define NOINLINE_CALL __attribute__((noinline))

static void *volatile held[64];
static void *volatile result;

static NOINLINE_CALL void
marker(bool now)
{
	if (now)
		raise(SIGUSR1);
}

/* One line each, called from one place: the warm calls and the observed one are one
 * site. */
static NOINLINE_CALL void *
at_malloc(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_realloc(void *q, size_t n)
{
	void *p = realloc(q, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_calloc(size_t n)
{
	void *p = calloc(1, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_aligned(size_t n)
{
	void *p = aligned_alloc(64, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

enum how {
	HOW_PEAK = 1,	   /* the call makes a new peak */
	HOW_LATE = 2,	   /* after exit began */
	HOW_THREADS = 4,   /* there is a second thread */
	HOW_IN_THREAD = 8, /* and it is the one that calls */
	HOW_COLD = 16,	   /* the first call from there */
	HOW_SAMPLED = 32,  /* every byte is a sample, so that everything is recorded */
};

static void
warm_up(unsigned how)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		held[i] = at_malloc(1009);
		held[16 + i] = at_malloc(103);
		free(at_calloc(211));
	}
	if ((how & HOW_PEAK) == 0)
		free(at_malloc(1 << 20)); /* everything after it stays below this peak */
}

static const struct target_case {
	const char *name;
	int64_t allocs, frees, bytes; /* what the call adds */
	bool in_short;
} cases[] = {
	{"malloc", 1, 0, 149, true},
	{"malloc0", 1, 0, 0, false},
	{"calloc", 1, 0, 211, false},
	{"aligned", 1, 0, 7 * 64, false},
	{"free", 0, 1, -103, true},
	{"free_recent", 0, 1, -163, false},
	{"realloc_new", 1, 0, 1021, false},
	{"realloc_in_place", 1, 1, 997 - 1009, false},
	{"realloc_moved", 1, 1, 300007 - 1009, true},
	{"realloc_shrunk", 1, 1, 17 - 1009, true},
	{"realloc_recent", 1, 1, 157 - 163, false},
	{"realloc_failed", 0, 0, 0, true},
	{"realloc_to_0", 0, 1, -1009, true},
	{"free_null", 0, 0, 0, false},
};

/* The call itself, on the blocks of one round. */
static NOINLINE_CALL void
call(const char *name, unsigned round, void *recent)
{
	if (strcmp(name, "malloc") == 0)
		result = at_malloc(149);
	else if (strcmp(name, "malloc0") == 0)
		result = at_malloc(0);
	else if (strcmp(name, "calloc") == 0)
		result = at_calloc(211);
	else if (strcmp(name, "aligned") == 0)
		result = at_aligned(7 * 64);
	else if (strcmp(name, "free") == 0)
		free(held[16 + round]);
	else if (strcmp(name, "free_recent") == 0)
		free(recent);
	else if (strcmp(name, "realloc_new") == 0)
		result = at_realloc(NULL, 1021);
	else if (strcmp(name, "realloc_in_place") == 0)
		result = at_realloc(held[round], 997);
	else if (strcmp(name, "realloc_moved") == 0)
		result = at_realloc(held[round], 300007);
	else if (strcmp(name, "realloc_shrunk") == 0)
		result = at_realloc(held[round], 17);
	else if (strcmp(name, "realloc_recent") == 0)
		result = at_realloc(recent, 157);
	else if (strcmp(name, "realloc_failed") == 0)
		result = at_realloc(held[round], PTRDIFF_MAX - 64);
	else if (strcmp(name, "realloc_to_0") == 0)
		result = at_realloc(held[round], 0);
	else if (strcmp(name, "free_null") == 0)
		free(result = NULL);
}

static void
observed(const char *name, unsigned how)
{
	unsigned round = (how & HOW_COLD) != 0 ? ROUNDS - 1 : 0;

	for (; round < ROUNDS; round++) {
		void *recent = strstr(name, "_recent") != NULL ? at_malloc(163) : NULL;

		/* No `if` here: the compiler would make the last round a copy, another
		 * site. */
		marker(round == ROUNDS - 1);
		call(name, round, recent);
		marker(round == ROUNDS - 1);
	}
}

static const char *target_name;
static unsigned target_how;
static volatile bool parked; /* the second thread has nothing more to do */

static void *
second_thread(void *arg)
{
	(void)arg;
	held[48] = at_malloc(401);
	held[49] = at_malloc(409);
	free(held[48]);
	if (strcmp(target_name, "thread_end") == 0) {
		held[50] = at_calloc(419);
		held[51] = at_realloc(NULL, 421);
		free(held[50]);
		free(held[2]); /* the other thread's */
		marker(true);
		return NULL; /* stepped until the thread is gone */
	}
	if ((target_how & HOW_IN_THREAD) != 0) {
		observed(target_name, target_how);
		_exit(0);
	}
	parked = true;
	for (;;)
		pause();
}

static void
late(void)
{
	observed(target_name, target_how);
	_exit(0);
}

/* Before main(), which is the tests': this process is the target. */
__attribute__((constructor)) static void
target(void)
{
	pthread_t thread;

	target_name = getenv("STEP_TARGET");
	if (target_name == NULL)
		return;
	target_how = (unsigned)atoi(getenv("STEP_HOW"));
	marker(strcmp(target_name, "start") == 0);
	warm_up(target_how);
	if ((target_how & (HOW_THREADS | HOW_IN_THREAD)) != 0) {
		pthread_create(&thread, NULL, second_thread, NULL);
		if ((target_how & HOW_IN_THREAD) != 0)
			pthread_join(thread, NULL);
		while (!parked)
			sched_yield();
	}
	if ((target_how & HOW_LATE) != 0) {
		atexit(late);
		exit(0);
	}
	observed(target_name, target_how);
	_exit(0);
}

#endif
