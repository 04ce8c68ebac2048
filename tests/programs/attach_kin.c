/* SPDX-License-Identifier: MIT */
/* attach_kin.c -- a process that forks while it is attached to.
 *
 * Each line of input is "COUNT MS": it forks COUNT children that live for MS milliseconds and allocate meanwhile,
 * allocates itself as long as the last one lives, and says "done COUNT BLOCKS". At the end of input it waits for nobody
 * and ends with status 0, or 1 if a child did not end as it should. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_BLOCKS = 31, CHILD_STATUS = 7 };

static void *volatile last;

static void
nap(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static __attribute__((noinline)) void
make_child(void)
{
	last = malloc(3001);
}

static __attribute__((noinline)) void
make_parent(void)
{
	last = malloc(4001);
}

static void
child(long ms)
{
	for (int i = 0; i < CHILD_BLOCKS; i++) {
		make_child();
		nap(ms / CHILD_BLOCKS);
	}
	_exit(CHILD_STATUS);
}

int
main(void)
{
	char line[64];
	int bad = 0;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *end;
		long count = strtol(line, &end, 10), ms = strtol(end, NULL, 10),
		     blocks = 0;
		int left = 0, status;

		for (long i = 0; i < count; i++) {
			if (fork() == 0)
				child(ms);
			left++;
		}
		while (left > 0) {
			make_parent();
			blocks++;
			nap(1);
			while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
				bad += !WIFEXITED(status) ||
				       WEXITSTATUS(status) != CHILD_STATUS;
				left--;
			}
		}
		printf("done %ld %ld\n", count, blocks);
		fflush(stdout);
	}
	return bad != 0;
}
