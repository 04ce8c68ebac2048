/* SPDX-License-Identifier: MIT */
/* lose_moments.c -- loses blocks of 331 + n bytes at a moment that it prints: `WAY MS`
 * loses them MS milliseconds after its start, by the way of that name, and ends as much
 * later.
 *
 * "lost FROM TO BYTES BLOCKS PID": nanoseconds of CLOCK_REALTIME right before and after
 * the last pointer went; what was lost then of its process. */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct node {
	struct node *next;
	char more[323];
};

static void *volatile root[64];
static useconds_t wait_us;

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Overwrites what earlier calls have left below. */
static void __attribute__((noinline)) wipe(void)
{
	volatile char dead[16384];

	for (size_t i = 0; i < sizeof dead; i++)
		dead[i] = 0;
}

static void
told(uint64_t from, unsigned bytes, unsigned blocks)
{
	wipe();
	printf("lost %llu %llu %u %u %d\n", (unsigned long long)from,
	       (unsigned long long)now(), bytes, blocks, (int)getpid());
	fflush(stdout);
}

static void __attribute__((noinline)) fill(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		root[i] = malloc(331 + i);
}

static void __attribute__((noinline)) drop(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		root[i] = NULL;
}

static struct node *__attribute__((noinline)) list(unsigned n, struct node *last)
{
	struct node *head = last;

	for (unsigned i = 0; i < n; i++) {
		struct node *x = malloc(sizeof *x);

		x->next = head;
		head = x;
	}
	return head;
}

/* ---- the ways ---- */

static void
overwritten(void)
{
	uint64_t t;

	fill(3);
	wipe();
	usleep(wait_us);
	t = now();
	drop(0, 3);
	told(t, 331 + 332 + 333, 3);
}

static void
list_head(void)
{
	uint64_t t;

	root[0] = list(5, NULL);
	wipe();
	usleep(wait_us);
	t = now();
	drop(0, 1);
	told(t, 5 * sizeof(struct node), 5);
}

static void
cycle(void)
{
	struct node *a = list(1, NULL);
	uint64_t t;

	a->next = list(3, a);
	root[0] = a;
	a = NULL;
	wipe();
	usleep(wait_us);
	t = now();
	drop(0, 1);
	told(t, 4 * sizeof(struct node), 4);
}

static void __attribute__((noinline)) fill_table(void)
{
	void **table = calloc(7, sizeof *table);

	for (unsigned i = 0; i < 7; i++)
		table[i] = malloc(331);
	root[0] = table;
}

static void __attribute__((noinline)) free_table(void)
{
	free(root[0]);
	root[0] = NULL;
}

static void
container_freed(void)
{
	uint64_t t;

	fill_table();
	wipe();
	usleep(wait_us);
	t = now();
	free_table();
	told(t, 7 * 331, 7);
}

static void *
holds_on_stack(void *arg)
{
	void *volatile mine[2] = {malloc(331), malloc(332)};

	(void)arg;
	usleep(wait_us);
	return mine[0] == mine[1] ? NULL : arg;
}

static void
thread_ended(void)
{
	pthread_t th;
	uint64_t t = now() + (uint64_t)wait_us * 1000;

	pthread_create(&th, NULL, holds_on_stack, NULL);
	pthread_join(th, NULL);
	told(t, 331 + 332, 2);
}

static void
unmapped(void)
{
	void *volatile *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t t;

	for (unsigned i = 0; i < 11; i++)
		page[i] = malloc(331);
	wipe();
	usleep(wait_us);
	t = now();
	munmap((void *)page, 8192);
	told(t, 11 * 331, 11);
}

/* The address of a block that was freed before: it is the second block that is lost. */
static void
address_again(void)
{
	uintptr_t first;
	uint64_t t;

	fill(1);
	first = ~(uintptr_t)root[0];
	usleep(wait_us / 2);
	free(root[0]);
	fill(1);
	if (~(uintptr_t)root[0] != first)
		puts("another address");
	wipe();
	usleep(wait_us / 2);
	t = now();
	drop(0, 1);
	told(t, 331, 1);
}

/* Allocated after the check before: lost as soon as it is there. */
static void
at_birth(void)
{
	uint64_t t;

	usleep(wait_us);
	t = now();
	fill(2);
	drop(0, 2);
	told(t, 331 + 332, 2);
}

static void
shrunk(void)
{
	uint64_t t;

	fill(0);
	root[1] = list(2, NULL);
	root[0] = malloc(sizeof(void *) * 100);
	memcpy(root[0], (const void *)&root[1], sizeof(void *));
	root[1] = NULL;
	wipe();
	usleep(wait_us);
	t = now();
	memset(root[0], 0, sizeof(void *));
	told(t, 2 * sizeof(struct node), 2);
}

static void
in_child(void)
{
	int pid = fork();

	if (pid == 0) {
		overwritten();
		usleep(wait_us);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	wait_us = 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*lose)(void);
	} ways[] = {{"overwritten", overwritten},
		    {"list_head", list_head},
		    {"cycle", cycle},
		    {"container_freed", container_freed},
		    {"thread_ended", thread_ended},
		    {"unmapped", unmapped},
		    {"address_again", address_again},
		    {"at_birth", at_birth},
		    {"shrunk", shrunk},
		    {"in_child", in_child}};

	wait_us = argc > 2 ? (useconds_t)atoi(argv[2]) * 1000 : 500000;
	for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].lose();
	}
	usleep(wait_us);
	return 0;
}
