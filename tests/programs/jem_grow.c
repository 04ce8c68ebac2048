/* SPDX-License-Identifier: MIT */
/* jem_grow.c -- a heap that grows by 4,096 blocks of 1 KiB and shrinks never. With an argument N
 * it then sleeps for N seconds. */
/* cflags: -O2 -g -fno-omit-frame-pointer -w */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	for (int i = 0; i < 4096; i++) {
		void *p = malloc(1024);

		memset(p, 0, 1024);
		strncpy(p, "abc", 3);
	}
	if (argc > 1)
		sleep((unsigned)atoi(argv[1]));
	return 0;
}
