/* SPDX-License-Identifier: MIT */
/* outside.c -- memory that grows beside what malloc has handed out.
 *
 *	outside threads|mappings|pool|start|early|kept|holes|step|fill|static|little SECONDS
 *
 * threads: 30 more threads a second, each blocked with 160 KiB of its stack in use. mappings: 4 MiB a second that are
 * mapped. pool: 40 threads at the start that work. start: 40 MiB are mapped and 20 threads begin in the first
 * half second, and then nothing more. early: 200 MiB of malloc, freed after a tenth of the time; in the second half
 * 150 MiB are mapped at once and kept. kept: 90 MiB in small blocks, all but the last freed, so that malloc keeps them,
 * three times over. holes: blocks that are shrunk to 24 bytes leave holes of 4 MiB a second in malloc's heap, which no
 * other block fits into. step: 23 MiB are mapped at once, after three seconds. fill: one block of 1 GiB, allocated at the
 * start, of which 4 MiB a second are written to. static: the same in an array of
 * the program's. little: 192 KiB a second that are mapped. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 160 << 10, MAPPED = 64 << 10 };

static char *buffer; /* to be filled */
static char array[1 << 30];

static double
seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *
blocked(void *arg)
{
	char deep[DEPTH], *volatile used = deep;

	for (unsigned i = 0; i < DEPTH; i += 4096)
		used[i] = 1;
	pause();
	return arg;
}

static void *
works(void *arg)
{
	for (;;) {
		char *volatile p = malloc(2000);

		memset(p, 1, 2000);
		free(p);
		usleep(2000);
	}
	return arg;
}

static void
more_threads(unsigned n, void *(*function)(void *))
{
	for (unsigned i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, function, NULL) != 0)
			abort();
	}
}

static void
map(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *p = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(p, 1, MAPPED);
	}
}

/* 200 MiB of malloc, freed after a while. */
static void
early_peak(double pause)
{
	enum { BLOCKS = 200, BYTES = 1 << 20 };
	static char *blocks[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		memset(blocks[i], 1, BYTES);
	}
	usleep((useconds_t)(pause * 1e6));
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* 90 MiB that malloc cannot give back: the last block is in use. */
static void
kept_peak(double pause)
{
	enum { BLOCKS = 90 << 10, BYTES = 1000 };
	static char *blocks[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		memset(blocks[i], 1, BYTES);
	}
	usleep((useconds_t)(pause * 1e6));
	for (unsigned i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	usleep((useconds_t)(pause * 1e6));
	free(blocks[BLOCKS - 1]);
}

__attribute__((noinline)) static void
shrink(void)
{
	static struct pin {
		struct pin *next;
	} * pins;
	static struct pin *last;
	struct pin *p = malloc(MAPPED);

	memset(p, 1, MAPPED);
	p->next = last;
	if (last != NULL) {
		last = realloc(last, 24);
		last->next = pins;
		pins = last;
	}
	last = p;
}

static void
fill(void)
{
	memset(buffer, 1, MAPPED);
	buffer += MAPPED;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double until = argc > 2 ? atof(argv[2]) : 5, start = seconds();
	double rate = strcmp(what, "threads") == 0    ? 30
		      : strcmp(what, "mappings") == 0 ? 64
		      : strcmp(what, "holes") == 0    ? 64
		      : strcmp(what, "fill") == 0     ? 64
		      : strcmp(what, "static") == 0   ? 64
		      : strcmp(what, "little") == 0   ? 3
						      : 0;

	if (strcmp(what, "pool") == 0)
		more_threads(40, works);
	for (unsigned i = 0; strcmp(what, "start") == 0 && i < 10; i++) {
		more_threads(2, blocked);
		map(64);
		usleep(50000);
	}
	if (strcmp(what, "fill") == 0)
		buffer = malloc((size_t)1 << 30);
	if (strcmp(what, "static") == 0)
		buffer = array;
	puts("ready");
	fflush(stdout);
	if (strcmp(what, "early") == 0) {
		early_peak(until / 10);
		usleep((useconds_t)(until * 3e5));
		map(150 * 16);
	}
	for (unsigned i = 0; strcmp(what, "kept") == 0 && i < 3; i++)
		kept_peak(until / 10);
	if (strcmp(what, "step") == 0) {
		sleep(3);
		map(23 * 16);
	}
	for (unsigned n = 0; seconds() - start < until;) {
		for (; n < (seconds() - start) * rate; n++) {
			if (what[0] == 't')
				more_threads(1, blocked);
			else if (what[0] == 'h')
				shrink();
			else if (buffer != NULL)
				fill();
			else
				map(1);
		}
		usleep(5000);
	}
	fflush(stdout);
	_exit(0);
}
