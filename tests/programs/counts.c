/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* counts.c -- every function of malloc's family, a known number of times, from eight
 * threads.
 *
 * Each thread allocates in each way, a prime number of blocks of sizes of their own;
 * then all meet, and every block but a few is freed: half by the thread that made it,
 * half by its neighbour. Calls that fail are made as well: they must not count.
 * counts.c says what each of its functions did, by what the functions of the allocator
 * underneath returned: realloc(p, 0) is a free where it gives NULL, and a resize to
 * nothing where it does not. It also names the allocator that it finds in the process.
 * With an argument pvalloc is left out: jemalloc has none, and libc's gives blocks
 * that jemalloc's free cannot take. */
#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREADS = 8,
	KEPT = 3, /* of each kind and thread, never freed */
	MOST = 128,
};

struct kind;
typedef void *maker(const struct kind *k, size_t bytes);

struct kind {
	maker *make;
	unsigned count;
	size_t bytes; /* of the first; each further one is a byte more */
	struct tally *tally;
};

struct block {
	void *at;
	size_t bytes;
	struct tally *tally;
};

static pthread_barrier_t all_made;
static struct block blocks[THREADS][16][MOST];

#define MAKER(function, call)                                                            \
	static struct tally function##_tally = {.name = #function};                      \
	static TRUTH_NOINLINE void *function(const struct kind *k, size_t bytes)         \
	{                                                                                \
		void *p = call;                                                          \
                                                                                         \
		if (p != NULL)                                                           \
			tally_alloc(k->tally, bytes);                                    \
		return p;                                                                \
	}

static void *
by_posix(size_t align, size_t bytes)
{
	void *p = NULL;

	return posix_memalign(&p, align, bytes) == 0 ? p : NULL;
}

MAKER(with_malloc, malloc(bytes))
MAKER(with_calloc, calloc(1, bytes))
MAKER(with_calloc_many, calloc(bytes, 1))
MAKER(with_realloc_null, realloc(NULL, bytes))
MAKER(with_reallocarray_null, reallocarray(NULL, bytes, 1))
MAKER(with_posix_memalign, by_posix(64, bytes))
MAKER(with_aligned_alloc, aligned_alloc(32, bytes))
MAKER(with_memalign, memalign(256, bytes))
MAKER(with_valloc, valloc(bytes))
MAKER(with_pvalloc, pvalloc(bytes))
MAKER(with_strdup, strdup("seventeen letters"))
MAKER(with_large, malloc(bytes))
MAKER(with_zero, malloc(bytes - bytes))

