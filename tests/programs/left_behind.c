/* SPDX-License-Identifier: MIT */
/* left_behind.c -- what a process leaves, told apart from what others leave.
 *
 *	fork SIGNAL         one small block; a child that takes 4 large ones and ends; then the signal
 *	shell SIGNAL        one small block; five shells; then the signal
 *	late MS N BYTES     loses N blocks of BYTES evenly over MS milliseconds, beside blocks that
 *	                    come and go
 *	early MS N BYTES    the same blocks, all of them made at the start
 *	ring MS N BYTES     N blocks evenly over MS milliseconds, of which only the last quarter is held: each
 *	                    takes the place of an older one, which is freed */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept[4096];

__attribute__((noinline)) static void *
take_small(void)
{
	void *volatile p = malloc(1000);

	return p;
}

__attribute__((noinline)) static void *
take_large(size_t bytes)
{
	void *volatile p = malloc(bytes);

	return p;
}

__attribute__((noinline)) static void
come_and_go(void)
{
	for (int i = 0; i < 64; i++) {
		void *volatile p = malloc(4096);

		free(p);
	}
}

static void
die_after_child(int sig)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 1; i < 5; i++)
			kept[i] = take_large(900000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	raise(sig);
}

static void
die_after_shells(int sig)
{
	for (int i = 0; i < 5; i++) {
		if (system("true; x=$(true)") != 0)
			exit(3);
	}
	raise(sig);
}

static void
leave(int late, long ms, int n, size_t bytes)
{
	struct timespec pause = {ms / n / 1000, ms / n % 1000 * 1000000};

	for (int i = 0; !late && i < n; i++)
		kept[i] = take_large(bytes);
	for (int i = 0; i < n; i++) {
		if (late)
			kept[0] = take_large(bytes);
		come_and_go();
		nanosleep(&pause, NULL);
	}
}

static void
turn_over(long ms, int n, size_t bytes)
{
	struct timespec pause = {ms / n / 1000, ms / n % 1000 * 1000000};

	for (int i = 0; i < n; i++) {
		free(kept[i % (n / 4)]);
		kept[i % (n / 4)] = take_large(bytes);
		nanosleep(&pause, NULL);
	}
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "late") == 0 || strcmp(argv[1], "early") == 0) {
		if (argc != 5)
			return 2;
		leave(argv[1][0] == 'l', atol(argv[2]), atoi(argv[3]),
		      (size_t)atol(argv[4]));
		return 0;
	}
	if (strcmp(argv[1], "ring") == 0 && argc == 5) {
		turn_over(atol(argv[2]), atoi(argv[3]), (size_t)atol(argv[4]));
		return 0;
	}
	kept[0] = take_small();
	if (strcmp(argv[1], "fork") == 0)
		die_after_child(atoi(argv[2]));
	else
		die_after_shells(atoi(argv[2]));
	return 1;
}
