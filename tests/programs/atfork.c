/* SPDX-License-Identifier: MIT */
/* atfork.c -- blocks made and freed by handlers of pthread_atfork.
 *
 *	atfork FORKS
 *
 * The prepare handler makes a block, which parent and child free, each its own; the child's handler makes 7 blocks that
 * the child frees when it ends. The parent loses 29 blocks of 41 bytes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN = 7, LOST = 29 };

static void *made, *own[OWN], *volatile lost;

static void
before(void)
{
	made = malloc(200);
}

static void
in_parent(void)
{
	free(made);
}

static void
in_child(void)
{
	free(made);
	for (int i = 0; i < OWN; i++)
		own[i] = malloc(1000);
}

int
main(int argc, char **argv)
{
	int forks = argc > 1 ? atoi(argv[1]) : 11, bad = 0;

	pthread_atfork(before, in_parent, in_child);
	for (int i = 0; i < LOST; i++)
		lost = malloc(41);
	lost = NULL;
	for (int i = 0; i < forks; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			for (int k = 0; k < OWN; k++)
				free(own[k]);
			exit(0);
		}
		bad += waitpid(pid, &status, 0) != pid || status != 0;
	}
	printf("forks %d bad %d\n", forks, bad);
	return 0;
}
