/* SPDX-License-Identifier: MIT */
/* jem_demo.c -- two places that leak, as people try out jemalloc's profiler with.
 *
 * 80 blocks of 0 to 79 KiB, 3,235,840 bytes; 40 of 0 to 156 KiB, 3,194,880 bytes. With -DMANUAL it
 * is linked with a profiling malloc and told by mallctl: recording is switched on in between, so
 * that only the second place counts where it was off at first, and a profile is written. */
/* cflags: -g -w */
#include <stdlib.h>

#ifdef MANUAL
#	include <jemalloc/jemalloc.h>
#endif

void
do_something(size_t i)
{
	malloc(i * 1024);
}

void
do_something_else(size_t i)
{
	malloc(i * 4096);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < 80; i++)
		do_something(i);
#ifdef MANUAL
	bool active = true;
	mallctl("prof.active", NULL, NULL, &active, sizeof(bool));
#endif
	for (i = 0; i < 40; i++)
		do_something_else(i);
#ifdef MANUAL
	mallctl("prof.dump", NULL, NULL, NULL, 0);
#endif
	return 0;
}
