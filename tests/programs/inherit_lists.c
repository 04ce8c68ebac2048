/* SPDX-License-Identifier: MIT */
/* inherit_lists.c -- a process, its forked child and that one's child, each of which loses blocks of its own and such
 * as it has from before its fork. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[23];

static __attribute__((noinline)) void *
make(size_t n)
{
	return malloc(n);
}

static __attribute__((noinline)) void
fill(int from, int to)
{
	for (int i = from; i < to; i++)
		kept[i] = make(101 + (size_t)i);
}

static void
wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		abort();
}

int
main(void)
{
	pid_t pid;

	puts("stdio has a buffer");
	fflush(stdout);
	fill(0, 13);
	kept[13] = strdup("seventeen letters");
	kept[3] = NULL;
	pid = fork();
	if (pid == 0) {
		free(kept[0]);
		fill(14, 19);
		kept[0] = kept[1] = kept[14] = NULL;
		pid = fork();
		if (pid == 0) {
			free(kept[15]);
			kept[15] = kept[2] = kept[16] = kept[13] = NULL;
			exit(0);
		}
		wait_for(pid);
		exit(0);
	}
	wait_for(pid);
	free(kept[4]);
	kept[4] = NULL;
	return 0;
}
