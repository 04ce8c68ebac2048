/* SPDX-License-Identifier: MIT */
/* past_hooks.c -- allocates past whoever stands in front of malloc: by the address of libc's own functions. Its mode says
 * what with: "lose" loses such blocks, "tidy" frees them, "hold" keeps blocks of malloc's only in such a
 * block, "take" frees blocks of malloc's past the hooks, "space" loads another libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, BYTES = 1000 };

static void *(*libc_malloc)(size_t);
static void (*libc_free)(void *);
static void **holder; /* of nothing that the hooks saw */
static void *volatile sink;

static void
hide(void *p)
{
	memset(p, 0, sizeof p);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *mine[N];

	libc_malloc = (void *(*)(size_t))dlsym(libc, "malloc");
	libc_free = (void (*)(void *))dlsym(libc, "free");
	if (strcmp(mode, "space") == 0)
		return dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW) == NULL;
	if (strcmp(mode, "hold") == 0) {
		holder = libc_malloc(N * sizeof *holder);
		for (int i = 0; i < N; i++)
			holder[i] = malloc(BYTES);
		return 0;
	}
	for (int i = 0; i < N; i++)
		mine[i] = strcmp(mode, "take") == 0 ? malloc(BYTES) : libc_malloc(BYTES);
	for (int i = 0; i < N; i++) {
		sink = mine[i];
		if (strcmp(mode, "lose") != 0)
			libc_free(mine[i]);
	}
	hide(mine);
	sink = NULL;
	return 0;
}
