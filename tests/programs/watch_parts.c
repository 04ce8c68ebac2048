/* SPDX-License-Identifier: MIT */
/* watch_parts.c -- memory of every kind, in sizes that it states, for whoever looks from outside.
 *
 *	watch_parts THREADS [KIND]
 *
 * Then says `ready` and waits; with a KIND (heap, chunk, mapping, shared, stack) it goes on to
 * take more of that, a little every few milliseconds, until it is killed. */
/* cflags: -O1 -g -pthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BLOCKS = 4001,
	BLOCK = 4000,
	BIG = 7 << 20,
	MAPPED = 9 << 20,
	SHARED = 3 << 20,
	STACK = 200 << 10,
	STACK_TOO = 8 << 10, /* that libc puts there, and what else was touched */
	MORE = 16 << 10,
};

static char *blocks[BLOCKS];
static volatile unsigned up;

static void *
in_thread(void *ctx)
{
	volatile char used[STACK];

	(void)ctx;
	memset((char *)used, 1, sizeof used);
	__atomic_fetch_add(&up, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return NULL;
}

static void
start_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, NULL) != 0)
		exit(1);
}

static char *
touch(char *p, size_t bytes)
{
	if (p == NULL || p == MAP_FAILED)
		exit(1);
	return memset(p, 1, bytes);
}

static char *
map(size_t bytes, int flags, int fd)
{
	return touch(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0), bytes);
}

static void
grow(const char *kind)
{
	static size_t shared = SHARED;
	static int fd = -1;

	if (strcmp(kind, "heap") == 0) {
		touch(malloc(MORE), MORE);
	} else if (strcmp(kind, "chunk") == 0) {
		touch(malloc(256 << 10), 256 << 10);
	} else if (strcmp(kind, "mapping") == 0) {
		map(MORE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	} else if (strcmp(kind, "stack") == 0) {
		start_thread();
	} else if (strcmp(kind, "shared") == 0) {
		if (fd < 0)
			fd = memfd_create("growing", 0);
		shared += MORE;
		if (ftruncate(fd, (off_t)shared) < 0)
			exit(1);
		touch(mmap(NULL, MORE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (off_t)(shared - MORE)),
		      MORE);
	}
}

int
main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	int fd = memfd_create("ring", 0);

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = touch(malloc(BLOCK), BLOCK);
	for (int i = 1; i < BLOCKS - 2; i += 2)
		free(blocks[i]); /* 1,999 of them, each between two that stay */
	touch(malloc(BIG), BIG);
	/* Unlike malloc's, so that the kernel does not make one of the two. */
	map(MAPPED, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (ftruncate(fd, SHARED) < 0)
		return 1;
	map(SHARED, MAP_SHARED, fd);
	for (unsigned i = 0; i < threads; i++)
		start_thread();
	while (up < threads)
		usleep(1000);
	printf("expect live=%d freed=%d mappings=%d shared=%d stacks=%u\n",
	       2002 * (BLOCK + 16) + BIG, 1999 * (BLOCK + 16), MAPPED, SHARED,
	       threads * (STACK + STACK_TOO));
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (;;) {
		if (argc > 2)
			grow(argv[2]);
		usleep(argc > 2 ? 4000 : 1000000);
	}
}
