/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fPIC -shared -fno-builtin -DNAME=alpha */
/* plugin.c -- a library that allocates when it is loaded, used and unloaded.
 *
 * Built several times with another NAME, which all its functions carry: so whoever
 * mixes up two libraries that lay at the same addresses shows the wrong names. Keeps
 * its figures in the program, which outlives it (modules.c). */
#include "truth.h"

#include <stdlib.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define CALLED(what) PASTE(NAME, what)

void *CALLED(_begin)(void);
void *CALLED(_make)(size_t n);
void *CALLED(_end)(void);
void plugin_use(unsigned n);

static void *made[5];

TRUTH_NOINLINE void *
CALLED(_begin)(void)
{
	return malloc(31);
}

TRUTH_NOINLINE void *
CALLED(_make)(size_t n)
{
	return malloc(n);
}

TRUTH_NOINLINE void *
CALLED(_end)(void)
{
	return malloc(37);
}

__attribute__((constructor)) static void
begin(void)
{
	for (unsigned i = 0; i < 5; i++)
		made[i] = CALLED(_begin)();
}

__attribute__((destructor)) static void
end(void)
{
	for (unsigned i = 0; i < 3; i++)
		free(made[i]);
	CALLED(_end)();
}

void
plugin_use(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(CALLED(_make)(17 + i));
	CALLED(_make)(13);
}
