/* SPDX-License-Identifier: MIT */
/* series_steps.c -- holds known amounts at known places, one after the other, for tests of live bytes
 * over time.
 *
 * Each state is one allocation or free away from the one before, and lasts some 150 milliseconds in
 * which small blocks come and go, so that the recorder takes moments in it. Prints what each place had
 * in turn: "take_a 0 100003 200006 …". One of the blocks is another thread's; with an argument a child
 * is forked that has a place of its own, and the parent waits for it. */
/* libs: pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* without a tool the clock is looked at with every 64th event */
enum { BEATS = 75, BEAT_US = 2000, EVENTS = 64 };

static void *kept[8];

/* Moments are taken by events. */
NOINLINE static void
beat(void)
{
	for (int i = 0; i < BEATS * EVENTS; i++) {
		void *p = malloc(17);

		__asm__ volatile("" : "+r"(p));
		free(p);
		if (i % EVENTS == EVENTS - 1)
			usleep(BEAT_US);
	}
}

NOINLINE static void
take_a(int at)
{
	kept[at] = malloc(100003);
	beat();
}

NOINLINE static void
take_b(int at)
{
	kept[at] = malloc(50021);
	beat();
}

NOINLINE static void *
take_thread(void *at)
{
	*(void **)at = malloc(70001);
	beat();
	return NULL;
}

NOINLINE static void
take_child(int at)
{
	kept[at] = malloc(30011);
	beat();
}

static void
drop(int at)
{
	free(kept[at]);
	beat();
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	beat();
	take_a(0);
	take_b(1);
	take_a(2);
	drop(1);
	pthread_create(&thread, NULL, take_thread, &kept[3]);
	pthread_join(thread, NULL);
	beat();
	drop(0);
	take_b(4);
	if (argc > 1) {
		pid_t pid = fork();

		if (pid == 0) {
			beat();
			take_child(5);
			take_child(6);
			drop(5);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		beat();
	}
	drop(3);
	dprintf(1, "take_a 0 100003 200006 100003\n"
		   "take_b 0 50021 0 50021\n"
		   "take_thread 0 70001 0\n");
	if (argc > 1)
		dprintf(1, "take_child 0 30011 60022 30011 0\n");
	return 0;
}