static struct kind kinds[] = {
	{with_malloc, 101, 17, &with_malloc_tally},
	{with_calloc, 89, 31, &with_calloc_tally},
	{with_calloc_many, 83, 41, &with_calloc_many_tally},
	{with_realloc_null, 79, 53, &with_realloc_null_tally},
	{with_reallocarray_null, 73, 67, &with_reallocarray_null_tally},
	{with_posix_memalign, 71, 71, &with_posix_memalign_tally},
	{with_aligned_alloc, 67, 83, &with_aligned_alloc_tally},
	{with_memalign, 61, 97, &with_memalign_tally},
	{with_valloc, 23, 103, &with_valloc_tally},
	{with_pvalloc, 19, 107, &with_pvalloc_tally},
	{with_strdup, 59, 0, &with_strdup_tally},
	{with_large, 13, 1000003, &with_large_tally},
	{with_zero, 11, 0, &with_zero_tally},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* strdup's size is its own, and so is that of malloc(0). */
static size_t
size_of(const struct kind *k, unsigned i)
{
	if (k->make == with_strdup)
		return sizeof("seventeen letters");
	return k->make == with_zero ? 0 : k->bytes + i;
}

/* ---- resizing: growing, shrinking, to nothing; where it fails the block stays ---- */

static struct tally resized = {.name = "resize"};

static TRUTH_NOINLINE void *
resize(void *p, size_t from, size_t to)
{
	void *q = realloc(p, to);

	if (q == NULL && to != 0)
		return p;
	if (p != NULL)
		tally_free(&resized, from);
	if (q != NULL)
		tally_alloc(&resized, to);
	return q;
}

static TRUTH_NOINLINE void
resize_free(void *p, size_t bytes)
{
	free(p);
	tally_free(&resized, bytes);
}

static void
resize_all(void)
{
	volatile size_t huge = SIZE_MAX / 2;

	for (unsigned i = 0; i < 29; i++) {
		void *p = resize(NULL, 0, 19 + i);

		p = resize(p, 19 + i, 1009 + i);
		p = resize(p, 1009 + i, 300007);
		p = resize(p, 300007, 1300021); /* where glibc uses mremap */
		p = resize(p, 1300021, 37);
		p = resize(p, 37, huge); /* fails */
		if (reallocarray(p, huge, 3) != NULL)
			truth_say("reallocarray did not fail\n");
		if (i % 2 == 0) {
			resize_free(p, 37);
			continue;
		}
		p = resize(p, 37, 0);
		if (p != NULL)
			resize_free(p, 0);
	}
}

/* ---- what fails counts for nothing ---- */

static void
fails(const char *what, void *p)
{
	if (p != NULL)
		truth_say("%s did not fail\n", what);
}

static TRUTH_NOINLINE void
fail_all(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	static bool told;
	void *p = &p;

	for (unsigned i = 0; i < 7; i++) {
		int codes[4];

		errno = 0;
		fails("malloc", malloc(huge));
		codes[0] = errno;
		fails("calloc", calloc(huge, 3));
		codes[1] = errno;
		fails("realloc", realloc(NULL, huge));
		codes[2] = errno;
		fails("memalign", memalign(64, huge));
		fails("aligned_alloc", aligned_alloc(64, huge));
		codes[3] = errno;
		if (posix_memalign(&p, 3, 8) != EINVAL || p != &p)
			truth_say("posix_memalign took 3 for a power of two\n");
		if (posix_memalign(&p, 64, huge) != ENOMEM)
			truth_say("posix_memalign did not fail\n");
		errno = 4711;
		free(NULL);
		if (errno != 4711)
			truth_say("free(NULL) changed errno\n");
		if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
			truth_say("errno %d %d %d %d\n", codes[0], codes[1], codes[2],
				  codes[3]);
	}
}

static void
free_one(const struct block *b)
{
	free(b->at);
	tally_free(b->tally, b->bytes);
}

static void *
thread(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, other = (me + 1) % THREADS;

	errno = 4711;
	for (unsigned k = 0; k < KINDS; k++) {
		for (unsigned i = 0; i < kinds[k].count; i++) {
			size_t n = size_of(&kinds[k], i);

			blocks[me][k][i] = (struct block){kinds[k].make(&kinds[k], n), n,
							  kinds[k].tally};
		}
	}
	if (me == 0)
		truth_say("errno %d after calls that succeeded\n", errno);
	resize_all();
	fail_all();
	pthread_barrier_wait(&all_made);
	errno = 4711;
	for (unsigned k = 0; k < KINDS; k++) {
		for (unsigned i = KEPT; i < kinds[k].count; i += 2)
			free_one(&blocks[me][k][i]);
		for (unsigned i = KEPT + 1; i < kinds[k].count; i += 2)
			free_one(&blocks[other][k][i]);
	}
	if (errno != 4711)
		truth_say("free changed errno\n");
	return NULL;
}

static int
name_engine(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)bytes, (void)arg;
	if (slash != NULL && strstr(slash, "malloc") != NULL)
		truth_say("engine %s\n", slash + 1);
	return 0;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	(void)argv;
	for (unsigned k = 0; k < KINDS && argc > 1; k++)
		if (kinds[k].make == with_pvalloc)
			kinds[k].count = 0;
	dl_iterate_phdr(name_engine, NULL);
	pthread_barrier_init(&all_made, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned k = 0; k < KINDS; k++)
		truth_tell(kinds[k].tally);
	truth_tell(&resized);
	truth_say("expect in=fail_all allocs=0\n");
	return 0;
}
