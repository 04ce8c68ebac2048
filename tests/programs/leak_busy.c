/* SPDX-License-Identifier: MIT */
/* leak_busy.c -- a program to be looked at while it works: threads that allocate, and wait in calls of many
 * kinds, and notice whatever is not as usual.
 *
 *	leak_busy THREADS BLOCKS FOLDER
 *
 * Holds BLOCKS blocks of 16 to 271 bytes in 1,024 lists, of which 23 lost ones of 211 bytes. Makes the file
 * FOLDER/ready when all threads run, and ends when FOLDER/go is there. Then it prints how many calls failed that
 * never fail by themselves (`failed N`), and for every file FOLDER/ask that was there meanwhile, and that it
 * removes, the longest time in microseconds that any thread has made no progress since the one before
 * (`gap N`). For every file FOLDER/lose it loses 7 more blocks of 307 bytes, at another place. Threads of the first kind are as good as always busy, but leave the processor to others. */
/* cflags: -O1 -g -pthread */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LISTS = 1024, LOST = 23, LOST_BYTES = 211, THREADS_MAX = 256 };

struct link {
	struct link *next;
};

static struct link *lists[LISTS];
static volatile int stop;
static unsigned long failed;
static int running;		   /* threads that have opened what they need */
static uint64_t gaps[THREADS_MAX]; /* longest since it was asked for, ns */
static const char *folder;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
check(const char *what, int good)
{
	if (good)
		return;
	if (__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED) < 20)
		fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
}

static void
nap(long us)
{
	struct timespec ts = {0, us * 1000};

	check("nanosleep", nanosleep(&ts, NULL) == 0);
}

/* One turn of each kind of thread, about a millisecond. */
static void
work(void)
{
	void *kept[16];

	for (int i = 0; i < 16; i++)
		kept[i] = malloc((size_t)(16 + i * 7));
	for (int i = 0; i < 16; i++)
		free(kept[i]);
	sched_yield();
	nap(500);
}

static void
wait_for_events(int epoll, int event)
{
	struct epoll_event e;
	uint64_t one = 1;

	check("epoll_wait", epoll_wait(epoll, &e, 1, 1) == 0);
	check("write", write(event, &one, 8) == 8);
	check("epoll_wait", epoll_wait(epoll, &e, 1, 1000) == 1);
	check("read", read(event, &one, 8) == 8);
	free(malloc(100));
}

static void
wait_otherwise(sem_t *sem, pthread_mutex_t *lock, pthread_cond_t *cond)
{
	struct timespec ts;
	struct pollfd none = {.fd = -1};

	check("poll", poll(&none, 1, 1) == 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec = ts.tv_nsec < 998000000 ? ts.tv_nsec + 1000000 : ts.tv_nsec;
	check("sem_timedwait", sem_timedwait(sem, &ts) < 0 && errno == ETIMEDOUT);
	pthread_mutex_lock(lock);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec = ts.tv_nsec < 998000000 ? ts.tv_nsec + 1000000 : ts.tv_nsec;
	check("pthread_cond_timedwait",
	      pthread_cond_timedwait(cond, lock, &ts) == ETIMEDOUT);
	pthread_mutex_unlock(lock);
}

/* A child of its own now and then: it must be the only one that is ever seen. By a bare system call: for fork() a
 * recorder goes through all blocks, which would then be on this thread's stack. */
static void
have_a_child(void)
{
	int status;
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), got;

	if (pid == 0)
		syscall(SYS_exit_group, 7);
	got = waitpid(-1, &status, 0);
	check("waitpid", got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	nap(2000);
}

static void *
thread(void *arg)
{
	uintptr_t number = (uintptr_t)arg;
	int event = eventfd(0, 0), epoll = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	uint64_t last = now_ns();
	sem_t sem;

	sem_init(&sem, 0, 0);
	check("epoll_ctl", epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e) == 0);
	__atomic_add_fetch(&running, 1, __ATOMIC_RELEASE);
	while (!stop) {
		uint64_t now;

		if (number == 1)
			have_a_child();
		else if (number % 3 == 0)
			work();
		else if (number % 3 == 1)
			wait_for_events(epoll, event);
		else
			wait_otherwise(&sem, &lock, &cond);
		now = now_ns();
		if (now - last > gaps[number])
			gaps[number] = now - last;
		last = now;
	}
	close(event);
	close(epoll);
	return NULL;
}

/* Shuffled, as in a program that has run for long. */
static void
build(unsigned long blocks)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	for (unsigned long i = 0; i < blocks; i++) {
		struct link *l;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		l = calloc(1, 16 + (x >> 32) % 256);
		l->next = lists[x % LISTS];
		lists[x % LISTS] = l;
	}
}

__attribute__((noinline)) static void
lose(void)
{
	for (int i = 0; i < LOST; i++) {
		void *p = calloc(1, LOST_BYTES);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
}

__attribute__((noinline)) static void
lose_more(void)
{
	for (int i = 0; i < 7; i++) {
		void *p = calloc(1, 307);

		__asm__ volatile("" : "+r"(p) : : "memory");
	}
	free(calloc(1, 47)); /* so that registers hold another one's address, if any */
}

/* Overwrites what calls have left on the stack. */
__attribute__((noinline)) static void
wipe(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

/* Whether the file is there; if so it is removed. */
static int
was_there(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return unlink(path) == 0;
}

static void
make(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void
say_gap(int threads)
{
	uint64_t most = 0;

	for (int i = 0; i < threads; i++) {
		most = gaps[i] > most ? gaps[i] : most;
		gaps[i] = 0;
	}
	printf("gap %lu\n", (unsigned long)(most / 1000));
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int n = argc == 4 ? atoi(argv[1]) : 0;

	if (n < 1 || n > THREADS_MAX)
		return 2;
	folder = argv[3];
	lose();
	wipe();
	build(strtoul(argv[2], NULL, 10));
	for (intptr_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < n)
		nap(1000);
	make("ready");
	while (!was_there("go")) {
		if (was_there("ask"))
			say_gap(n);
		if (was_there("lose")) {
			lose_more();
			wipe();
			make("lost");
		}
		nap(2000);
	}
	stop = 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("failed %lu\n", failed);
	return 0;
}
