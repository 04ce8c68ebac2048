/* SPDX-License-Identifier: MIT */
/* jem_threads.c -- who allocated what, when another thread frees it.
 *
 * Two threads, one after the other, allocate 23 blocks of 1,013 and 29 of 2,039 bytes at the same
 * place; the second is named "second one" by thread.prof.name, and leaves three blocks of 3,001
 * bytes out by thread.prof.active. The first thread of the process frees 9 of the first one's and
 * keeps one block of 4,093 of its own. A profile is written while the second still runs:
 *
 *	first thread 1 block, 4,093 bytes; thread 1: 14, 14,182; thread 2: 29, 59,131 */
/* cflags: -O1 -g -pthread */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int (*ctl)(const char *, void *, size_t *, void *, size_t);
static void *blocks[2][32];
static sem_t done, go;

__attribute__((noinline)) static void *
make(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

static void *
first(void *arg)
{
	for (int i = 0; i < 23; i++)
		blocks[0][i] = make(1013);
	return arg;
}

static void *
second(void *arg)
{
	const char *name = "second one";
	bool off = false, was = false;
	size_t bytes = sizeof(was);
	int error;

	error = ctl("thread.prof.name", NULL, NULL, &name, sizeof(name));
	for (int i = 0; i < 29; i++)
		blocks[1][i] = make(2039);
	error |= ctl("thread.prof.active", &was, &bytes, &off, sizeof(off));
	for (int i = 29; i < 32; i++)
		blocks[1][i] = make(3001);
	printf("second: %d, was %s\n", error, was ? "on" : "off");
	sem_post(&done);
	sem_wait(&go);
	return arg;
}

int
main(void)
{
	void *own = make(4093);
	pthread_t t;

	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (ctl == NULL)
		return 1;
	setvbuf(stdout, NULL, _IONBF, 0);
	sem_init(&done, 0, 0);
	sem_init(&go, 0, 0);
	pthread_create(&t, NULL, first, NULL);
	pthread_join(t, NULL);
	for (int i = 0; i < 9; i++)
		free(blocks[0][i]);
	pthread_create(&t, NULL, second, NULL);
	sem_wait(&done);
	printf("dump: %d\n", ctl("prof.dump", NULL, NULL, NULL, 0));
	sem_post(&go);
	pthread_join(t, NULL);
	free(own);
	return 0;
}
