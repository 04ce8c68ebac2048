/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* modules.c -- libraries loaded, used and unloaded in turn, one at the other's
 * addresses.
 *
 *	modules ROUNDS PLUGIN NAME PLUGIN NAME …
 *
 * In each round each plugin (plugin.c) is opened, used as often as its place in the
 * list says, and closed, while a thread allocates without pause. Says what each must
 * have done, and how many times a plugin came to lie where another had been. */
#define _GNU_SOURCE
#include "truth.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static struct tally beside = {.name = "make_beside"};
static bool stop;

static TRUTH_NOINLINE void
make_beside(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&beside, n);
	free(p);
	tally_free(&beside, n);
}

static void *
thread(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		make_beside(29);
	return NULL;
}

static void
tell(const char *name, unsigned rounds, unsigned uses)
{
	unsigned long bytes = 13;

	for (unsigned i = 0; i < uses; i++)
		bytes += 17 + i;
	truth_say("expect in=%s_begin allocs=%u frees=%u allocated_bytes=%u\n", name,
		  rounds * 5, rounds * 3, rounds * 5 * 31);
	truth_say(
		"expect in=%s_make allocs=%u frees=%u allocated_bytes=%lu live_bytes=%u\n",
		name, rounds * (uses + 1), rounds * uses, rounds * bytes, rounds * 13);
	truth_say("expect in=%s_end allocs=%u frees=0 allocated_bytes=%u\n", name, rounds,
		  rounds * 37);
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0, same = 0;
	uintptr_t last = 0;
	pthread_t id;

	pthread_create(&id, NULL, thread, NULL);
	for (unsigned i = 0; i < rounds; i++) {
		for (int k = 2; k + 1 < argc; k += 2) {
			struct link_map *handle = dlopen(argv[k], RTLD_NOW);
			void (*use)(unsigned);

			if (handle == NULL) {
				truth_say("%s\n", dlerror());
				return 1;
			}
			use = (void (*)(unsigned))dlsym(handle, "plugin_use");
			use((unsigned)k + 3);
			same += handle->l_addr == last;
			last = handle->l_addr;
			dlclose(handle);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(id, NULL);
	for (int k = 2; k + 1 < argc; k += 2)
		tell(argv[k + 1], rounds, (unsigned)k + 3);
	truth_tell(&beside);
	truth_say("same place %u\n", same);
	return 0;
}
