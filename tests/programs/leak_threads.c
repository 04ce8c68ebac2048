/* SPDX-License-Identifier: MIT */
/* leak_threads.c -- pointers that threads hold: running, waiting, ended; on stacks, in registers, in
 * thread-local memory. */
/* cflags: -O1 -g -pthread */
#include "leak_cases.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t started, never;
static void *volatile root;
static __thread void *volatile local_root;

static pthread_t
start(void *(*f)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, arg) != 0)
		_exit(95);
	return t;
}

/* Starts it and comes back when it stands where it will stay. */
static void
start_and_stay(void *(*f)(void *), void *arg)
{
	sem_init(&started, 0, 0);
	sem_init(&never, 0, 0);
	start(f, arg);
	sem_wait(&started);
	usleep(20000);
}

static void
stay(void)
{
	sem_post(&started);
	for (;;)
		sem_wait(&never);
}

static void *
holds_on_stack(void *arg)
{
	void *volatile kept = malloc(337);

	(void)arg;
	leak_hide((void *)&kept);
	stay();
	return kept;
}

LEAK_CASE(stack_of_waiting_thread, "reachable=337/1")
{
	start_and_stay(holds_on_stack, NULL);
}

LEAK_CASE(stack_of_waiting_thread_at_exit, "reachable=337/1")
{
	start_and_stay(holds_on_stack, NULL);
	exit(0);
}

LEAK_CASE(stack_of_waiting_thread_at__exit, "reachable=337/1")
{
	start_and_stay(holds_on_stack, NULL);
	_exit(0);
}

static void *
holds_locally(void *arg)
{
	(void)arg;
	local_root = malloc(347);
	stay();
	return NULL;
}

LEAK_CASE(local_of_waiting_thread, "reachable=347/1")
{
	start_and_stay(holds_locally, NULL);
}

static volatile int spinning;

/* The pointer is in a register, and nowhere else. */
static void *
holds_in_register(void *arg)
{
	void *p = malloc(349);

	(void)arg;
	leak_wipe();
	spinning = 1;
	__asm__ volatile("1: pause\n\tcmpl $7, %1\n\tjne 1b" : "+r"(p) : "m"(spinning));
	return p;
}

LEAK_CASE(register_of_running_thread, "reachable=349/1")
{
	start(holds_in_register, NULL);
	while (spinning == 0)
		usleep(1000);
}

static void *
drops(void *arg)
{
	void *volatile room[64];

	(void)arg;
	for (int i = 0; i < 64; i++)
		room[i] = NULL;
	room[40] = malloc(353);
	leak_hide((void *)room);
	return NULL;
}

LEAK_CASE(stack_of_ended_thread, "definite=353/1")
{
	pthread_join(start(drops, NULL), NULL);
}

LEAK_CASE(stacks_of_ended_threads, "definite=2471/7")
{
	pthread_t t[7];

	for (int i = 0; i < 7; i++)
		t[i] = start(drops, NULL);
	for (int i = 0; i < 7; i++)
		pthread_join(t[i], NULL);
}

static void *
gives(void *arg)
{
	(void)arg;
	return malloc(359);
}

LEAK_CASE(result_taken, "reachable=359/1")
{
	void *got = NULL;

	pthread_join(start(gives, NULL), &got);
	root = got;
}

LEAK_CASE(result_dropped, "definite=359/1")
{
	pthread_join(start(gives, NULL), NULL);
}

static void *
takes(void *arg)
{
	root = arg;
	return NULL;
}

LEAK_CASE(argument_kept, "reachable=367/1")
{
	pthread_join(start(takes, malloc(367)), NULL);
}

static void *
allocates_much(void *arg)
{
	void **all = NULL;

	for (int i = 0; i < 1009; i++) {
		void **p = calloc(1, 373);

		p[0] = all;
		all = p;
	}
	*(void **)arg = all;
	return NULL;
}

LEAK_CASE(arena_of_thread, "reachable=376357/1009")
{
	static void *list;

	pthread_join(start(allocates_much, &list), NULL);
}

LEAK_CASE(arena_of_thread_lost, "definite=373/1 indirect=375984/1008")
{
	static void *list;

	pthread_join(start(allocates_much, &list), NULL);
	list = NULL;
}

static void *
drops_between_free(void *arg)
{
	void *a, *b, *c;

	(void)arg;
	a = leak_hide(malloc(1304));
	b = malloc(2000);
	c = malloc(16);
	free(b);
	(void)a;
	free(c);
	return NULL;
}

LEAK_CASE(arena_before_free_memory, "definite=1304/1")
{
	pthread_join(start(drops_between_free, NULL), NULL);
}

static void *
leaves_process(void *arg)
{
	leak_hide(malloc(379));
	(void)arg;
	exit(0);
}

LEAK_CASE(exit_from_thread, "definite=379/1 reachable=383/1")
{
	void *volatile kept = malloc(383);

	start(leaves_process, NULL);
	for (;;)
		pause();
	(void)kept;
}

static void *
leaves_at_once(void *arg)
{
	leak_hide(malloc(389));
	(void)arg;
	_exit(0);
}

LEAK_CASE(leave_from_thread, "definite=389/1")
{
	start(leaves_at_once, NULL);
	for (;;)
		pause();
}

static void *
outlives_main(void *arg)
{
	usleep(50000);
	leak_hide(malloc(397));
	(void)arg;
	return NULL;
}

LEAK_CASE(main_thread_ends_first, "definite=397/1")
{
	start(outlives_main, NULL);
	pthread_exit(NULL);
}

static pthread_key_t key;

static void *
sets_key(void *arg)
{
	pthread_setspecific(key, arg);
	return NULL;
}

LEAK_CASE(key_with_destructor, "")
{
	pthread_key_create(&key, free);
	pthread_join(start(sets_key, malloc(401)), NULL);
}

LEAK_CASE(many_threads_freed, "")
{
	for (int i = 0; i < 50; i++)
		pthread_join(start(takes, NULL), NULL);
}

/* Blocks of several sizes, all freed again: an allocator with memory for each thread has that left over as a whole. */
static void *
uses_many(void *arg)
{
	void *got[100];

	for (unsigned i = 0; i < 100; i++)
		got[i] = memset(malloc(16 + i * 37), 1, 16 + i * 37);
	for (unsigned i = 0; i < 100; i++)
		free(got[i]);
	return arg;
}

LEAK_CASE(many_threads_at_once, "definite=353/1")
{
	pthread_t t[20];

	for (unsigned i = 0; i < 20; i++)
		t[i] = start(uses_many, NULL);
	for (unsigned i = 0; i < 20; i++)
		pthread_join(t[i], NULL);
	pthread_join(start(drops, NULL), NULL);
}

LEAK_MAIN()
