/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* threads.c -- very many threads, each with a known number of calls.
 *
 *	threads short N    N threads, a few at a time, that live for a moment
 *	threads many N     N threads that all live at once
 *	threads cancel N   N threads that are cancelled while they wait; cleanup handlers free
 *	threads main N     main leaves with pthread_exit, N threads go on and end the process
 *
 * Every thread makes three blocks: frees one, hands one to main, or to nobody when it
 * is the last of a hundred and one, and leaves one to the next thread. `short` also
 * says how much room the recording of this process takes after a tenth of the threads
 * and after all of them. */
#define _GNU_SOURCE
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BATCH = 31,
	LEFT_BYTES = 29,
	OWN_BYTES = 41,
	HANDED_BYTES = 53,
};

static struct tally left = {.name = "make_left"};
static struct tally own = {.name = "make_own"};
static struct tally handed = {.name = "make_handed"};

static void *parcel; /* left by one thread, freed by the next */
static pthread_barrier_t all_there;
static sem_t waiting;

static TRUTH_NOINLINE void *
make_left(void)
{
	void *p = malloc(LEFT_BYTES);

	tally_alloc(&left, LEFT_BYTES);
	return p;
}

static TRUTH_NOINLINE void *
make_own(void)
{
	void *p = calloc(1, OWN_BYTES);

	tally_alloc(&own, OWN_BYTES);
	return p;
}

static TRUTH_NOINLINE void *
make_handed(void)
{
	void *p = realloc(NULL, HANDED_BYTES);

	tally_alloc(&handed, HANDED_BYTES);
	return p;
}

static void
drop(struct tally *t, void *p, size_t bytes)
{
	if (p == NULL)
		return;
	free(p);
	tally_free(t, bytes);
}

/* The rest of a thread's life; what it returns is main's to free. */
static void *
live(uintptr_t number)
{
	void *p, *q;

	if (number % 2 != 0) /* a free is the first that is seen of this thread */
		drop(&left, __atomic_exchange_n(&parcel, NULL, __ATOMIC_ACQ_REL),
		     LEFT_BYTES);
	p = make_own();
	q = make_handed();
	drop(&left, __atomic_exchange_n(&parcel, make_left(), __ATOMIC_ACQ_REL),
	     LEFT_BYTES);
	drop(&own, p, OWN_BYTES);
	return number % 101 == 100 ? NULL : q;
}

static void *
short_thread(void *arg)
{
	return live((uintptr_t)arg);
}

static void *
many_thread(void *arg)
{
	void *p;

	pthread_barrier_wait(&all_there);
	p = live((uintptr_t)arg);
	pthread_barrier_wait(&all_there); /* all live to the end */
	return p;
}

static void
free_own(void *p)
{
	drop(&own, p, OWN_BYTES);
	drop(&own, make_own(), OWN_BYTES); /* a cleanup handler allocates too */
}

static void *
cancel_thread(void *arg)
{
	void *p = make_own();

	(void)arg;
	pthread_cleanup_push(free_own, p);
	sem_post(&waiting);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return NULL;
}

static void
join(pthread_t id)
{
	void *p;

	pthread_join(id, &p);
	if (p != PTHREAD_CANCELED)
		drop(&handed, p, HANDED_BYTES);
}

/* KiB on disk of the file that seep has mapped here; 0 without seep. */
static long
recording_kib(void)
{
	static char maps[1 << 18];
	size_t n = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char *end, *path;
	struct stat st;

	while (n < sizeof(maps) - 1 &&
	       (got = read(fd, maps + n, sizeof(maps) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	maps[n] = '\0';
	end = strstr(maps, ".live\n");
	if (end == NULL)
		return 0;
	end[5] = '\0';
	path = memrchr(maps, ' ', (size_t)(end - maps));
	return stat(path + 1, &st) == 0 ? (long)st.st_blocks / 2 : 0;
}

static void
run_short(unsigned n)
{
	long early = 0;
	pthread_t ids[BATCH];

	for (unsigned made = 0; made < n;) {
		unsigned k = 0;

		for (; k < BATCH && made < n; k++, made++)
			if (pthread_create(&ids[k], NULL, short_thread,
					   (void *)(uintptr_t)made))
				abort();
		while (k > 0)
			join(ids[--k]);
		if (early == 0 && made >= n / 10)
			early = recording_kib();
	}
	truth_say("room %ld %ld\n", early, recording_kib());
}

static void
run_many(unsigned n)
{
	pthread_t *ids = calloc(n, sizeof(*ids));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_there, NULL, n);
	for (uintptr_t i = 0; i < n; i++)
		if (pthread_create(&ids[i], &small, many_thread, (void *)i) != 0)
			abort();
	for (unsigned i = 0; i < n; i++)
		join(ids[i]);
	free(ids);
}

static void
run_cancel(unsigned n)
{
	pthread_t id;

	sem_init(&waiting, 0, 0);
	for (unsigned i = 0; i < n; i++) {
		if (pthread_create(&id, NULL, cancel_thread, NULL) != 0)
			abort();
		sem_wait(&waiting);
		pthread_cancel(id);
		join(id);
	}
}

static void
tell(void)
{
	truth_tell(&left);
	truth_tell(&own);
	truth_tell(&handed);
}

static unsigned going;

static void *
outliving_thread(void *arg)
{
	void *p;

	usleep(20000); /* main has left by now */
	p = live((uintptr_t)arg);
	drop(&handed, p, HANDED_BYTES);
	if (__atomic_sub_fetch(&going, 1, __ATOMIC_ACQ_REL) == 0)
		tell();
	return NULL;
}

static void
run_main(unsigned n)
{
	pthread_t id;

	going = n;
	for (uintptr_t i = 0; i < n; i++) {
		if (pthread_create(&id, NULL, outliving_thread, (void *)i) != 0)
			abort();
		pthread_detach(id);
	}
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 7;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "short") == 0)
		run_short(n);
	else if (strcmp(argv[1], "many") == 0)
		run_many(n);
	else if (strcmp(argv[1], "cancel") == 0)
		run_cancel(n);
	else
		run_main(n);
	drop(&left, parcel, LEFT_BYTES);
	tell();
	return 0;
}
