/* SPDX-License-Identifier: MIT */
/* attach_steps.c -- a process that is attached to while it runs, and tells what it did since.
 *
 * Before it says "ready" it allocates what nobody may count. Then, for each line that it reads, it does
 * a round of allocations of every kind in functions of known names, and says "done". At the end of
 * its input it tells the truth of all rounds and leaves.
 *
 *	attach_steps [THREADS [PLUGIN.so FUNCTION]]
 *
 * With THREADS each round is also done by so many new threads; with PLUGIN that library is loaded in
 * the first round, and its FUNCTION called in each. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

enum { KEPT = 4096 };

static void *kept[KEPT];
static unsigned nkept;
static struct tally mallocs = {.name = "make_malloc"};
static struct tally callocs = {.name = "make_calloc"};
static struct tally reallocs = {.name = "make_realloc"};
static struct tally aligned = {.name = "make_aligned"};
static struct tally threaded = {.name = "make_threaded"};
static struct tally deep = {.name = "make_deep"};

TRUTH_NOINLINE static void
keep(void *p)
{
	kept[__atomic_fetch_add(&nkept, 1, __ATOMIC_RELAXED) % KEPT] = p;
}

TRUTH_NOINLINE static void
make_malloc(void)
{
	for (int i = 0; i < 23; i++) {
		keep(malloc(47));
		tally_alloc(&mallocs, 47);
	}
	for (int i = 0; i < 11; i++) {
		void *volatile p = malloc(1009);

		tally_alloc(&mallocs, 1009);
		free(p);
		tally_free(&mallocs, 1009);
	}
}

TRUTH_NOINLINE static void
make_calloc(void)
{
	for (int i = 0; i < 7; i++) {
		keep(calloc(13, 17));
		tally_alloc(&callocs, 221);
	}
}

TRUTH_NOINLINE static void
make_realloc(void)
{
	char *volatile p = realloc(NULL, 31);

	tally_alloc(&reallocs, 31);
	for (size_t n = 100; n < 300000; n *= 3) {
		p = realloc(p, n);
		tally_alloc(&reallocs, n);
		tally_free(&reallocs, n == 100 ? 31 : n / 3);
	}
	keep(p);
}

TRUTH_NOINLINE static void
make_aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 193) != 0)
		_exit(97);
	keep(p);
	tally_alloc(&aligned, 193);
	keep(memalign(8, 61)); /* glibc hands this on to malloc */
	tally_alloc(&aligned, 61);
	keep(aligned_alloc(128, 256));
	tally_alloc(&aligned, 256);
	keep(valloc(4099));
	tally_alloc(&aligned, 4099);
}

TRUTH_NOINLINE static void
make_deep(int levels)
{
	volatile char pad[96];

	pad[0] = (char)levels;
	if (levels > 0) {
		make_deep(levels - 1);
	} else {
		keep(malloc(83));
		tally_alloc(&deep, 83);
	}
	pad[1] = pad[0];
}

TRUTH_NOINLINE static void *
make_threaded(void *arg)
{
	for (int i = 0; i < 5; i++) {
		keep(malloc(71));
		tally_alloc(&threaded, 71);
	}
	return arg;
}

static void
round_of_threads(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, make_threaded, NULL) != 0 ||
		    pthread_join(t, NULL) != 0)
			_exit(98);
	}
}

int
main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	void (*plugin)(unsigned) = NULL;
	char line;

	for (int i = 0; i < 500; i++)
		keep(malloc(5003));
	truth_say("ready\n");
	while (read(0, &line, 1) == 1) {
		if (line != '\n')
			continue;
		if (argc > 3 && plugin == NULL) {
			void *so = dlopen(argv[2], RTLD_NOW);

			if (so == NULL)
				_exit(96);
			*(void **)&plugin = dlsym(so, argv[3]);
		}
		make_malloc();
		make_calloc();
		make_realloc();
		make_aligned();
		make_deep(40);
		round_of_threads(threads);
		if (plugin != NULL)
			plugin(3);
		truth_say("done\n");
	}
	truth_tell(&mallocs);
	truth_tell(&callocs);
	truth_tell(&reallocs);
	truth_tell(&aligned);
	truth_tell(&deep);
	if (threads > 0)
		truth_tell(&threaded);
	return 0;
}
