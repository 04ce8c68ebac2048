/* SPDX-License-Identifier: MIT */
/* gperf_held.c PREFIX [jump] -- a signal that comes while the first profile is written, and was held back: its handler
 * ends the program, or leaves by longjmp to where the second profile is made. 1 MB is allocated each time. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char first[4096];
static volatile sig_atomic_t jumps;
static sigjmp_buf back;
static void *volatile keep;

static void
on_alarm(int sig)
{
	const struct itimerval never = {{0, 0}, {0, 0}};

	(void)sig;
	if (access(first, F_OK) != 0)
		return;
	setitimer(ITIMER_REAL, &never, NULL);
	if (jumps)
		siglongjmp(back, 1);
	exit(0);
}

int
main(int argc, char **argv)
{
	const struct itimerval often = {{0, 50}, {0, 50}};

	snprintf(first, sizeof(first), "%s.0001.heap", argv[1]);
	jumps = argc > 2 && strcmp(argv[2], "jump") == 0;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	if (sigsetjmp(back, 1) == 0) {
		keep = malloc(1 << 20);
		for (;;)
			pause();
	}
	keep = malloc(1 << 20);
	return 0;
}
