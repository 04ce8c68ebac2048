/* SPDX-License-Identifier: MIT */
/* vfork_foreign.c -- starts a program 211 times by vfork and exec and tells by how many pages it
 * has grown. argv[1] is the program, one that a preloaded library cannot follow. */
/* cflags: -O1 -g */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long
pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long n = -1;

	if (f == NULL || fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f != NULL)
		fclose(f);
	return n;
}

static int
start(const char *program)
{
	pid_t child = vfork();
	int status = -1;

	if (child == 0) {
		execl(program, program, "x", (char *)NULL);
		_exit(99);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : -1;
}

int
main(int argc, char **argv)
{
	long before;
	int sum = 0;

	if (argc < 2)
		return 2;
	start(argv[1]); /* whatever the first one costs */
	before = pages();
	for (int i = 0; i < 211; i++)
		sum += start(argv[1]);
	printf("grown %ld sum %d\n", pages() - before, sum);
	return 0;
}
