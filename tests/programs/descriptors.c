/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin -pthread */
/* descriptors.c -- which numbers a program's descriptors have, while another thread allocates and others fork.
 *
 *	descriptors [MS]   for MS (700) milliseconds each
 *
 * Prints how often a number was not the lowest free one, an open failed with one number left, errno was changed,
 * or a child did not end well; and the lowest number that is free once all are taken. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static long ms = 700;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1000 + (double)ts.tv_nsec / 1e6;
}

static void *
work(void *changed)
{
	while (!stop) {
		errno = 4711;
		free(malloc(100));
		if (errno != 4711)
			++*(long *)changed;
	}
	return NULL;
}

/* The number must be `wanted` each time. */
static void
open_and_close(int wanted, long *other, long *failed)
{
	for (double end = now() + (double)ms; now() < end;) {
		for (int i = 0; i < 100; i++) {
			int fd = open("/dev/null", O_RDONLY);

			*failed += fd < 0;
			*other += fd >= 0 && fd != wanted;
			if (fd >= 0)
				close(fd);
		}
	}
}

static long
forks(void)
{
	long bad = 0;

	for (double end = now() + (double)ms; now() < end;) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			alarm(20);
			for (int i = 0; i < 2000; i++)
				free(malloc(50));
			_exit(open("/dev/null", O_RDONLY) < 0);
		}
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	return bad;
}

int
main(int argc, char **argv)
{
	struct rlimit limit = {64, 64};
	long other = 0, failed = 0, changed = 0, bad, none = 0;
	int fd = open("/dev/null", O_RDONLY), last = fd;
	pthread_t t;

	if (argc > 1)
		ms = atol(argv[1]);
	for (int i = 0; i < 20000; i++) /* a first look, alone */
		free(malloc(100));
	pthread_create(&t, NULL, work, &changed);
	open_and_close(fd + 1, &other, &failed);
	bad = forks();
	printf("other numbers %ld, failed %ld, children %ld\n", other, failed, bad);
	setrlimit(RLIMIT_NOFILE, &limit);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	printf("last number %d, errno %d\n", last, errno);
	close(last);
	other = failed = 0;
	open_and_close(last, &other, &failed);
	printf("with one left: other numbers %ld, failed %ld\n", other, failed);
	stop = 1;
	pthread_join(t, NULL);
	for (fd = 3; fd < 5000; fd++)
		close(fd);
	open_and_close(3, &none, &failed);
	printf("all closed: other numbers %ld, failed %ld\n", none, failed);
	printf("errno changed %ld\n", changed);
	return 0;
}
