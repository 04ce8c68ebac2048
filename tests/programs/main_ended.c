/* SPDX-License-Identifier: MIT */
/* main_ended.c -- the first thread has ended, and the second; the third one goes on: it
 * touches 48 MiB of mappings, loses 43 blocks of 3,001 bytes, says "ready", and ends the
 * process when its standard input does. */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *volatile block;

__attribute__((noinline)) static void
lose(void)
{
	for (int i = 0; i < 43; i++) {
		block = malloc(3001);
		memset(block, 1, 3001);
	}
	block = NULL;
}

static void *
third(void *second)
{
	char c;

	pthread_join((pthread_t)second, NULL);
	usleep(300000); /* seep looks at it meanwhile */
	for (int i = 0; i < 48; i++) {
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(p, 1, 1 << 20);
	}
	lose();
	usleep(300000);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	exit(0);
}

static void *
second(void *first)
{
	pthread_t t;

	pthread_join((pthread_t)first, NULL);
	usleep(300000);
	pthread_create(&t, NULL, third, (void *)pthread_self());
	return NULL;
}

int
main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, second, (void *)pthread_self());
	pthread_exit(NULL);
}
