/* SPDX-License-Identifier: MIT */
/* past_hooks.c -- allocates past whoever stands in front of malloc: past_hooks WAY WHAT [LIBRARY].
 *
 * WAY: "address" calls libc's functions by their addresses, "names" by glibc's other names of them, "deepbind" through a
 * LIBRARY that was loaded with RTLD_DEEPBIND, "plain" without that, "space" through one with a libc of its own.
 *
 * WHAT: "lose" loses such blocks, "tidy" frees them in the same way, "give" frees them with free, "take" frees blocks of
 * malloc's in that way, "hold" keeps blocks of malloc's only in such a block, "renew" lets them take the memory of
 * aligned blocks that were freed in that way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, BYTES = 1000 };

extern void *__libc_malloc(size_t n);
extern void __libc_free(void *p);

static void *(*their_malloc)(size_t);
static void (*their_free)(void *);
static void **holder; /* of nothing that the hooks saw */
static void *volatile sink;

static void
find(const char *way, const char *library)
{
	const char *names[] = {"lib_malloc", "lib_free"};
	void *handle;

	if (strcmp(way, "names") == 0) {
		their_malloc = __libc_malloc;
		their_free = __libc_free;
		return;
	}
	if (strcmp(way, "address") == 0) {
		handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		names[0] = "malloc";
		names[1] = "free";
	} else if (strcmp(way, "space") == 0) {
		handle = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
	} else {
		handle = dlopen(
			library,
			RTLD_NOW | (strcmp(way, "deepbind") == 0 ? RTLD_DEEPBIND : 0));
	}
	if (handle == NULL)
		exit(9);
	their_malloc = (void *(*)(size_t))dlsym(handle, names[0]);
	their_free = (void (*)(void *))dlsym(handle, names[1]);
	if (their_malloc == NULL || their_free == NULL)
		exit(9);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	void *mine[N];

	find(argc > 1 ? argv[1] : "", argc > 3 ? argv[3] : "");
	if (strcmp(what, "hold") == 0) {
		holder = their_malloc(N * sizeof *holder);
		for (int i = 0; i < N; i++)
			holder[i] = malloc(BYTES);
		return 0;
	}
	for (int i = 0; i < N; i++) {
		if (strcmp(what, "renew") == 0) {
			mine[i] = aligned_alloc(16, BYTES);
			sink = mine[i];
			their_free(mine[i]);
			mine[i] = their_malloc(BYTES);
			sink = mine[i];
			mine[i] = realloc(mine[i], 2 * BYTES);
			free(mine[i]);
			continue;
		}
		mine[i] = strcmp(what, "take") == 0 ? malloc(BYTES) : their_malloc(BYTES);
		sink = mine[i];
	}
	for (int i = 0; i < N && strcmp(what, "renew") != 0; i++) {
		if (strcmp(what, "give") == 0)
			free(mine[i]);
		else if (strcmp(what, "lose") != 0)
			their_free(mine[i]);
	}
	memset(mine, 0, sizeof mine);
	sink = *mine;
	return 0;
}
