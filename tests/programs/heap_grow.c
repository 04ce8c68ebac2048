/* SPDX-License-Identifier: MIT */
/* heap_grow.c -- a heap that changes by order: a word on a line says what happens next, "done" answers it.
 *
 *	hold	1,009 blocks of 200 bytes more on a list
 *	lose	307 blocks of 328 bytes
 *	churn	20 MiB in blocks of 1,000 bytes, all freed but the last
 *	brk	1 MiB is taken from brk by somebody who is not malloc, and holds the only pointer to a block of 4,444 */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item {
	struct item *next;
	char text[192];
};

struct table {
	char name[24];
	struct item *first; /* 24 bytes into it */
};

struct table *registry;
void *last_of_churn;
static int ready[2];

__attribute__((noinline)) static void *
block(size_t n)
{
	void *p = malloc(n);

	memset(p, 0x5a, n);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

__attribute__((noinline)) static void
hold(void)
{
	for (int i = 0; i < 1009; i++) {
		struct item *it = block(sizeof *it);

		it->next = registry->first;
		registry->first = it;
	}
}

__attribute__((noinline)) static void
lose(void)
{
	for (int i = 0; i < 307; i++)
		block(328);
}

__attribute__((noinline)) static void
churn(void)
{
	enum { N = 20 << 10 };
	void **all = block(N * sizeof *all);

	for (int i = 0; i < N; i++)
		all[i] = block(1000);
	last_of_churn = block(1000);
	for (int i = 0; i < N; i++)
		free(all[i]);
	memset(all, 0, N * sizeof *all);
	free(all);
}

__attribute__((noinline)) static void
take_brk(void)
{
	void **p = sbrk(1 << 20);

	if (p == (void *)-1)
		_exit(1);
	p[1000] = block(4444);
}

/* Keeps a block of 12,345 bytes by its stack alone. */
__attribute__((noinline)) static void
serve_with_buffer(void)
{
	void *volatile buffer = block(12345);

	if (write(ready[1], "x", 1) == 1)
		pause();
	free(buffer);
}

static void *
worker(void *ctx)
{
	(void)ctx;
	serve_with_buffer();
	return NULL;
}

__attribute__((noinline)) static void
scrub(void)
{
	volatile char dead[32768];

	for (size_t i = 0; i < sizeof dead; i++)
		dead[i] = 0;
#ifdef __x86_64__
	/* malloc and memset leave addresses in these. */
	__asm__ volatile(
		"pxor %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm2;"
		"movdqa %%xmm0, %%xmm3; movdqa %%xmm0, %%xmm4; movdqa %%xmm0, %%xmm5"
		:
		:
		: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
#endif
}

static void
say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

int
main(void)
{
	char line[64];
	pthread_t t;
	ssize_t n;

	registry = block(sizeof *registry);
	registry->first = NULL;
	hold();
	if (pipe(ready) < 0 || pthread_create(&t, NULL, worker, NULL) != 0 ||
	    read(ready[0], line, 1) != 1)
		return 1;
	scrub();
	say("ready\n");
	while ((n = read(STDIN_FILENO, line, sizeof line - 1)) > 0) {
		line[n] = '\0';
		if (strncmp(line, "hold", 4) == 0)
			hold();
		else if (strncmp(line, "lose", 4) == 0)
			lose();
		else if (strncmp(line, "churn", 5) == 0)
			churn();
		else if (strncmp(line, "brk", 3) == 0)
			take_brk();
		scrub();
		say("done\n");
	}
	_exit(0);
}
