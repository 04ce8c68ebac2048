/* SPDX-License-Identifier: MIT */
/* exit_age.c -- stops its parent as the last thing before it ends, and says at which age
 * in milliseconds that was. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct timespec start;
static void *volatile kept;

static void
last(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%ld\n", (long)(now.tv_sec - start.tv_sec) * 1000 +
				(now.tv_nsec - start.tv_nsec) / 1000000);
	fflush(stdout);
	kill(getppid(), SIGSTOP);
}

int
main(void)
{
	clock_gettime(CLOCK_MONOTONIC, &start);
	atexit(last);
	kept = malloc(4099);
	return 0;
}
