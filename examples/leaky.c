/* SPDX-License-Identifier: MIT */
/* leaky.c -- the smallest program worth pointing seep at; `make demo` does.
 *
 * Two functions lose every block they allocate: 80 blocks of i * 1024 bytes, 3,235,840 in
 * all, and 40 of i * 4096, 3,194,880 in all. Nothing is freed and nothing keeps a
 * pointer, so all 120 blocks, 6,430,720 bytes, are definitely lost. */
#include <stdlib.h>

/* Through a pointer the compiler cannot see through: it may not drop a malloc nobody
 * uses. */
static void *(*volatile allocate)(size_t) = malloc;

static void
do_something(size_t i)
{
	allocate(i * 1024);
}

static void
do_something_else(size_t i)
{
	allocate(i * 4096);
}

int
main(void)
{
	for (size_t i = 0; i < 80; i++)
		do_something(i);
	for (size_t i = 0; i < 40; i++)
		do_something_else(i);
	return 0;
}
