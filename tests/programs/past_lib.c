/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -fPIC -shared -fno-builtin */
/* past_lib.c -- a plugin that calls malloc and free by their names, wherever these lead from where it was loaded. */
#include <stdlib.h>

void *lib_malloc(size_t n);
void lib_free(void *p);

void *
lib_malloc(size_t n)
{
	return malloc(n);
}

void
lib_free(void *p)
{
	free(p);
}
