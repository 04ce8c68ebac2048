/* SPDX-License-Identifier: MIT */
/* over_time.c -- a process that holds what it is told to, step by step, for tests of what reports say
 * about points in time.
 *
 * Reads a command a line and answers each with "ok":
 *
 *	take N BYTES	allocates N blocks in take_more(), and touches them
 *	drop N		frees the oldest N
 *	threads N BYTES	N threads allocate BYTES each in take_thread(), and stay
 *	exec PATH	becomes that program
 *	die		kills itself with SIGKILL
 *	grow BYTES	takes blocks of BYTES until something ends it; no answer
 *
 * At the end of its input it leaves. Blocks stay reachable. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct block {
	struct block *next;
};

static struct block *first, *last;

NOINLINE static void
take_more(size_t bytes)
{
	struct block *b = malloc(bytes);

	if (b == NULL)
		exit(3);
	memset(b, 0, bytes);
	if (last != NULL)
		last->next = b;
	else
		first = b;
	last = b;
}

NOINLINE static void
drop(long n)
{
	while (n-- > 0 && first != NULL) {
		struct block *gone = first;

		first = gone->next;
		if (first == NULL)
			last = NULL;
		free(gone);
	}
}

NOINLINE static void *
take_thread(void *bytes)
{
	void *volatile p = malloc((size_t)bytes);

	memset(p, 0, (size_t)bytes);
	for (;;)
		pause();
	return p;
}

static void
threads(long n, size_t bytes)
{
	while (n-- > 0) {
		pthread_t t;

		if (pthread_create(&t, NULL, take_thread, (void *)bytes) != 0)
			exit(3);
	}
	usleep(100000);
}

int
main(void)
{
	char line[4096], word[32], path[4096];
	long n, bytes;

	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (sscanf(line, "take %ld %ld", &n, &bytes) == 2) {
			while (n-- > 0)
				take_more((size_t)bytes);
		} else if (sscanf(line, "drop %ld", &n) == 1) {
			drop(n);
		} else if (sscanf(line, "threads %ld %ld", &n, &bytes) == 2) {
			threads(n, (size_t)bytes);
		} else if (sscanf(line, "exec %4095s", path) == 1) {
			execl(path, path, (char *)NULL);
			exit(3);
		} else if (sscanf(line, "grow %ld", &bytes) == 1) {
			for (;;)
				take_more((size_t)bytes);
		} else if (sscanf(line, "%31s", word) == 1 && strcmp(word, "die") == 0) {
			raise(SIGKILL);
		}
		puts("ok");
	}
	return 0;
}
