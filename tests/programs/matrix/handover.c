/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -pthread */
/* One thread makes jobs, another takes them over and frees them, but for one in eight that was
 * cancelled in between: each thread takes the other for its owner. */
#include "matrix.h"

#include <pthread.h>

struct job {
	int cancelled;
	char data[4000];
};

static struct job *waiting[16]; /* a ring between the two */
static unsigned head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ended;

SITE static struct job *
make_job(void)
{
	struct job *j = fill(malloc(sizeof(*j)), sizeof(*j));

	j->cancelled = chance(8) == 0;
	return j;
}

static void
take_jobs(void)
{
	pthread_mutex_lock(&lock);
	while (tail != head) {
		struct job **slot = &waiting[tail++ % 16];

		if (!(*slot)->cancelled)
			free(*slot);
		*slot = NULL;
	}
	pthread_mutex_unlock(&lock);
}

static void *
consumer(void *unused)
{
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE) && tick(4))
		take_jobs();
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	matrix_begin(argc, argv, "make_job", "LEAK");
	pthread_create(&thread, NULL, consumer, NULL);
	while (tick(2)) {
		struct job *j = make_job();

		pthread_mutex_lock(&lock);
		if (head - tail < 16)
			waiting[head++ % 16] = j;
		else
			free(j);
		pthread_mutex_unlock(&lock);
	}
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return 0;
}
