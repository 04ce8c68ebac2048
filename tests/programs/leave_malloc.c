/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -fPIC -shared -fno-builtin */
/* leave_malloc.c -- a shared library to be preloaded behind seep: libc's malloc, which a program can leave in the middle
 * of, by what it has in `leave_malloc`. */
#include <stddef.h>

void *malloc(size_t n);
extern void *__libc_malloc(size_t n);
__attribute__((weak)) extern void (*leave_malloc)(size_t n);

void *
malloc(size_t n)
{
	if (&leave_malloc != NULL && leave_malloc != NULL)
		leave_malloc(n);
	return __libc_malloc(n);
}
