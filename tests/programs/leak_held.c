/* SPDX-License-Identifier: MIT */
/* leak_held.c -- loses 11 blocks of 455 bytes, keeps others on the stacks of two waiting threads, and waits:
 *
 *	leak_held READY GO [busy]
 *
 * makes the file READY and goes on when GO exists. With `busy`, four more threads allocate and free meanwhile. Then it says that main is over, and a destructor says that it
 * ran: neither may get lost. */
/* cflags: -O1 -g -pthread */
#include "leak_cases.h"

#include <fcntl.h>
#include <pthread.h>

static void *volatile kept;
static volatile int started;

static void *
waits(void *arg)
{
	void *volatile mine = malloc(461);

	(void)arg;
	leak_hide((void *)&mine);
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
	return mine;
}

/* Every block is on its stack, or in a register for a moment. */
static void *
churns(void *arg)
{
	void *volatile slots[64] = {NULL};
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (;;) {
		unsigned k = (seed = seed * 1103515245u + 12345u) >> 10 & 63;

		free(slots[k]);
		slots[k] = NULL;
		slots[k] = calloc(1, 16 + (seed >> 4 & 511));
	}
	return NULL;
}

__attribute__((destructor)) static void
last(void)
{
	leak_say("", "destructor");
}

__attribute__((noinline)) static void
lose(void)
{
	for (int i = 0; i < 12; i++)
		kept = malloc(455);
}

int
main(int argc, char **argv)
{
	pthread_t t;

	(void)leak_first;
	if (argc < 3)
		return 2;
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, waits, NULL);
	for (uintptr_t i = 0; argc > 3 && i < 4; i++)
		pthread_create(&t, NULL, churns, (void *)(i + 1));
	lose();
	leak_wipe();
	while (started < 2)
		usleep(1000);
	usleep(20000); /* until they wait */
	close(open(argv[1], O_CREAT | O_WRONLY, 0600));
	while (access(argv[2], F_OK) != 0)
		usleep(5000);
	leak_say("", "main is over");
	return 0;
}
