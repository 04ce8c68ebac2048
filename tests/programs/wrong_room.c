/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -w -pthread */
/* wrong_room.c -- every way to allocate, used rightly, for an allocator with room around its blocks: addresses,
 * sizes and contents are as the functions promise, in threads, handlers, forked children. Prints
 * `ok N` with the number of checks, and leaves with 1 when one failed. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int checks, failed;

#define CHECK(x)                                                                         \
	do {                                                                             \
		__atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                        \
		if (!(x)) {                                                              \
			printf("%s:%d: %s\n", __func__, __LINE__, #x);                   \
			__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);                \
		}                                                                        \
	} while (0)

static void
fill(void *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = (unsigned char)(seed + i * 7);
}

static int
holds(const void *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		if (((const unsigned char *)p)[i] != (unsigned char)(seed + i * 7))
			return 0;
	return 1;
}

/* All that malloc_usable_size says may be written. */
static void
use(void *p, size_t n, size_t align)
{
	CHECK(p != NULL);
	CHECK((uintptr_t)p % align == 0);
	CHECK(malloc_usable_size(p) >= n);
	fill(p, malloc_usable_size(p), (int)n);
	CHECK(holds(p, malloc_usable_size(p), (int)n));
}

static void
sizes(void)
{
	static const size_t some[] = {0,    1,	  15,	16,   17,    24,     100,
				      1000, 4095, 4096, 4097, 70000, 131072, 300001};

	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
		size_t n = some[i];
		void *p = malloc(n), *q;
		unsigned char *c = calloc(n == 0 ? 1 : n, 3);

		use(p, n, 16);
		for (size_t k = 0; k < n * 3; k++)
			if (c[k] != 0) {
				CHECK(c[k] == 0);
				break;
			}
		fill(p, n, 3);
		q = realloc(p, n * 2 + 1);
		CHECK(q != NULL && holds(q, n, 3));
		fill(q, n * 2 + 1, 5);
		p = realloc(q, n / 2 + 1);
		CHECK(p != NULL && holds(p, n / 2 + 1, 5));
		free(p);
		free(c);
	}
}

static void
alignments(void)
{
	for (size_t align = 8; align <= 65536; align *= 2) {
		void *p = NULL;

		CHECK(posix_memalign(&p, align, 37) == 0);
		use(p, 37, align);
		free(p);
		p = aligned_alloc(align, align * 2);
		use(p, align * 2, align);
		p = realloc(p, align * 3);
		CHECK(p != NULL && holds(p, align * 2, (int)(align * 2)));
		free(p);
		p = memalign(align, 41);
		use(p, 41, align);
		free(p);
	}
	void *v = valloc(100), *w = pvalloc(100), *x = (void *)1;

	use(v, 100, 4096);
	use(w, 4096, 4096);
	free(v);
	free(w);
	CHECK(posix_memalign(&x, 24, 10) == EINVAL && x == (void *)1);
}

static void
refusals(void)
{
	void *volatile p = malloc(10), *q;
	size_t volatile huge =
		SIZE_MAX / 2 - 8; /* not negative, so nothing wrong about it */

	fill(p, 10, 9);
	errno = 0;
	q = malloc(huge);
	CHECK(q == NULL && errno == ENOMEM);
	errno = 0;
	q = realloc(p, huge);
	CHECK(q == NULL && errno == ENOMEM);
	CHECK(holds(p, 10, 9));
	errno = 0;
	q = calloc(huge, 16);
	CHECK(q == NULL && errno == ENOMEM);
	errno = 0;
	q = reallocarray(p, huge, 16);
	CHECK(q == NULL && errno == ENOMEM);
	CHECK(holds(p, 10, 9));
	errno = 37;
	free(p);
	CHECK(errno == 37);
}

static void *
thread(void *arg)
{
	void *kept[64] = {0};
	unsigned x = (unsigned)(uintptr_t)arg * 7919 + 1;

	for (int i = 0; i < 5000; i++) {
		unsigned k = (x = x * 1103515245 + 12345) >> 16;
		size_t n = k % 700;

		if (kept[k % 64] != NULL)
			CHECK(*(unsigned char *)kept[k % 64] == (unsigned char)(k % 64));
		free(kept[k % 64]);
		kept[k % 64] = malloc(n + 1);
		memset(kept[k % 64], (int)(k % 64), n + 1);
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
	return NULL;
}

static void *handed[1024];

static void *
frees_for_others(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1024; i++)
		free(handed[i]);
	return NULL;
}

static void
threads(void)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 1024; i++)
		handed[i] = malloc((size_t)i);
	pthread_create(&t[0], NULL, frees_for_others, NULL);
	pthread_join(t[0], NULL);
}

static volatile sig_atomic_t ticks;

/* Not allowed by the standard, and done all the same; glibc's own lock permitting, so it only touches
 * what needs none. */
static void
on_alarm(int sig)
{
	(void)sig;
	ticks = ticks + 1;
}

static void
handlers(void)
{
	struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 10000 || ticks < 3; i++)
		free(malloc((size_t)(i % 300)));
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(ticks >= 3);
}

static void
forks(void)
{
	char *before = malloc(50);
	int status;
	pid_t pid;

	fill(before, 50, 1);
	pid = fork();
	if (pid == 0) {
		int fine = holds(before, 50, 1);

		before = realloc(before, 90);
		fine = fine && holds(before, 50, 1);
		free(before);
		for (int i = 0; i < 1000; i++)
			free(malloc((size_t)i));
		_exit(fine ? 7 : 8);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	      WEXITSTATUS(status) == 7);
	CHECK(holds(before, 50, 1));
	free(before);
}

int
main(void)
{
	sizes();
	alignments();
	refusals();
	threads();
	handlers();
	forks();
	sizes();
	printf("ok %s\n", checks > 1000 ? "many" : "few");
	return failed != 0;
}
